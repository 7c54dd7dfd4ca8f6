"""The type stubs: mypy accepts them and a program that uses them, refuses wrong programs, and finds
the same names in them as in the module."""

import enum
import inspect
import os
import pathlib
import pydoc
import subprocess
import sys

import nestline
import pytest

OWN_MEMBERS = (Exception, enum.Enum)  # whose signatures and metaclasses are Python's
PACKAGE = pathlib.Path(nestline.__file__).parent

RIGHT = """
import nestline
import numpy as np
import numpy.typing as npt

filter = nestline.Filter(1000, fpr=0.01)
one: bool = filter.insert("a")
many: npt.NDArray[np.bool_] = filter.insert(["a", "b"])
found: npt.NDArray[np.bool_] = filter.may_contain(np.arange(5))
copies: int = filter.count(5)
out = np.empty(2, np.uint8)
same: npt.NDArray[np.uint8] = filter.count([b"a", b"b"], out=out)
filter |= nestline.Filter(1000)
with nestline.MappedFilter("x") as mapped:
    there: bool = "a" in mapped
offsets, values = nestline.Maplet(5).candidates(["a"])
where: list[int] = nestline.Maplet(5).candidates("a")
runs = nestline.Maplet.build(["a"], [1], value_bits=4, fpr=0.01)
one_set: int = runs.find_set("a", anywhere=7)
many_sets: npt.NDArray[np.uint64] = runs.find_sets(["a"], out=np.empty(1, np.uint64))
changed: int = runs.rename([0, None, nestline.Maplet.ERASED])
runs |= nestline.Maplet(5, value_bits=4)
with nestline.MappedMaplet("x") as mapped_runs:
    sets: npt.NDArray[np.uint64] = mapped_runs.find_sets(["a"])
seen = nestline.ExpiringFilter(1000, window=600, fpr=0.001)
new: bool = seen.insert("a", ttl_ticks=3)
fresh: npt.NDArray[np.bool_] = seen.insert(np.arange(5))
ticks: int = seen.remaining_ticks("a")
how: nestline.Outcome = seen.insert("a", outcomes=True)
hows: npt.NDArray[np.uint8] = filter.insert_unique(["a"], outcomes=True)
window: float | None = nestline.ExpiringFilter.load("x", window=60, elapsed=1.5).window
left_out: int = filter.merge(filter.snapshot(), copies="most")
with nestline.Store("x") as store:
    store["a"] = "b"
    value: bytes | None = store.get("a")
text: str = nestline.__version__
"""

WRONG = [
    'nestline.Filter("many")',
    "nestline.Filter(5).insert(1.5)",
    "nestline.Filter(5).insert({1, 2})",
    'x: str = nestline.Filter(5).insert("a")',
    'nestline.Filter(5).update("a")',
    "nestline.Filter.load(5)",
    "nestline.Filter(5).merge(nestline.ConcurrentFilter(5))",
    'nestline.MappedFilter("x").insert("a")',
    'nestline.Store("x")[5]',
    'nestline.Maplet(5).insert("a", "b")',
    'nestline.Maplet(5).rename(["a"])',
    'nestline.MappedMaplet("x").erase_value(1)',
    'nestline.ExpiringFilter(5, window="10m")',
    'nestline.ExpiringFilter(5).erase("a")',
    "nestline.nothing()",
]


def test_everything_has_the_signature_of_the_stubs():
    for name, value in vars(nestline).items():
        if not callable(value) or (inspect.isclass(value) and issubclass(value, OWN_MEMBERS)):
            continue
        assert inspect.signature(value)
        for member in vars(value) if inspect.isclass(value) else ():
            if callable(getattr(value, member)):
                assert inspect.signature(getattr(value, member)), (name, member)
    filter = nestline.Filter(5)
    for function, text in (
        (nestline.Filter.erase, "(self, keys, out=None)"), (filter.erase, "(keys, out=None)"),
        (nestline.Filter.insert, "(self, keys, out=None, *, outcomes=False)"),
        (nestline.ExpiringFilter.insert,
         "(self, keys, out=None, *, outcomes=False, ttl_ticks=None, life=None)"),
        (nestline.Filter, "(capacity, fpr=None, bits=0, max_capacity=0, seed=0, load=0.95,"
                          " turns_over=False, may_fold=False, shrink_below=None)"),
        (nestline.MappedFilter.open, "(path, verify='lazily')"), (filter.copy, "()"),
        (nestline.capacity_for, "(bytes, fpr)"), (nestline.Filter.__len__, "(self)"),
        (nestline.ConcurrentFilter.merge, "(self, other, copies='all')"),
    ):
        assert str(inspect.signature(function)) == text
    assert nestline.Filter.grow.__doc__.startswith("Doubles")
    help = pydoc.render_doc(nestline.Filter, renderer=pydoc.plaintext)
    assert "erase(self, keys, out=None)\n" in help


def test_a_call_that_does_not_fit_is_told_the_parameters():
    filter, shared = nestline.Filter(5), nestline.ConcurrentFilter(5)
    made = ("Filter(capacity, fpr=None, bits=0, max_capacity=0, seed=0, load=0.95,"
            " turns_over=False, may_fold=False, shrink_below=None): ")
    insert = "Filter.insert(keys, out=None, *, outcomes=False): "
    merge = "(other: nestline.{}, copies: str = 'all')"
    for call, said in (
        (nestline.Filter, made + "capacity is missing"),
        (lambda: nestline.Filter(fpr=0.1), made + "capacity is missing"),
        (lambda: nestline.Filter(5, capactiy=5), made + "there is no argument 'capactiy'"),
        (lambda: nestline.Filter(5, capacity=5), made + "'capacity' is given twice"),
        (lambda: nestline.Filter(*range(10)),
         made + "10 arguments are given by position, and it takes at most 9"),
        (lambda: filter.insert([1], True, True),
         insert + "3 arguments are given by position, and it takes at most 2"),
        (lambda: filter.insert([1], outcome=True), insert + "there is no argument 'outcome'"),
        (lambda: filter.fit(most=1), "Filter.fit(): there is no argument 'most'"),
        (lambda: filter.insert(out=None), insert + "keys is missing"),
        (lambda: filter.insert([1], outcomes="yes"),
         "Filter.insert(keys, out = None, *, outcomes: bool = False) does not take "
         "(list, outcomes=str)"),
        (lambda: filter.merge(5), "Filter.merge" + merge.format("Filter") + " does not take (int)"),
        (lambda: shared.merge(5),
         "ConcurrentFilter.merge" + merge.format("Filter") + " or " +
         merge.format("ConcurrentFilter") + " does not take (int)"),
        (lambda: nestline.Filter.insert(5, [1]),
         "Filter.insert(keys, out = None, *, outcomes: bool = False) does not take (list)"),
        (lambda: nestline.hash_key(), "hash_key(keys, seed=0): keys is missing"),
        (lambda: filter.clear(1),
         "Filter.clear(): 1 arguments are given by position, and it takes at most 0"),
        (lambda: nestline.MappedFilter("x", 5),
         "MappedFilter(path, verify: str = 'lazily') does not take (str, int)"),
    ):
        with pytest.raises(TypeError) as caught:
            call()
        assert str(caught.value) == said
    # pybind11's word for an argument of any type.
    functions = [member for value in vars(nestline).values() if inspect.isclass(value)
                 for member in vars(value).values() if inspect.isroutine(member)]
    for function in functions:
        try:
            function(*[None] * 12)
        except Exception as error:  # of every kind
            assert "handle" not in str(error) and "incompatible" not in str(error), function


def mypy(folder, *arguments):
    pytest.importorskip("mypy")
    environment = {**os.environ, "MYPYPATH": str(PACKAGE.parent)}
    return subprocess.run([sys.executable, "-m", *arguments], cwd=folder, env=environment,
                          capture_output=True, text=True, check=False)


def test_mypy_accepts_the_package_and_a_right_program_and_refuses_each_wrong_line(tmp_path):
    (tmp_path / "right.py").write_text(RIGHT)
    (tmp_path / "wrong.py").write_text("\n".join(["import nestline", *WRONG]) + "\n")
    done = mypy(tmp_path, "mypy", "--strict", "right.py", "wrong.py", str(PACKAGE))
    errors = [line for line in done.stdout.splitlines() if ": error: " in line]
    elsewhere = [line for line in errors if not line.startswith("wrong.py:")]
    assert not elsewhere, "\n".join(elsewhere)
    lines = {int(line.split(":")[1]) for line in errors}
    assert lines == set(range(2, len(WRONG) + 2)), done.stdout + done.stderr


def test_the_stubs_name_what_the_module_has(tmp_path):
    for name in ("Store", "ClusterFilter"):
        if not hasattr(nestline, name):
            pytest.skip(f"built without {name}")
    # The metaclass is pybind11's.
    ignored = [rf"nestline\._nestline\.{name}" for name, value in vars(nestline).items()
               if inspect.isclass(value) and not issubclass(value, OWN_MEMBERS)]
    (tmp_path / "ignored").write_text("\n".join(ignored) + "\n")
    done = mypy(tmp_path, "mypy.stubtest", "nestline._nestline", "--allowlist", "ignored")
    assert done.returncode == 0, done.stdout + done.stderr
