"""Threads: batches release the interpreter's lock, and what may not run beside a batch is an error.

Nothing here depends on time: the tests repeat until they have seen what they look for.
"""

import array
import os
import threading

import nestline
import numpy as np
import pytest

ENOUGH = 2000  # batches, in which a second thread must have come in at least once


class Beside(threading.Thread):
    """Calls a function again and again, until it is told to stop or has done so often enough."""

    def __init__(self, call):
        super().__init__()
        self.call, self.stop, self.error = call, threading.Event(), None
        self.start()

    def run(self):
        try:
            for _ in range(ENOUGH):
                if self.stop.is_set():
                    return
                self.call()
        except Exception as error:  # looked at by the test
            self.error = error

    def until(self, look):
        """Calls look() until it is true; whether it was so while the calls went on."""
        seen = False
        while not seen and self.is_alive():
            seen = look()
        self.stop.set()
        self.join()
        return seen


KEYS = np.random.default_rng(1).integers(0, 2**63, 1_000_000, dtype=np.uint64)


def is_refused(call):
    """Whether the call is an error because of another thread."""
    try:
        call()
    except RuntimeError as error:
        assert "another thread" in str(error)
        return True
    return False


@pytest.mark.parametrize(
    "keys",
    [KEYS, KEYS.astype(">u8"), KEYS[::-1], nestline.Hash(KEYS)],
    ids=["in place", "swapped", "backwards", "hashes"],
)
def test_a_change_beside_a_look_is_an_error(keys):
    filter = nestline.Filter.build(KEYS)
    beside = Beside(lambda: filter.may_contain(keys))
    # That this thread can be refused at all shows that the batch released the lock.
    assert beside.until(lambda: is_refused(lambda: filter.insert(5)))
    assert beside.error is None


def test_a_look_beside_a_change_is_an_error():
    filter = nestline.Filter(4_000_000)

    def change():
        filter.insert(KEYS)
        filter.erase(KEYS)

    beside = Beside(change)
    assert beside.until(lambda: is_refused(lambda: 5 in filter))
    assert beside.error is None
    assert filter.insert(5) and 5 in filter


def test_looks_run_beside_each_other():
    filter = nestline.Filter.build(KEYS)
    before = filter.to_bytes()
    others = [Beside(lambda: filter.may_contain(KEYS)) for _ in range(3)]
    for _ in range(20):
        assert filter.may_contain(KEYS).all() and KEYS[0] in filter
    for other in others:
        other.stop.set()
        other.join()
        assert other.error is None
    assert filter.to_bytes() == before


def test_a_concurrent_filter_needs_no_care():
    filter = nestline.ConcurrentFilter(10_000, max_capacity=2_000_000)
    parts = np.array_split(KEYS, 4)
    stored = []
    threads = [
        threading.Thread(target=lambda part=part: stored.append(filter.insert(part).all()))
        for part in parts
    ]
    for thread in threads:
        thread.start()
    looks = 0
    while any(thread.is_alive() for thread in threads):
        filter.may_contain(KEYS[:5000])
        filter.may_contain("a")
        looks += 1
    for thread in threads:
        thread.join()
    assert stored == [True] * 4 and looks
    assert len(filter) == len(KEYS) and filter.may_contain(KEYS).all()


def test_memory_that_is_read_stays():
    filter = nestline.ConcurrentFilter(2_000_000)
    numbers = array.array("Q", KEYS.tolist())

    def refused():
        try:
            numbers.append(1)
        except BufferError:
            return True
        numbers.pop()
        return False

    beside = Beside(lambda: filter.may_contain(numbers))
    assert beside.until(refused)
    assert beside.error is None


def test_a_list_may_change_after_it_was_read():
    filter = nestline.ConcurrentFilter(2_000_000)
    keys = KEYS.tolist()
    beside = Beside(lambda: filter.may_contain(keys))
    for _ in range(200):
        keys.append(keys.pop())
    beside.stop.set()
    beside.join()
    assert beside.error is None


@pytest.mark.parametrize("kind", [nestline.Filter, nestline.ConcurrentFilter])
def test_a_forked_process_has_a_filter_of_its_own(kind):
    filter = kind(10_000, max_capacity=1_000_000)
    filter.insert(KEYS[:5000])
    child = os.fork()
    if child == 0:
        try:
            good = (
                filter.may_contain(KEYS[:5000]).all()
                and filter.insert(KEYS).all()
                and filter.growth > 0
            )
            os._exit(0 if good else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert len(filter) == 5000 and filter.growth == 0
    assert filter.insert("a")
