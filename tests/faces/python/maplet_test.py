"""Maplet against a model: a dict of lists."""

import collections
import random

import nestline
import numpy as np
import pytest

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
    assert "8000 pairs" in repr(grows) and grows.expected_false_candidates > 0
    with pytest.raises(ValueError):
        nestline.Maplet(0)
    with pytest.raises(OverflowError):
        nestline.Maplet(-1)
