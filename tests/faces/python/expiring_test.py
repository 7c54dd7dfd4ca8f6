"""ExpiringFilter against a model, a dict of keys and the ticks at which they die; its clock, files,
copies and threads. No test waits for a fixed time."""

import array
import random
import time
from concurrent.futures import ThreadPoolExecutor

import common
import nestline
import numpy as np
import pytest


@pytest.mark.parametrize("kind", [int, str, lambda number: b"\xff%d" % number])
def test_random_operations_have_the_answers_of_a_model(kind):
    chance = random.Random(11)
    seen = nestline.ExpiringFilter(6000, bits=12, load=0.5, ttl_ticks=9, seed=3)
    death = {}  # the first tick at which a key is not found
    wrong = total = 0

    def check(keys, found):
        nonlocal wrong, total
        for key, there in zip(keys, np.atleast_1d(found)):
            alive = death.get(key, 0) > seen.now
            assert there or not alive
            wrong += bool(there) != alive
            total += 1

    for _ in range(1500):
        size = chance.choice([1, 1, 5, 700])
        keys = [kind(chance.randrange(4000)) for _ in range(size)]
        given = keys if size > 1 else keys[0]
        what = chance.randrange(4)
        if what == 0:
            life = chance.choice([None, *range(1, 10)])
            new = seen.insert(given, ttl_ticks=life)
            for key, was_new in zip(keys, np.atleast_1d(new)):
                check([key], not was_new)
                death[key] = max(death.get(key, 0), seen.now + (life or 9) + 1)
        elif what == 1:
            left = np.atleast_1d(seen.remaining_ticks(given))
            for key, ticks in zip(keys, left):
                assert ticks >= max(death.get(key, 0) - seen.now - 1, 0)
            wrong += sum(
                int(ticks) != max(death.get(key, 0) - seen.now - 1, 0)
                for key, ticks in zip(keys, left)
            )
        elif what == 2:
            check(keys, seen.may_contain(given))
            check(keys, [key in seen for key in keys])
            found = np.zeros(size, bool)
            found[seen.select(keys)] = True
            check(keys, found)
        else:
            seen.advance(chance.choice([0, 1, 2]))
    assert seen.now > 200 and total > 100_000 and wrong < total / 200
    assert seen.refused == 0
    assert seen.clear() is None and len(seen) == 0 and seen.now > 200


def test_options():
    seen = nestline.ExpiringFilter(1000)
    assert (seen.bits, seen.ttl_ticks, seen.seed, seen.window, seen.tick) == (8, 14, 0, None, None)
    assert seen.capacity >= 1000 and seen.slots > 1000 and seen.memory_bytes > 1000
    assert seen.expected_fpr == seen.load_factor == len(seen) == seen.now == 0
    timed = nestline.ExpiringFilter(np.int64(1000), 700, 0.001, ttl_ticks=7, seed=2**64 - 1, load=0.6)
    assert (timed.bits, timed.ttl_ticks, timed.window, timed.tick) == (12, 7, 700.0, 100.0)
    assert "window 700 s, 0 keys" in repr(timed) and "tick 0, 0 keys" in repr(seen)
    for name, values in dict(capacity=[0], bits=[16], fpr=[0, 1e-9], ttl_ticks=[0, 15], load=[0.99],
                             window=[0, -1, float("nan"), float("inf"), 1e-9]).items():
        for bad in values:
            with pytest.raises(ValueError):
                nestline.ExpiringFilter(**{"capacity": 1000, name: bad})
    for bad in (dict(capacity="many"), dict(capacity=1000, window="10m"), dict()):
        with pytest.raises(TypeError):
            nestline.ExpiringFilter(**bad)
    for life in (0, 8, 2**40):
        with pytest.raises(ValueError, match="ttl_ticks is from 1 to 7"):
            timed.insert("a", ttl_ticks=life)
    with pytest.raises(ValueError, match="has a window"):
        timed.advance()
    with pytest.raises(OverflowError):
        seen.advance(-1)
    with pytest.raises(TypeError):
        seen.insert(["a", 5])
    assert len(seen) == 0 and len(timed) == 0


def test_names_of_version_0_2():
    with pytest.warns(DeprecationWarning, match="ttl_ticks is its name") as warned:
        seen = nestline.ExpiringFilter(1000, fpr=0.001, life=5)
        assert seen.insert("a", life=3) and seen.life == seen.ttl_ticks == 5
    assert len(warned) == 3 and {warning.filename for warning in warned} == {__file__}
    with pytest.warns(DeprecationWarning, match="remaining_ticks is its name"):
        assert seen.left("a") == 3 and seen.left(["a", "b"]).tolist() == [3, 0]
    with pytest.raises(ValueError, match="ttl_ticks is given twice"):
        seen.insert("a", ttl_ticks=1, life=1)
    with pytest.warns(DeprecationWarning, match="Outcome.too_many_copies is its name") as warned:
        assert nestline.Outcome.copies is nestline.Outcome.too_many_copies
    assert [warning.filename for warning in warned] == [__file__]
    assert list(nestline.Outcome)[-1].name == "too_many_copies" and nestline.Outcome(4) == 4
    with pytest.raises(AttributeError):
        nestline.Outcome.nothing


def test_out_and_full():
    seen = nestline.ExpiringFilter(10, bits=12)
    keys = np.arange(2000)
    out = np.full(2000, 7, np.uint8)
    assert seen.insert(keys, out=out) is out
    # All are new, or look like one that is there; those that find no room are counted.
    assert set(out) == {0, 1} and out.sum() == len(seen)
    seen = nestline.ExpiringFilter(10, bits=12)
    assert seen.insert(keys, out=out, outcomes=True) is out
    full = out == nestline.Outcome.full
    assert (out == nestline.Outcome.stored).sum() == len(seen) and full.sum() == seen.refused > 1500
    refused = keys[full & ~seen.may_contain(keys)]
    before = seen.refused
    assert seen.insert(int(refused[0])) is False and seen.refused == before + 1
    assert seen.insert(int(refused[0]), outcomes=True) is nestline.Outcome.full
    left = seen.remaining_ticks(keys, out=out)
    assert left is out and set(left) == {0, 14}


def test_a_window_ends_by_the_clock():
    window = 0.07
    seen = nestline.ExpiringFilter(1000, window=window, fpr=0.001)
    for insert, contains in (
        (lambda: seen.insert("a"), lambda: "a" in seen),
        (lambda: seen.insert(["b", "c"]).all(), lambda: seen.may_contain(["b", "c"]).any()),
        (lambda: seen.insert("d"), lambda: len(seen.select(["d"])) == 1),
        (lambda: seen.insert("e", ttl_ticks=14), lambda: seen.remaining_ticks("e") > 0),
    ):
        before = time.monotonic()
        assert insert()
        while contains():
            pass
        # remaining_ticks() is 0 in the last tick already, which has the length window / 14.
        assert time.monotonic() - before >= window * 13 / 14
    start = seen.now
    while seen.now < start + 40:  # more than a life at once, or tick by tick
        time.sleep(0.001)
    while len(seen) > 0:  # what is dead is swept in the ticks that follow
        time.sleep(0.001)
    assert "a" not in seen and seen.insert("a")


def test_files(tmp_path):
    path = tmp_path / "seen.nest"
    seen = nestline.ExpiringFilter(1000, fpr=0.001, ttl_ticks=4)
    seen.advance(7)
    seen.insert(["a", "b"])
    seen.advance(2)
    seen.save(path)
    kind = nestline.ExpiringFilter
    for again in (kind.load(path), kind.load(path, window=60_000),
                  kind.load(str(path), 60_000, elapsed=29_000), kind.from_bytes(path.read_bytes()),
                  kind.from_bytes(bytearray(seen.to_bytes()), window=60_000)):
        later = again.now - 9
        assert later in (0, 1) and again.remaining_ticks(["a", "b"]).tolist() == [2 - later] * 2
    # A life of 4 ticks of 15,000 s: 2 are over, and 2 are left beside the one that has begun.
    assert "a" in kind.load(path, window=60_000, elapsed=44_999)
    for elapsed in (45_001, 9e9):
        assert "a" not in kind.load(path, window=60_000, elapsed=elapsed)
    with pytest.raises(ValueError, match="elapsed is for a filter with a window"):
        kind.load(path, elapsed=1)
    with pytest.raises(ValueError, match="elapsed is a number of seconds"):
        kind.load(path, window=60, elapsed=-1)


KEYS = common.KEYS[:400_000]


@pytest.mark.parametrize("call", ["insert", "may_contain", "remaining_ticks"])
def test_batches_release_the_lock(call):
    seen = nestline.ExpiringFilter(1_000_000)
    numbers = array.array("Q", KEYS.tolist())
    beside = common.Beside(lambda: getattr(seen, call)(numbers))
    assert beside.until(lambda: common.is_read(numbers))  # so this thread runs meanwhile
    assert beside.error is None


@pytest.mark.parametrize("window", [None, 3600])
def test_threads_agree_on_what_is_new(window):
    seen = nestline.ExpiringFilter(1_000_000, window, bits=12)
    shuffled = [np.random.default_rng(i).permutation(KEYS) for i in range(4)]
    with ThreadPoolExecutor(4) as pool:
        works = [pool.submit(seen.insert, keys) for keys in shuffled]
        while not all(work.done() for work in works):
            seen.insert(7)
            if window is None and seen.now < 10:
                seen.advance()
    new = sum(work.result().sum() for work in works)
    assert seen.refused == 0 and seen.may_contain(KEYS).all()
    assert len(KEYS) * 0.995 < new <= len(KEYS) and len(seen) == new + 1


def test_a_clock_beside_threads():
    seen = nestline.ExpiringFilter(100_000, window=0.014)

    def work(i):
        while seen.now < 300:
            seen.insert(f"{i} {seen.now}")
            seen.may_contain(KEYS[:1000])

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(work, range(3)))  # with their errors
    assert seen.now >= 300
