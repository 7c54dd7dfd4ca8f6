"""Filters in files and in bytes, MappedFilter, and errors of Python's own kinds."""

import copy
import copyreg
import errno
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


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "filter.nest"
    nestline.save(nestline.Filter.build(np.arange(50_000), bits=16, seed=4), path)
    return path


def test_save_and_load(saved, tmp_path):
    filter = nestline.load(saved)
    assert (
        len(filter) == 50_000 and filter.may_contain(np.arange(50_000)).all() and filter.seed == 4
    )
    for path in (str(saved), os.fsencode(saved), pathlib.Path(saved)):
        assert nestline.load(path).to_bytes() == saved.read_bytes() == filter.to_bytes()
    shared = nestline.ConcurrentFilter.from_filter(filter)
    nestline.save(shared, tmp_path / "shared.nest")
    assert (tmp_path / "shared.nest").read_bytes() == saved.read_bytes()
    for data in (filter.to_bytes(), bytearray(filter.to_bytes()), memoryview(filter.to_bytes())):
        assert nestline.Filter.from_bytes(data).to_bytes() == filter.to_bytes()


def test_a_mapped_filter_has_the_answers_of_the_loaded_one(saved):
    filter = nestline.load(saved)
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
        assert pool.map(count_in_process, [nestline.load(saved)]) == [50_000]


def test_a_missing_file_is_file_not_found(tmp_path):
    missing = tmp_path / "missing.nest"
    for call in (nestline.load, nestline.MappedFilter.open, nestline.load_maplet):
        with pytest.raises(FileNotFoundError) as caught:
            call(missing)
        assert caught.value.errno == errno.ENOENT and caught.value.filename == str(missing)
    with pytest.raises(FileNotFoundError):
        nestline.save(nestline.Filter(10), tmp_path / "no folder" / "x")
    with pytest.raises(OSError):
        nestline.save(nestline.Filter(10), tmp_path)
    with pytest.raises(TypeError):
        nestline.load(5.5)


def test_damaged_bytes_are_format_errors(saved, tmp_path):
    good = saved.read_bytes()
    for at in (0, 9, 100, 4095, 5000, len(good) - 1):
        bad = bytearray(good)
        bad[at] ^= 0x10
        saved.write_bytes(bad)
        with pytest.raises(nestline.FormatError) as caught:
            nestline.load(saved)
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


def test_damaged_pickles_are_errors():
    data = nestline.Filter(10).__getstate__()
    for cut in (data[:-1], b"", b"x" * len(data)):
        with pytest.raises(nestline.FormatError):
            nestline.Filter.__new__(nestline.Filter).__setstate__(cut)


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
def test_copies_and_pickles_of_every_protocol(make, saved):
    for kind in (nestline.Filter, nestline.ConcurrentFilter, nestline.ExpiringFilter):
        filter = kind(10)
        filter.insert("a")
        again = make(filter)
        assert type(again) is kind and "a" in again and again is not filter
    maplet = nestline.Maplet(10)
    maplet.insert("a", 5)
    assert make(maplet).candidates("a") == [5]
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


@pytest.mark.parametrize("kind", [nestline.Filter, nestline.ConcurrentFilter, nestline.Maplet,
                                  nestline.MappedFilter, nestline.ExpiringFilter])
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
        with pytest.raises((TypeError, ValueError, AttributeError, OSError)):
            bare.__setstate__(bad)
    bare = kind.__new__(kind)
    bare.__setstate__(state)
    assert 5 not in bare or kind is nestline.MappedFilter


def test_an_object_that_was_never_made_is_an_error():
    class Own(nestline.Filter):
        def __init__(self):
            pass

    with pytest.raises(TypeError):
        Own()


NAMES = ("Filter", "ConcurrentFilter", "MappedFilter", "Maplet", "Hash", "StringArray", "Store",
         "ClusterFilter", "ClusterCopy")
# A package may have been built without the last three.
KINDS = [getattr(nestline, name) for name in NAMES[:6]]
KINDS += [getattr(nestline, name) for name in NAMES[6:] if hasattr(nestline, name)]


@pytest.mark.parametrize("kind", KINDS)
def test_an_object_without_content_gives_errors_only(kind):
    bare = kind.__new__(kind)
    filter = nestline.Filter(10)
    calls = [
        lambda name=name: getattr(bare, name)()
        for name in dir(bare)
        if not name.startswith("__") and callable(getattr(kind, name))
    ]
    calls += [
        lambda name=name: getattr(bare, name)
        for name in dir(kind)
        if isinstance(getattr(kind, name), property)
    ]
    calls += [
        lambda: repr(bare),
        lambda: len(bare),
        lambda: 5 in bare,
        lambda: bare[0],
        lambda: bare.insert(5),
        lambda: pickle.dumps(bare),
        lambda: copy.copy(bare),
        lambda: filter.insert(bare),
        lambda: filter.insert([bare]),
        lambda: filter.merge(bare),
        lambda: nestline.save(bare, "x"),
        lambda: bare.may_contain([1]),
        lambda: bare.__exit__(),
    ]
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
nestline.save(filter, "f.nest")
assert "a" in nestline.load("f.nest") and "a" in nestline.Filter.from_bytes(filter.to_bytes())
assert len(nestline.Filter.build(["a", "b"])) == 2
try:
    filter.insert(["a", "b"])
except ImportError:
    print("done", len(filter))
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True,
                          text=True, check=False)
    assert done.stdout == "done 1\n", done.stderr
