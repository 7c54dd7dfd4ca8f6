"""ClusterFilter on one server, with the module that NESTLINE_REDIS_MODULE names; without
servers, its errors."""

import os
import pathlib
import pickle
import sys

import nestline
import numpy as np
import pytest

pytestmark = pytest.mark.skipif(not hasattr(nestline, "ClusterFilter"),
                                reason="built without the client")

MODULE = os.environ.get("NESTLINE_REDIS_MODULE")
NOBODY = "127.0.0.1:1"


@pytest.fixture(scope="module")
def server():
    if not MODULE:
        pytest.skip("NESTLINE_REDIS_MODULE does not name the Redis module")
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "redis" / "server"))
    from servers import Server

    with Server() as running:
        yield f"127.0.0.1:{running.port}"


def test_a_server_that_is_not_there_is_an_error():
    for call in (
        lambda: nestline.ClusterFilter.open(NOBODY, "x", timeout=0.2),
        lambda: nestline.ClusterFilter.create([NOBODY], "x", 1000, timeout=0.2),
        lambda: nestline.ClusterFilter.remove([NOBODY], "x", timeout=0.2),
    ):
        with pytest.raises(nestline.ClusterError) as caught:
            call()
        assert caught.value.effect in ("none", "unknown") and "127.0.0.1:1" in str(caught.value)
    with pytest.raises(TypeError, match="unknown argument 'pasword'"):
        nestline.ClusterFilter.open(NOBODY, "x", pasword="x")
    for bad in (0, -1, float("nan")):
        with pytest.raises(ValueError, match="timeout"):
            nestline.ClusterFilter.open(NOBODY, "x", timeout=bad)
    with pytest.raises(ValueError):
        nestline.ClusterFilter.open("", "x")
    with pytest.raises(TypeError, match="ClusterFilter.create or ClusterFilter.open"):
        nestline.ClusterFilter(NOBODY)
    with pytest.raises(TypeError, match="ClusterCopy.load"):
        nestline.ClusterCopy()


def test_all_members(server, tmp_path):
    create = nestline.ClusterFilter.create
    with create(server, "seen", 50_000, fpr=0.001, parts=8, seed=5) as filter:
        keys = [f"key {i}" for i in range(10_000)]
        assert filter.insert(keys).all() and filter.insert("one") is True
        assert filter.insert(np.arange(1000, dtype=">i2")).all()
        assert filter.may_contain(keys).all() and "one" in filter
        assert -5 not in filter and 5 in filter
        assert filter.may_contain([f"absent {i}" for i in range(1000)]).sum() < 5
        assert filter.insert_unique(["one", "two"]).tolist() == [False, True]
        assert filter.insert_unique("two") is False and filter.count("one") == 1
        stored, present = nestline.Outcome.stored, nestline.Outcome.present
        assert filter.insert_unique("two", outcomes=True) is present
        assert filter.insert_unique(["two", "last"], outcomes=True).tolist() == [present, stored]
        out = np.empty(3, np.uint8)
        assert filter.count(["one", "two", "three"], out=out).tolist() == [1, 1, 0]
        assert filter.erase(["one", "three"]).tolist() == [True, False] and "one" not in filter
        figures = (filter.name, filter.parts, filter.seed, filter.fpr)
        assert figures == ("seen", 8, 5, 0.001)
        assert 0 <= filter.part_of("two") < 8 and "seen" in repr(filter)
        stats = filter.stats()
        assert stats["size"] == 11_002 and len(stats["parts"]) == 8

        hashed = nestline.hash_key(keys, filter.seed)
        assert filter.may_contain(hashed).all()

        copy = filter.download()
        assert len(copy) == 11_002 and copy.may_contain(keys).all()
        assert "two" in copy and "one" not in copy
        copy.save(tmp_path / "copy")
        again = nestline.ClusterCopy.load(tmp_path / "copy")
        assert again.may_contain(keys).all() and again.parts == 8 and again.seed == 5

        with create([server], "other", 50_000, fpr=0.001, parts=8, seed=5) as other:
            other.upload(again)
            assert other.may_contain(keys).all()
            other.upload(["only"])
            assert "only" in other and not other.may_contain(keys[:10]).any()
            other.upload(np.arange(5), merge=True)
            assert "only" in other and 4 in other
            filter |= other
            assert "only" in filter
        with create(server, "turns", 5000, parts=8, seed=5, turns_over=True) as turns:
            assert turns.insert(keys[:5000]).all() and turns.may_contain(keys[:5000]).all()
            with pytest.raises(ValueError, match="turns over"):
                turns |= filter
            others = np.arange(10**6, 10**6 + 50_000)
            assert turns.insert(others).all() and turns.erase(others).all()
            before = turns.stats()["memory_bytes"]
            turns.fit()
            assert turns.may_contain(keys[:5000]).all() and turns.stats()["memory_bytes"] < before / 2
        with pytest.raises(nestline.ClusterError):
            create(server, "seen", 1000)
        with pytest.raises(TypeError):
            pickle.dumps(filter)
    with pytest.raises(ValueError, match="closed"):
        filter.insert("x")
    with nestline.ClusterFilter.open(f"redis://{server}", "seen", timeout=5) as filter:
        assert "two" in filter
    assert [nestline.ClusterFilter.remove(server, "seen") for _ in range(2)] == [True, False]
    with pytest.raises(nestline.FormatError):
        nestline.ClusterCopy.load(__file__)
