"""Filter and ConcurrentFilter against a model: a Counter of keys."""

import collections
import math
import random

import nestline
import numpy as np
import pytest

KINDS = [nestline.Filter, nestline.ConcurrentFilter]


def key_of(chance, kind):
    number = chance.randrange(3000)
    return {"int": number - 1500, "str": f"key {number} \u00e9", "bytes": b"\xff%d" % number}[kind]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("keys", ["int", "str", "bytes"])
def test_random_operations_have_the_answers_of_a_model(kind, keys):
    chance = random.Random(11)
    filter = kind(10_000, bits=16, load=0.5, seed=3)
    model = collections.Counter()
    refused = 0  # too many copies of a key, or of keys in the same block
    for _ in range(1500):
        batch = [key_of(chance, keys) for _ in range(chance.choice([1, 1, 5, 700]))]
        what = chance.randrange(6)
        if what == 0 and model.total() + len(batch) < 5000:
            stored = filter.insert(batch if len(batch) > 1 else batch[0])
            for key, was in zip(batch, np.atleast_1d(stored)):
                refused += not was
                model[key] += int(was)
        elif what == 1 and model.total() + len(batch) < 5000:
            for key, was in zip(batch, filter.insert_unique(batch)):
                assert was == (model[key] == 0)
                model[key] += int(was)
        elif what == 2:
            erased = filter.erase(batch) if len(batch) > 1 else [filter.erase(batch[0])]
            for key, was in zip(batch, erased):
                assert was == (model[key] > 0)
                model[key] -= int(was)
        elif what == 3:
            assert filter.count(batch).tolist() == [model[key] for key in batch]
        elif what == 4 and model[batch[0]]:
            new = key_of(chance, keys)
            if filter.update(batch[0], new):
                model[batch[0]] -= 1
                model[new] += 1
            else:
                refused += 1
        else:
            expected = [model[key] > 0 for key in batch]
            assert filter.may_contain(batch).tolist() == expected
            assert [key in filter for key in batch] == expected
        assert len(filter) == model.total()
    assert model.total() > 1000 and refused < 100
    assert filter.clear() is None
    assert len(filter) == 0 and not filter


@pytest.mark.parametrize("kind", KINDS)
def test_options(kind):
    filter = kind(1000)
    assert filter.capacity >= 1000 and filter.expected_fpr == 0
    assert kind(1000, 0.0001).bits == 16 or kind(1000, 0.0001).bits == 12
    assert kind(1000, bits=8).bits == 8 and kind(1000, seed=2**64 - 1).seed == 2**64 - 1
    grows = kind(1000, max_capacity=8000)
    assert grows.max_capacity == 8000
    assert grows.insert(np.arange(8000)).all() and grows.growth > 0 and grows.capacity >= 8000
    assert kind(np.int64(1000)).capacity == filter.capacity
    turning = kind(10_000, turns_over=True)
    assert turning.turns_over and not filter.turns_over and not kind(10, turns_over=True).turns_over
    assert turning.insert(np.arange(10_000)).all() and turning.erase(np.arange(5000)).all()
    read = kind.from_bytes(turning.to_bytes())
    assert read.turns_over and read.may_contain(np.arange(5000, 10_000)).all()
    for bad in (dict(capacity=0), dict(capacity=1000, bits=11), dict(capacity=1000, fpr=2),
                dict(capacity=1000, fpr=0), dict(capacity=1000, load=2),
                dict(capacity=1000, fpr=1e-9)):
        with pytest.raises(ValueError):
            kind(**bad)
    for fpr in (2, 0, -1, math.nan):
        with pytest.raises(ValueError, match="^fpr is above 0 and below 1, or None$"):
            kind(1000, fpr=fpr)
    for bad in (dict(capacity=-1), dict(capacity=2**64), dict(capacity=1000, seed=-1)):
        with pytest.raises(OverflowError):
            kind(**bad)
    for bad in (dict(capacity="many"), dict(capacity=1.5), dict(), dict(capacity=1000, seed=None)):
        with pytest.raises(TypeError):
            kind(**bad)
    with pytest.raises(MemoryError):
        kind(2**43)


@pytest.mark.parametrize("kind", KINDS)
def test_a_full_filter_says_no(kind):
    filter = kind(1000)
    stored = filter.insert(np.arange(5000))
    assert 1000 <= stored.sum() < 2000
    assert len(filter) == stored.sum()
    assert filter.may_contain(np.arange(5000))[stored].all()
    assert filter.load_factor > 0.9 and filter.expected_fpr > 0


def test_build():
    keys = np.arange(100_000)
    for parallel in (False, True):
        filter = nestline.Filter.build(keys, fpr=0.001, seed=5, parallel=parallel)
        assert len(filter) == 100_000 and filter.may_contain(keys).all() and filter.seed == 5
        assert filter.may_contain(keys + 100_000).sum() < 300
        again = nestline.Filter.build(keys.astype(">u4"), fpr=0.001, seed=5)
        assert filter.to_bytes() == again.to_bytes()
    assert len(nestline.Filter.build([])) == 0
    assert nestline.Filter.build(["a"], capacity=1000).capacity >= 1000
    with pytest.raises(ValueError):
        nestline.Filter.build(keys, capacity=1000)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("other_kind", KINDS)
def test_merge(kind, other_kind):
    if kind is nestline.Filter and other_kind is nestline.ConcurrentFilter:
        with pytest.raises(TypeError):
            kind(1000).merge(other_kind(1000))
        return
    filter, other = kind(5000), other_kind(5000)
    same = filter
    filter.insert(np.arange(2000))
    other.insert(np.arange(2000, 4000))
    assert filter.can_merge(other)
    filter |= other
    assert filter is same and len(filter) == 4000 and len(other) == 2000
    assert filter.may_contain(np.arange(4000)).all()
    for stranger in (other_kind(5000, seed=1), other_kind(9000), other_kind(5000, bits=16)):
        assert not filter.can_merge(stranger)
        before = filter.to_bytes()
        with pytest.raises(ValueError):
            filter.merge(stranger)
        assert filter.to_bytes() == before
    with pytest.raises(TypeError):
        filter |= {1, 2}
    roomy = kind(5000)
    roomy.insert("a")
    roomy.merge(roomy)
    assert roomy.count("a") == len(roomy) == 2


def test_overlaps():
    one, other, far = (nestline.Filter.build(np.arange(n, n + 5000), bits=16, capacity=6000) for n in (0, 4000, 10_000))
    assert one.may_overlap(one) and one.may_overlap(other) and other.may_overlap(one)
    common = one.count_common(other)
    assert 1000 <= common["matches"] < 1010 and abs(common["estimate"] - 1000) < 10
    assert 0 < common["by_chance"] < 1 and 0 < common["standard_error"] < 1
    assert far.count_common(one)["matches"] < 8
    assert not nestline.Filter(6000, bits=16).may_overlap(one)
    for stranger in (nestline.Filter(6000, bits=16, seed=1), nestline.Filter(9000, bits=16), nestline.Filter(6000, bits=8)):
        for ask in (one.may_overlap, one.count_common):
            with pytest.raises(ValueError, match="compared"):
                ask(stranger)
    with pytest.raises(TypeError):
        one.may_overlap({1, 2})


def test_pass_rate():
    keys = np.arange(150 * 2048)
    few, most = (nestline.Filter.build(keys[keys % 10 < tenths], bits=16) for tenths in (5, 9))
    for filter, is_asked in ((few, True), (most, False)):
        rate, found = nestline.PassRate(), []
        assert rate.pass_rate == 0
        for piece in np.split(keys, 150):
            found.append(piece[rate.select(filter, piece)])
        found = np.concatenate(found)
        assert set(found) >= set(keys[filter.may_contain(keys)])
        assert abs(rate.pass_rate - (0.5 if is_asked else 0.9)) < 0.01
        # Of each 4096 + 65,536 keys it looked at 4096.
        some = pytest.approx(len(keys) * (1 - 0.1 * 4 / 68), rel=0.002)
        assert len(found) == (filter.may_contain(keys).sum() if is_asked else some)
    assert list(nestline.PassRate().select(few, [7, 3])) == [1]
    with pytest.raises(TypeError):
        nestline.PassRate().select(few, iter([1]))
    with pytest.raises(TypeError, match=r"filter is one that has select\(\), not set"):
        nestline.PassRate().select({1}, [1])


def test_pass_rate_looks_at_what_it_passes_over(tmp_path):
    filter = nestline.Filter.build(np.arange(5000))
    filter.save(tmp_path / "f")
    closed = nestline.MappedFilter(tmp_path / "f")
    closed.close()
    rate = nestline.PassRate()
    assert len(rate.select(filter, np.arange(5000))) == 5000
    hashes = nestline.Hash(np.arange(1000, dtype=np.uint64))
    assert len(rate.select(filter, hashes)) == 1000  # of 5000, hardly any of which pass
    for wrong in (b"abc", "abc", bytearray(b"abc"), 5, [1.5, "a"], np.ones((3, 3), np.uint64)):
        with pytest.raises((TypeError, ValueError)):
            rate.select(filter, wrong)
    with pytest.raises(ValueError, match="closed"):
        rate.select(closed, [1, 2])
    assert len(rate.select(filter, [10**6, 10**7])) == 2 and rate.pass_rate == 1


def test_merge_without_room():
    filter, other = nestline.Filter(5000), nestline.Filter(5000)
    filter.insert(np.arange(5000))
    other.insert(np.arange(5000, 10_000))
    before = filter.to_bytes()
    with pytest.raises(ValueError):
        filter |= other
    assert filter.to_bytes() == before


@pytest.mark.parametrize("kind", KINDS)
def test_merging_the_copies_that_find_a_place(kind):
    filter, other = kind(5000), kind(5000)
    for one in (filter, other):
        assert one.insert(["a"] * 8 + ["b"]).all()
    with pytest.raises(ValueError, match="copies is one of 'all', 'most', 'that_fit', not 'some'"):
        filter.merge(other, copies="some")
    with pytest.raises(ValueError):
        filter.merge(other)
    assert filter.merge(other, copies="most") == 8
    assert filter.count(["a", "b"]).tolist() == [8, 2] and len(filter) == 10


@pytest.mark.parametrize("kind", KINDS)
def test_growing(kind):
    filter = kind(1000, bits=8)
    filter.insert(np.arange(900))
    assert all(filter.grow() for _ in range(4)) and not filter.grow()
    assert filter.may_contain(np.arange(900)).all()
    assert filter.growth == 4 and filter.capacity >= 14_000
    assert filter.can_shrink() and filter.shrink() and filter.growth == 3
    assert filter.fit() == 3 and filter.growth == 0 and filter.may_contain(np.arange(900)).all()
    assert not filter.can_shrink() and not filter.shrink() and filter.fit() == 0


@pytest.mark.parametrize("kind", KINDS)
def test_made_for_the_worst_case(kind):
    filter = kind(1_000_000, bits=12, may_fold=True, shrink_below=0.1)
    begun = filter.growth
    assert begun >= 4 and filter.max_capacity == 1_000_000
    filter.insert(np.arange(100_000))
    assert filter.fit() == 3 and filter.may_contain(np.arange(100_000)).all()
    filter.erase(np.arange(10_000, 100_000))
    assert filter.growth < begun - 3 and filter.may_contain(np.arange(10_000)).all()
    with pytest.raises(ValueError, match="shrink_below"):
        kind(1000, shrink_below=0.5)


@pytest.mark.parametrize("more", [dict(turns_over=True), dict(may_fold=True),
                                  dict(turns_over=True, may_fold=True)])
def test_bytes_are_known_before(more):
    options = dict(capacity=100_000, bits=8, max_capacity=400_000, **more)
    bytes = nestline.bytes_for(**options)
    assert bytes == nestline.Filter(**options).memory_bytes
    assert bytes != nestline.bytes_for(100_000, bits=8, max_capacity=400_000)  # planned otherwise


def test_repr_says_what_matters():
    filter = nestline.Filter(1000)
    filter.insert([1, 2, 3])
    text = repr(filter)
    assert text.startswith("<nestline.Filter: 3 keys, load 0.0")
    assert "rate" in text and "9 bits" in text
    assert repr(nestline.ConcurrentFilter(5)).startswith("<nestline.ConcurrentFilter: 0 keys")
    assert repr(nestline.Hash(5)) == "nestline.Hash(5)"


def test_identity_and_truth_are_those_of_other_containers():
    filter = nestline.Filter(10)
    assert not filter and filter == filter and filter != filter.copy() and filter in {filter: 1}
    filter.insert(1)
    assert filter
    with pytest.raises(TypeError):
        iter(filter)
