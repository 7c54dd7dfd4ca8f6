"""Maplet against a model: a dict of lists. Its errors, its views, and threads beside it."""

import array
import collections
import copy
import mmap
import pickle
import random

import nestline
import numpy as np
import pytest
from common import Beside

def test_random_operations_have_the_candidates_of_a_model():
    chance = random.Random(5)
    maplet = nestline.Maplet(20_000, seed=8)
    model = collections.defaultdict(list)
    for _ in range(4000):
        key, value = f"key {chance.randrange(800)}", chance.randrange(2**40)
        what = chance.randrange(4)
        if what == 0 and len(model[key]) < 16:
            if maplet.insert(key, value):
                model[key].append(value)
        elif what == 1 and model[key]:
            old = model[key].pop()
            assert maplet.replace(key, old, value) is True
            model[key].append(value)
        elif what == 2 and model[key]:
            assert maplet.erase(key, model[key].pop()) is True
        else:
            found = collections.Counter(maplet.candidates(key))
            assert not collections.Counter(model[key]) - found
            assert (key in maplet) or not model[key]
    assert len(maplet) == sum(map(len, model.values())) > 300
    keys = list(model)
    offsets, values = maplet.candidates(keys)
    assert offsets.dtype == values.dtype == np.uint64
    for i, key in enumerate(keys):
        assert values[offsets[i] : offsets[i + 1]].tolist() == maplet.candidates(key)


@pytest.mark.parametrize("type", [np.uint64, np.int32, ">u2", np.int8])
def test_batches_of_every_type(type):
    keys = np.arange(100).astype(type).repeat(100)[::100]
    maplet = nestline.Maplet(1000)
    out = np.empty(100, bool)
    assert maplet.insert(keys, np.arange(100) * 7, out=out) is out and out.all()
    offsets, values = maplet.candidates(keys)
    assert len(offsets) == 101 and offsets[0] == 0 and offsets[-1] == len(values)
    for i, key in enumerate(keys):
        assert i * 7 in maplet.candidates(int(key)) and i * 7 in values[offsets[i] : offsets[i + 1]]
    many = np.arange(3_000_000)
    assert len(maplet.candidates(many)[0]) == 3_000_001


def test_values_are_checked():
    maplet = nestline.Maplet(1000)
    assert maplet.insert("a", 2**40 - 1) and maplet.candidates("a") == [2**40 - 1]
    for bad in (2**40, -1):
        for call in (lambda: maplet.insert("a", bad), lambda: maplet.erase("a", bad),
                     lambda: maplet.replace("a", 1, bad)):
            with pytest.raises(OverflowError):
                call()
    with pytest.raises(ValueError, match="1 keys and 2 values"):
        maplet.insert(["a"], [1, 2])
    assert len(maplet) == 1
    assert maplet.erase("b", 1) is False and maplet.replace("b", 1, 2) is False


def test_full_growing_and_options():
    maplet = nestline.Maplet(1000)
    stored = maplet.insert(np.arange(5000), np.arange(5000))
    assert 1000 <= stored.sum() == len(maplet) < 2000 and maplet.load_factor > 0.9
    grows = nestline.Maplet(1000, max_capacity=8000, seed=3)
    assert grows.insert(np.arange(8000), np.arange(8000)).all()
    assert grows.growth > 0 and grows.capacity >= 8000 and grows.seed == 3 and grows.grow()
    assert grows.can_shrink() and grows.shrink() and grows.fit() == 0
    assert "8000 pairs" in repr(grows) and grows.expected_false_candidates > 0
    with pytest.raises(ValueError):
        nestline.Maplet(0)
    with pytest.raises(OverflowError):
        nestline.Maplet(-1)


WIDTHS = [(4, 0, 8, 8), (4, 0.002, 12, 10), (8, 0, 8, 10), (8, 0.002, 12, 8), (16, 0, 16, 10),
          (40, 0, 20, 16)]


def set_of(maplet, values, anywhere):
    """What find_set answers if these are the candidates."""
    found = 0
    for value in values:
        found |= anywhere if value >= 64 or value == maplet.anywhere else 1 << int(value)
    return found


@pytest.mark.parametrize(("value_bits", "fpr", "bits", "copies"), WIDTHS)
def test_every_width_has_its_values_and_refuses_others(value_bits, fpr, bits, copies):
    maplet, most = nestline.Maplet(1000, value_bits=value_bits, fpr=fpr), 2**value_bits - 1
    assert (maplet.value_bits, maplet.bits, maplet.max_copies) == (value_bits, bits, copies)
    assert maplet.max_value == maplet.anywhere == most
    assert maplet.insert(["a", "a"], [0, most]).all()
    assert sorted(maplet.candidates("a")) == [0, most]
    before = maplet.to_bytes()
    bad = most + 1
    for call in (lambda: maplet.insert("a", bad), lambda: maplet.insert(["b", "a"], [1, bad]),
                 lambda: maplet.replace("a", 0, bad), lambda: maplet.replace("a", bad, 0),
                 lambda: maplet.erase("a", bad), lambda: maplet.erase_value(bad),
                 lambda: maplet.rename([0, bad]), lambda: maplet.rename([0, -2]),
                 lambda: maplet.rename((None, 2**64)),
                 lambda: maplet.build(["b"], [bad], value_bits=value_bits)):
        with pytest.raises(OverflowError, match="is from "):
            call()
    assert maplet.to_bytes() == before
    while len(maplet) < copies:
        assert maplet.insert("a", 1)
    assert maplet.insert("a", 1, outcomes=True) is nestline.Outcome.too_many_copies
    assert maplet.insert("a", most) is (value_bits < 40) and len(maplet) == copies


@pytest.mark.parametrize(("value_bits", "fpr", "bits", "copies"), WIDTHS)
def test_sets_are_the_candidates(value_bits, fpr, bits, copies):
    chance = np.random.default_rng(value_bits + bits)
    keys = np.arange(3000)
    values = chance.integers(0, min(2**value_bits, 100), len(keys))
    values[:10] = 2**value_bits - 1
    maplet = nestline.Maplet.build(keys, values, value_bits=value_bits, fpr=fpr, seed=3)
    assert len(maplet) == len(keys) and maplet.seed == 3 and maplet.max_copies == copies
    asked = np.arange(1000, 6000)
    offsets, found = maplet.candidates(asked)
    for anywhere in (None, 0, 1 << 63, 2**64 - 1):
        mask = 2**64 - 1 if anywhere is None else anywhere
        sets = maplet.find_sets(asked, anywhere=anywhere)
        assert sets.dtype == np.uint64 and len(sets) == len(asked)
        for i, key in enumerate(asked.tolist()):
            expected = set_of(maplet, found[offsets[i] : offsets[i + 1]], mask)
            assert int(sets[i]) == expected == maplet.find_set(key, anywhere)
    out = np.zeros(len(asked), np.uint64)
    assert maplet.find_sets(asked.astype(">i4")[::-1], out=out) is out
    assert (out[::-1] == maplet.find_sets(asked)).all()
    assert all(key in maplet for key in keys.tolist()) and maplet.find_sets([]).tolist() == []


def test_out_of_sets_is_checked():
    maplet = nestline.Maplet.build(["a", "b"], [0, 1], value_bits=4, fpr=0.01)
    room = np.zeros(5, np.uint64)
    assert maplet.find_sets(["a", "b"], out=room[1:3]).tolist() == [1, 2]
    assert maplet.find_sets(["b"], out=memoryview(room)[4:]).tolist() == [2]
    assert room.tolist() == [0, 1, 2, 0, 2]
    for bad, error in ((np.zeros(2, np.int64), TypeError), (np.zeros(2, np.uint32), TypeError),
                       (np.zeros(2, ">u8"), TypeError), (np.zeros(2), TypeError),
                       (bytearray(16), TypeError), ([0, 0], TypeError), ("ab", TypeError),
                       (np.ma.zeros(2, np.uint64), TypeError), (room[:3], ValueError),
                       (room[:1], ValueError), (room[::2][:2], ValueError),
                       (room[:4].reshape(2, 2)[:1], ValueError),
                       (np.frombuffer(bytearray(24), np.uint8)[1:17].view(np.uint64), ValueError)):
        with pytest.raises(error):
            maplet.find_sets(["a", "b"], out=bad)
    assert room.tolist() == [0, 1, 2, 0, 2]
    fixed = np.zeros(2, np.uint64)
    fixed.flags.writeable = False
    with pytest.raises((BufferError, ValueError)):
        maplet.find_sets(["a", "b"], out=fixed)
    keys = np.zeros(2, np.uint64)
    with pytest.raises(ValueError, match="same memory"):
        maplet.find_sets(keys, out=keys)
    for bad, error in ((-1, OverflowError), (2**64, OverflowError), ("a", TypeError), (1.5, TypeError),
                       (True, TypeError)):
        with pytest.raises(error):
            maplet.find_set("a", bad)
        with pytest.raises(error):
            maplet.find_sets(["a"], anywhere=bad)
    for bad in ("a", 5, None, b"a"):
        with pytest.raises(TypeError):
            maplet.find_sets(bad)
    with pytest.raises(TypeError):
        maplet.find_set(["a"])


def test_building_with_wrong_arguments():
    build = nestline.Maplet.build
    for call, error, said in (
        (lambda: build(["a"], [1, 2]), ValueError, "1 keys and 2 values"),
        (lambda: build("a", 1), TypeError, "keys are"), (lambda: build(["a"], 1), TypeError, "values"),
        (lambda: build(["a"], ["b"]), TypeError, "value 0"),
        (lambda: build(["a"], [None]), TypeError, "value 0 is NoneType: a value is an integer$"),
        (lambda: build(["a"], [1], value_bits=5), ValueError, "value_bits must be"),
        (lambda: build(["a"], [1], value_bits=0), ValueError, "value_bits must be"),
        (lambda: build(["a"], [1], value_bits=2**70), OverflowError, "value_bits"),
        (lambda: build(["a"], [1], value_bits=True), TypeError, "value_bits"),
        (lambda: build(["a"], [1], fpr=2), ValueError, "fpr"),
        (lambda: build(["a"], [1], fpr=-1), ValueError, "fpr"),
        (lambda: build(["a"], [1], fpr="low"), TypeError, None),
        (lambda: build(["a"], [1], fpr=None), TypeError, None),
        (lambda: build(["a"], [1], capacity=0), ValueError, "capacity"),
        (lambda: build(np.arange(5000), np.arange(5000), capacity=1000), ValueError, "finds no room"),
        (lambda: nestline.Maplet(10, value_bits=3), ValueError, "it is 3"),
        (lambda: nestline.Maplet(10, value_bits=4, fpr=1e-9), ValueError, None),
    ):
        with pytest.raises(error, match=said):
            call()
    empty = build([], [], value_bits=4)
    assert len(empty) == 0 and empty.insert("a", 15)
    grown = build(np.arange(5000), np.arange(5000) % 16, capacity=1000, max_capacity=5000, value_bits=4)
    assert len(grown) == 5000 and grown.growth > 0


def test_renaming_follows_the_table():
    keys = np.arange(1600)
    for erased in (None, nestline.Maplet.ERASED):
        table = [5, erased, 2, 5, erased]
        forms = [table, tuple(table), np.array(table, object)]
        if erased is not None:
            forms += [np.array(table, np.uint64), np.array([5, -1, 2, 5, -1]),
                      np.array([5, -1, 2, 5, -1], np.int8), array.array("Q", table)]
        for form in forms:
            maplet = nestline.Maplet.build(keys, keys % 16, value_bits=4, fpr=0.01)
            assert maplet.rename(form) == 400 and len(maplet) == 1400  # 2 stays 2
            for key in range(16, 32):
                new = table[key % 16] if key % 16 < 5 else key % 16
                assert erased == new or new in maplet.candidates(key)
            assert maplet.erase_value(5) == 300 and maplet.erase_value(5) == 0 and len(maplet) == 1100
    before = maplet.to_bytes()
    for bad, error in (([0] * 17, ValueError), (["a"], TypeError), ([1.5], TypeError), (5, TypeError),
                       ({0: 1}, TypeError), ([True], TypeError), (None, TypeError), ("ab", TypeError),
                       (np.zeros((2, 2), int), ValueError), (np.array([1.5]), TypeError),
                       ([nestline.Hash(1)], TypeError), ([0, 16], OverflowError)):
        with pytest.raises(error):
            maplet.rename(bad)
    assert maplet.rename([]) == 0 and maplet.rename([0, 1]) == 0
    for bad in (-1, "a", None, [1], 2.0, True):
        with pytest.raises((TypeError, OverflowError)):
            maplet.erase_value(bad)
    assert maplet.to_bytes() == before


def test_merging_adds_the_pairs_of_maplets_that_are_alike():
    one, other = (nestline.Maplet(2000, value_bits=8, fpr=0.01, seed=2) for _ in range(2))
    keys = np.arange(900)
    assert one.insert(keys, keys % 7).all() and other.insert(keys, keys % 11 + 20).all()
    assert one.can_merge(other) and one.merge(other) is None and len(one) == 1800
    for key in keys.tolist():
        assert {key % 7, key % 11 + 20} <= set(one.candidates(key))
    other |= other
    assert len(other) == 1800
    before = one.to_bytes()
    for bad in (nestline.Maplet(2000, value_bits=8, fpr=0.01, seed=3), nestline.Maplet(2000, seed=2),
                nestline.Maplet(9000, value_bits=8, fpr=0.01, seed=2)):
        assert not one.can_merge(bad)
        with pytest.raises(ValueError):
            one.merge(bad)
    with pytest.raises(ValueError):  # no room
        one |= one
    for bad in (nestline.Filter(2000), None, "a"):
        with pytest.raises(TypeError):
            one.merge(bad)
    assert one.to_bytes() == before


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "runs.nest"
    keys = np.arange(5000)
    nestline.Maplet.build(keys, keys % 15, value_bits=4, fpr=0.01, seed=4).save(path)
    return path


def test_a_mapped_maplet_has_the_answers_of_the_loaded_one(saved):
    maplet, keys = nestline.Maplet.load(saved), np.arange(4000, 9000)
    data = saved.read_bytes()
    memory = mmap.mmap(-1, len(data) + 64)
    memory[: len(data)] = data
    for verify in ("none", "lazily", "all"):
        for make in (lambda verify=verify: nestline.MappedMaplet(saved, verify),
                     lambda verify=verify: nestline.MappedMaplet.open(saved, verify),
                     lambda verify=verify: nestline.MappedMaplet.view(
                         memoryview(memory)[: len(data)], verify)):
            with make() as mapped:
                assert (mapped.find_sets(keys) == maplet.find_sets(keys)).all()
                assert mapped.find_set(17) == maplet.find_set(17) != 0 and 17 in mapped
                assert mapped.candidates(17) == maplet.candidates(17)
                for ours, theirs in zip(mapped.candidates(keys), maplet.candidates(keys)):
                    assert (ours == theirs).all()
                for name in ("value_bits", "bits", "max_value", "anywhere", "max_copies", "capacity",
                             "seed", "memory_bytes", "__len__"):
                    ours, theirs = getattr(mapped, name), getattr(maplet, name)
                    assert (ours() == theirs() if callable(ours) else ours == theirs), name
                assert mapped.verify() is None and mapped.damage() is None
                assert "5000 pairs" in repr(mapped) and copy.copy(mapped) is mapped
                if mapped.path is None:
                    with pytest.raises(TypeError, match="no file"):
                        pickle.dumps(mapped)
                else:
                    assert pickle.loads(pickle.dumps(mapped)).find_set(17) == maplet.find_set(17)
            assert "closed" in repr(mapped)
            for call in (lambda: 5 in mapped, lambda: mapped.find_sets(keys), lambda: len(mapped)):
                with pytest.raises(ValueError, match="closed"):
                    call()
    memory.close()
    for name in ("insert", "replace", "erase", "erase_value", "rename", "merge", "grow", "save"):
        assert not hasattr(mapped, name)
    with pytest.raises(TypeError):
        maplet.merge(nestline.MappedMaplet(saved))


def test_damage_of_a_mapped_maplet_is_a_format_error(saved):
    data = bytearray(saved.read_bytes())
    data[5000] ^= 1
    saved.write_bytes(data)
    keys = np.arange(5000)
    with nestline.MappedMaplet(saved) as mapped:
        for call in (lambda: mapped.find_set(1), lambda: mapped.find_sets(keys), mapped.verify,
                     lambda: mapped.candidates(1), lambda: 1 in mapped):
            with pytest.raises(nestline.FormatError):
                call()
        assert "runs.nest" in mapped.damage()
    for call in (lambda: nestline.MappedMaplet(saved, "all"), lambda: nestline.Maplet.load(saved),
                 lambda: nestline.MappedFilter(saved)):
        with pytest.raises(nestline.FormatError):
            call()
    with pytest.raises(FileNotFoundError):
        nestline.MappedMaplet("missing.nest")


def test_lookups_and_inserts_go_on_while_values_change():
    keys = np.arange(200_000)
    maplet = nestline.Maplet.build(keys, np.ones(len(keys), int), capacity=300_000, value_bits=4)
    answers = []
    look = Beside(lambda: answers.append(bool((maplet.find_sets(keys, anywhere=0) & 6 != 0).all())))
    names, other = [0, 2, 1], iter(range(10**6, 10**6 + 100_000))
    while look.is_alive() and len(answers) < 20:
        assert maplet.rename(names) == len(keys) and maplet.insert(next(other), 9)
    look.stop.set()
    look.join()
    assert look.error is None and len(answers) >= 20 and all(answers)
    added = next(other) - 10**6
    assert len(maplet) == len(keys) + added and maplet.erase_value(9) == added > 0
