"""Filters in files and in bytes, MappedFilter, and errors of Python's own kinds."""

import copy
import copyreg
import errno
import mmap
import multiprocessing
import os
import pathlib
import pickle
import shelve
import subprocess
import sys

import nestline
import numpy as np
import pytest
from common import COPIES

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "filters" / "file"))
from xxh3 import xxh3_64  # noqa: E402

IN_MEMORY = [nestline.Filter, nestline.ConcurrentFilter, nestline.ExpiringFilter, nestline.Maplet]
FORMATS = {nestline.Filter, nestline.Maplet, nestline.ExpiringFilter}


def made(kind):
    """With the keys 0 to 999; of a maplet, each is its own value."""
    one = kind(2000, seed=9)
    keys = np.arange(1000)
    assert (one.insert(keys, keys) if kind is nestline.Maplet else one.insert(keys)).sum() > 950
    return one


def through_a_file(one):
    one.save("one.nest")
    return type(one).load("one.nest")


@pytest.mark.parametrize("kind", IN_MEMORY)
@pytest.mark.parametrize("make", [*COPIES, lambda one: one.copy(), through_a_file,
                                  lambda one: type(one).from_bytes(one.to_bytes())])
def test_copies_are_alike_and_apart(kind, make, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    one = made(kind)
    size, other = len(one), make(one)
    assert type(other) is kind and other.to_bytes() == one.to_bytes()
    assert other.seed == 9 and len(other) == size and all(key in other for key in range(1000))
    assert other.insert("only here", *[5] * (kind is nestline.Maplet)) and "only here" in other
    snapshot = one.snapshot()
    assert type(snapshot) is (nestline.Filter if kind is nestline.ConcurrentFilter else kind)
    assert snapshot.to_bytes() == one.to_bytes() and len(one) == size


@pytest.mark.parametrize("kind", IN_MEMORY)
def test_files(kind, tmp_path):
    one, path = made(kind), tmp_path / "one.nest"
    data = one.to_bytes()
    header = 128 if kind is nestline.ExpiringFilter else 64
    assert one.save(path) is None and path.read_bytes()[4096:] == data[header:]
    for name in (str(path), os.fsencode(path), path):
        assert kind.load(name).to_bytes() == one.to_bytes()
    for type in (bytes, bytearray, memoryview):
        assert kind.from_bytes(type(one.to_bytes())).to_bytes() == one.to_bytes()
    for other in FORMATS - {nestline.Filter if kind is nestline.ConcurrentFilter else kind}:
        for call in (lambda: other.load(path), lambda: other.from_bytes(one.to_bytes())):
            with pytest.raises(nestline.FormatError):
                call()
    with pytest.raises(FileNotFoundError) as caught:
        kind.load(tmp_path / "missing.nest")
    assert caught.value.errno == errno.ENOENT
    assert caught.value.filename == str(tmp_path / "missing.nest")
    with pytest.raises(FileNotFoundError):
        one.save(tmp_path / "no folder" / "x")
    with pytest.raises(OSError):
        one.save(tmp_path)
    with pytest.raises(TypeError):
        kind.load(5.5)


def test_an_error_of_the_system_names_the_file_as_it_was_given():
    calls = [nestline.MappedFilter, nestline.MappedFilter.open, nestline.Filter(10).save]
    calls += [kind.load for kind in IN_MEMORY]
    if hasattr(nestline, "Store"):
        calls += [nestline.Store, lambda path: nestline.Store(path, read_only=True)]
    for call in calls:
        with pytest.raises(OSError) as caught:
            call("")
        assert (caught.value.errno, caught.value.filename) == (errno.ENOENT, ""), call


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "filter.nest"
    nestline.Filter.build(np.arange(50_000), bits=16, seed=4).save(path)
    return path


def test_a_mapped_filter_has_the_answers_of_the_loaded_one(saved):
    filter = nestline.Filter.load(saved)
    keys = np.arange(40_000, 60_000)
    for verify in ("none", "lazily", "all"):
        with nestline.MappedFilter(saved, verify) as mapped:
            assert (mapped.may_contain(keys) == filter.may_contain(keys)).all()
            assert (mapped.count(keys) == filter.count(keys)).all()
            assert (mapped.select(keys) == filter.select(keys)).all()
            assert 5 in mapped and len(mapped) == 50_000 and mapped.bits == 16
            assert mapped.verify() is None and mapped.damage() is None
            assert mapped.snapshot().to_bytes() == filter.to_bytes()
            assert mapped.path == str(saved) and "50000 keys" in repr(mapped)
            assert copy.copy(mapped) is mapped and copy.deepcopy(mapped) is mapped
        assert "closed" in repr(mapped)
        for call in (lambda: 5 in mapped, lambda: mapped.may_contain(keys), lambda: len(mapped)):
            with pytest.raises(ValueError, match="closed"):
                call()
        mapped.close()
    assert not hasattr(mapped, "insert")
    with pytest.raises(ValueError, match="'lazily'"):
        nestline.MappedFilter.open(saved, "sometimes")


def test_a_view_of_memory_keeps_it_and_lets_it_go(saved):
    data = saved.read_bytes()
    memory = mmap.mmap(-1, len(data) + 64)
    memory[: len(data)] = data
    for verify in ("none", "lazily", "all"):
        with nestline.MappedFilter.view(memoryview(memory)[: len(data)], verify) as view:
            assert view.may_contain(np.arange(50_000)).all() and view.path is None
            assert view.snapshot().to_bytes()[64:] == data[4096:] and copy.copy(view) is view
            with pytest.raises(BufferError):
                memory.close()
            with pytest.raises(TypeError, match="snapshot"):
                pickle.dumps(view)
    with pytest.raises(ValueError, match="64"):
        nestline.MappedFilter.view(memoryview(memory)[1 : len(data) + 1])
    with pytest.raises(nestline.FormatError):
        nestline.MappedFilter.view(memoryview(memory)[: len(data) - 64])
    memory.close()


def count_in_process(mapped):
    return int(mapped.may_contain(np.arange(50_000)).sum())


def test_pickling_a_mapped_filter_sends_its_path(saved, monkeypatch):
    monkeypatch.chdir(saved.parent)
    mapped = nestline.MappedFilter.open(saved.name)
    assert len(pickle.dumps(mapped)) < 1000
    monkeypatch.chdir("/")
    again = pickle.loads(pickle.dumps(mapped))
    assert 5 in again and again.path == str(saved)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.map(count_in_process, [mapped]) == [50_000]
        assert pool.map(count_in_process, [nestline.Filter.load(saved)]) == [50_000]


def test_damaged_bytes_are_format_errors(saved, tmp_path):
    good = saved.read_bytes()
    for at in (0, 9, 100, 4095, 5000, len(good) - 1):
        bad = bytearray(good)
        bad[at] ^= 0x10
        saved.write_bytes(bad)
        with pytest.raises(nestline.FormatError) as caught:
            nestline.Filter.load(saved)
        assert caught.value.file == str(saved) and caught.value.offset <= len(good)
        assert caught.value.cause in str(caught.value) and str(saved) in str(caught.value)
        with pytest.raises(nestline.FormatError):
            nestline.Filter.from_bytes(bad)
    for short in (b"", good[:100], good[:-1], good + b"x"):
        with pytest.raises(ValueError):
            nestline.Filter.from_bytes(short)
    assert issubclass(nestline.FormatError, ValueError)
    bad = bytearray(good)
    bad[5000] ^= 1
    saved.write_bytes(bad)
    with nestline.MappedFilter(saved) as mapped:
        assert mapped.may_contain(np.arange(50_000)).all()
        assert "filter.nest" in mapped.damage()
        with pytest.raises(nestline.FormatError):
            mapped.verify()
    with pytest.raises(nestline.FormatError):
        nestline.MappedFilter(saved, "all")


class Named(nestline.Filter):
    """With attributes of both kinds, one of which leads back."""

    __slots__ = ("slot", "__dict__")

    def __new__(cls, _):
        return super().__new__(cls)

    def __getnewargs__(self):
        return (self.name,)

    def __init__(self, name):
        super().__init__(10)
        self.name, self.slot, self.me = name, [name], self


class NamedMapped(nestline.MappedFilter):
    pass


class NamedExpiring(nestline.ExpiringFilter):
    pass


@pytest.mark.parametrize("make", COPIES)
def test_copies_of_subclasses_keep_their_attributes(make, saved):
    with nestline.MappedFilter(saved) as mapped:
        assert 5 in make(mapped)
    named = Named("ann")
    named.insert("a")
    again = make(named)
    assert type(again) is Named and "a" in again and again.insert("b") and "b" not in named
    assert again.name == "ann" and again.slot == ["ann"]
    shallow = make is copy.copy
    assert again.me is (named if shallow else again) and (again.slot is named.slot) == shallow
    for other, key in ((NamedMapped(saved), 5), (NamedExpiring(10, window=600), "a")):
        other.tag = [1]
        if key == "a":
            other.insert(key)
        again = make(other)
        assert type(again) is type(other) and again.tag == [1] and key in again
    assert again.window == 600 and type(named.copy()) is Named and named.copy().name == "ann"


def test_what_cannot_be_pickled_is_a_type_error(tmp_path):
    objects = [nestline.Hash(5), nestline.StringArray(np.zeros(1, np.int32), b"")]
    objects += [getattr(nestline, name).__new__(getattr(nestline, name))
                for name in ("Store", "ClusterFilter", "ClusterCopy") if hasattr(nestline, name)]
    for one in objects:
        for make in COPIES:
            with pytest.raises(TypeError, match="cannot pickle"):
                make(one)
        for protocol in range(6):
            with pytest.raises(TypeError, match="cannot pickle"):
                one.__reduce_ex__(protocol)
    with shelve.open(str(tmp_path / "shelf"), protocol=0) as shelf:
        shelf["filter"] = nestline.Filter.build(["a"])
        assert "a" in shelf["filter"]


@pytest.mark.parametrize("kind", [*IN_MEMORY, nestline.MappedFilter])
def test_objects_are_not_made_without_a_class_or_twice(kind, saved):
    made = kind(saved if kind is nestline.MappedFilter else 10)
    state, base = made.__getstate__(), kind.__base__
    for call in (lambda: base(), lambda: base(made), lambda: base.__new__(base),
                 lambda: type("Own", (base,), {})(), lambda: object.__reduce_ex__(made, 0),
                 lambda: copyreg._reduce_ex(made, 1), lambda: made.__reduce__(),
                 lambda: made.__setstate__(state), lambda: kind.__setstate__(5, state)):
        with pytest.raises(TypeError):
            call()
    for bad in (b"", b"x" * 5000, None, 5, (), (1, 2), [], [state, {}], [state, 5, {}], "a",
                [state, {"a": 1}, {}], [state, None, {"a": 1}], (b"", -1), [b"x", {}, {}]):
        bare = kind.__new__(kind)
        with pytest.raises((TypeError, ValueError, AttributeError, OSError)) as caught:
            bare.__setstate__(bad)
        if isinstance(bad, bytes) and kind is nestline.Filter:
            assert type(caught.value) is nestline.FormatError
    bare = kind.__new__(kind)
    bare.__setstate__(state)
    assert 5 not in bare or kind is nestline.MappedFilter


def test_an_object_that_was_never_made_is_an_error():
    class Own(nestline.Filter):
        def __init__(self):
            pass

    with pytest.raises(TypeError):
        Own()


# A package may have been built without the last three.
KINDS = [*IN_MEMORY, nestline.MappedFilter, nestline.MappedMaplet, nestline.Hash,
         nestline.StringArray]
KINDS += [getattr(nestline, name) for name in ("Store", "ClusterFilter", "ClusterCopy")
          if hasattr(nestline, name)]


@pytest.mark.parametrize("kind", KINDS)
def test_an_object_without_content_gives_errors_only(kind):
    bare = kind.__new__(kind)
    filter = nestline.Filter(10)
    names = [name for name in dir(kind) if not name.startswith("__")]
    calls = [lambda name=name: getattr(bare, name)() for name in names]
    calls += [lambda: repr(bare), lambda: len(bare), lambda: 5 in bare, lambda: bare[0],
              lambda: bare.insert(5), lambda: pickle.dumps(bare), lambda: copy.copy(bare),
              lambda: filter.insert(bare), lambda: filter.insert([bare]),
              lambda: filter.merge(bare), lambda: bare.save("x"),
              lambda: bare.may_contain([1]), lambda: bare.find_sets([1]),
              lambda: nestline.Maplet(5).merge(bare), lambda: bare.__exit__()]
    for call in calls:
        try:
            call()
        except (TypeError, ValueError, AttributeError, IndexError):
            pass
    assert len(filter) == 0


def test_single_keys_files_and_the_store_need_no_numpy(tmp_path):
    program = """
import sys
sys.modules["numpy"] = None
import nestline
filter = nestline.Filter(10, fpr=0.01)
assert filter.insert("a") and "a" in filter and filter.may_contain(5) is False
filter.save("f.nest")
assert "a" in nestline.Filter.load("f.nest") and "a" in nestline.Filter.from_bytes(filter.to_bytes())
assert len(nestline.Filter.build(["a", "b"])) == 2
try:
    filter.insert(["a", "b"])
except ImportError:
    print("done", len(filter))
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True,
                          text=True, check=False)
    assert done.stdout == "done 1\n", done.stderr


@pytest.mark.parametrize("kind", [nestline.Filter, nestline.ConcurrentFilter])
def test_kinds_of_keys_stay(kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    one = kind(2000)
    one.insert("a")
    file = one.to_bytes()
    header = file[:20] + (1 << 4).to_bytes(4, "little") + file[24:56]
    dates = header + xxh3_64(header).to_bytes(8, "little") + file[64:]
    loaded = kind.from_bytes(dates)
    assert loaded.may_contain("a") and not loaded.may_contain("b")
    assert loaded.insert("b") and loaded.erase("b")
    for copy_ in (loaded, loaded.copy(), through_a_file(loaded), copy.deepcopy(loaded)):
        assert copy_.to_bytes() == dates
    loaded.merge(kind.from_bytes(dates))
    assert loaded.to_bytes()[20:24] == dates[20:24]
    loaded.merge(one)
    assert loaded.to_bytes()[20:24] == bytes(4)
    with pytest.raises(nestline.FormatError, match="kinds of keys"):
        header = header[:20] + b"\0\x80\0\0" + header[24:]
        kind.from_bytes(header + xxh3_64(header).to_bytes(8, "little") + dates[64:])
