"""Threads, signals and interpreters: batches release the interpreter's lock, what may not run beside
a batch is an error, and handlers of signals run between the pieces of one.

Nothing here depends on time: the tests repeat until they have seen what they look for. Only those of
signals measure processor time, and the calls would take several times the bound.
"""

import array
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import nestline
import numpy as np
import pytest
from common import KEYS, Beside, is_read


def is_refused(call):
    """Whether the call is an error because of another thread."""
    try:
        call()
    except RuntimeError as error:
        assert "another thread" in str(error)
        return True
    return False


@pytest.mark.parametrize("keys", [KEYS, KEYS.astype(">u8"), KEYS[::-1], nestline.Hash(KEYS)],
                         ids=["in place", "swapped", "backwards", "hashes"])
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
    looks = 0
    with ThreadPoolExecutor(4) as pool:
        works = [pool.submit(filter.insert, part) for part in parts]
        while not all(work.done() for work in works):
            filter.may_contain(KEYS[:5000])
            filter.may_contain("a")
            looks += 1
    assert all(work.result().all() for work in works) and looks
    assert len(filter) == len(KEYS) and filter.may_contain(KEYS).all()


def test_memory_that_is_read_stays():
    filter = nestline.ConcurrentFilter(2_000_000)
    numbers = array.array("Q", KEYS.tolist())
    beside = Beside(lambda: filter.may_contain(numbers))
    assert beside.until(lambda: is_read(numbers))
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
            assert filter.may_contain(KEYS[:5000]).all()
            assert filter.insert(KEYS).all() and filter.growth > 0
            os._exit(0)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert len(filter) == 5000 and filter.growth == 0
    assert filter.insert("a")


# Daemon threads are in calls of each kind, or in code of Python that such a call runs, when the
# program ends.
AT_EXIT = """
import sys, threading, time
import nestline
import numpy as np

sys.setswitchinterval(0.0001)
keys = np.random.default_rng(1).integers(0, 2**63, 30_000, dtype=np.uint64)
filter = nestline.Filter.build(keys)
shared = nestline.ConcurrentFilter(60_000)
maplet = nestline.Maplet(60_000)
runs = nestline.Maplet(60_000, value_bits=4)
seen = nestline.ExpiringFilter(60_000, ttl_ticks=3)
filter.save("f.nest")
mapped = nestline.MappedFilter("f.nest")
data = filter.to_bytes()
was_in = set()

def sleep(*_):
    was_in.add(threading.current_thread().name)
    while True:
        time.sleep(0.001)

def items():
    sleep()
    yield b"a"

class Last:  # gives the other threads time to ask for the lock while the interpreter ends
    def __del__(self, wait=time.sleep):
        wait(0.1)

last = Last()

class Sleeps:
    __index__ = __float__ = __fspath__ = __array__ = sleep

class Column:
    __array__ = __len__ = __repr__ = sleep

class Typed(Column):
    ndim = 1
    dtype = property(sleep)
    def __array__(self):
        return self

class Dated(Typed):
    class dtype:
        kind = "M"

class Asked:
    def __getattr__(self, name):
        sleep()

class Dict:
    items = sleep

calls = {
    "look": lambda: filter.may_contain(keys), "backwards": lambda: filter.may_contain(keys[::-1]),
    "count": lambda: filter.count(keys), "select": lambda: filter.select(keys, keys % 1000),
    "insert": lambda: shared.insert(keys), "erase": lambda: shared.erase(keys),
    "unique": lambda: shared.insert_unique(keys), "build": lambda: filter.build(keys),
    "parallel": lambda: filter.build(keys, parallel=True), "copy": filter.copy,
    "hash": lambda: nestline.hash_key(keys), "bytes": filter.to_bytes,
    "from": lambda: filter.from_bytes(data), "save": lambda: filter.save("g.nest"),
    "load": lambda: filter.load("f.nest"), "map": lambda: mapped.may_contain(keys),
    "verify": mapped.verify, "snapshot": shared.snapshot, "merge": lambda: shared.can_merge(shared),
    "grow": lambda: nestline.Filter(100_000).grow(), "candidates": lambda: maplet.candidates(keys),
    "maplet": lambda: maplet.insert(keys, keys % 1000), "expiring": lambda: seen.insert(keys),
    "sets": lambda: runs.find_sets(keys), "rename": lambda: runs.rename([0, None]),
    "erase value": lambda: runs.erase_value(3), "merge runs": lambda: runs.merge(runs),
    "build runs": lambda: runs.build(keys, keys % 16, value_bits=4),
    "remaining_ticks": lambda: seen.remaining_ticks(keys), "advance": seen.advance, "sweep": lambda: seen.sweep(1000),
    "index": lambda: filter.may_contain([Sleeps()]), "one": lambda: Sleeps() in filter,
    "array": lambda: filter.may_contain(Column()), "typed": lambda: filter.may_contain(Typed()),
    "dated": lambda: filter.may_contain(Dated()),
    "capacity": lambda: nestline.Filter(Sleeps()),
    "fpr": lambda: nestline.Filter(5, fpr=Sleeps()), "path": lambda: filter.load(Sleeps()),
    "value": lambda: maplet.insert(1, Sleeps()), "mask": lambda: runs.find_sets(keys, None, Sleeps()),
    "asked": lambda: filter.may_contain(Asked()), "copied": lambda: shared.copy(),
}
calls |= {f"repr {i}": lambda: repr(nestline.Hash([Column()])) for i in range(16)}
if hasattr(nestline, "Store"):
    store = nestline.Store("store")
    store["a"] = "b" * 1000
    calls |= {
        "put": lambda: store.put("a", "b"), "get": lambda: store.get("a"), "sync": store.sync,
        "items": lambda: list(store.items()), "many": lambda: store.get_many(["a"] * 100),
        "write": lambda: store.write({"a": "c"}), "checkpoint": store.checkpoint,
        "callback": lambda: store.for_each(sleep), "many from": lambda: store.get_many(items()),
        "write from": lambda: store.write(items()), "write of": lambda: store.write(Dict()),
    }

calls = {name: call for name, call in calls.items() if name.startswith(sys.argv[1])}

def run(name):
    while True:
        calls[name]()
        was_in.add(name)

threads = [threading.Thread(target=run, args=[name], name=name, daemon=True) for name in calls]
for thread in threads:
    thread.start()
while len(was_in) < len(calls):
    assert all(thread.is_alive() for thread in threads)
    time.sleep(0.001)
print("ends", flush=True)
sys.exit(3)
"""


@pytest.mark.parametrize("kinds", ["", "repr"])
def test_a_program_may_end_while_daemon_threads_are_at_work(tmp_path, kinds):
    done = subprocess.run([sys.executable, "-c", AT_EXIT, kinds], cwd=tmp_path, capture_output=True,
                          text=True, check=False)
    assert (done.returncode, done.stdout) == (3, "ends\n"), done.stderr


class Interrupted(Exception):
    pass


@pytest.fixture
def interrupt():
    """Interrupts a call after so much processor time, and looks how soon it ends."""

    def handler(*_):
        raise Interrupted

    before = signal.signal(signal.SIGPROF, handler)

    def interrupted(call):
        begin = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, 0.02)
        with pytest.raises(Interrupted):
            call()
        assert time.process_time() - begin < 1.5
    yield interrupted
    signal.setitimer(signal.ITIMER_PROF, 0)
    signal.signal(signal.SIGPROF, before)


@pytest.mark.parametrize("kind", [nestline.Filter, nestline.ConcurrentFilter,
                                  nestline.ExpiringFilter, nestline.Maplet])
def test_a_batch_that_a_signal_ends_has_done_the_first_keys(interrupt, kind):
    keys, values = np.arange(2**24), []
    if kind is nestline.Maplet:  # whose values are copied before: few long keys, which overlap
        text = np.random.default_rng(1).bytes(2**20 + 40_000)
        keys, values = np.ndarray(2**20, "S40000", text, strides=[1]), [np.arange(2**20)]
    filter, out = kind(len(keys)), np.zeros(len(keys), np.uint8)
    interrupt(lambda: filter.insert(keys, *values, out=out, outcomes=True))
    done = np.count_nonzero(out)
    assert 0 < done < len(keys) and out[:done].all()
    assert len(filter) == np.count_nonzero(out == nestline.Outcome.stored) > 0.99 * done
    assert all(keys[i] in filter for i in range(0, done, done // 100 + 1))
    assert filter.insert("after", *[1 for _ in values])


def test_every_batch_can_be_interrupted(interrupt):
    long = np.broadcast_to(np.array([b"x" * 4000]), 2**24)  # without memory for each
    filter, maplet = nestline.Filter(10), nestline.Maplet(10)
    seen, shared = nestline.ExpiringFilter(10), nestline.ConcurrentFilter(10)
    positions = np.zeros(2**24, np.uint32)
    for call in (lambda: filter.may_contain(long), lambda: filter.count(long),
                 lambda: filter.select(long), lambda: filter.select(long, positions),
                 lambda: filter.erase(long), lambda: shared.may_contain(long),
                 lambda: filter.insert_unique(long), lambda: seen.remaining_ticks(long),
                 lambda: maplet.candidates(long), lambda: nestline.hash_key(long),
                 lambda: maplet.find_sets(long),
                 lambda: nestline.Filter.build(long), lambda: filter.insert(["x" * 10**5] * 2**18)):
        interrupt(call)


def test_a_handler_that_throws_nothing_stops_no_batch():
    calls = []
    filter = nestline.ConcurrentFilter(100)

    def handler(*_):
        calls.append(filter.insert("handled"))

    before = signal.signal(signal.SIGPROF, handler)
    signal.setitimer(signal.ITIMER_PROF, 0.01)
    try:
        while not calls:
            assert filter.may_contain(np.broadcast_to(np.array([5], ">u8"), 2**22)).size == 2**22
    finally:
        signal.signal(signal.SIGPROF, before)
    assert calls == [True] and "handled" in filter


SUBINTERPRETER = """
import sys
try:
    import _xxsubinterpreters as interpreters
except ImportError:
    import _interpreters as interpreters

def ask_another():
    other = interpreters.create()
    interpreters.run_string(other, sys.argv[1])
    interpreters.destroy(other)

ask_another()
import nestline
assert "a" in nestline.Filter.build(["a"])
ask_another()
first = nestline.Filter
for name in [name for name in sys.modules if name.startswith("nestline")]:
    del sys.modules[name]
import nestline
assert nestline.Filter is first and "a" in nestline.Filter.build(["a"])
"""
ASK = """
try:
    import nestline
except ImportError as error:
    print(error, flush=True)
"""


def test_a_subinterpreter_gets_an_import_error():
    done = subprocess.run([sys.executable, "-c", SUBINTERPRETER, ASK], capture_output=True,
                          text=True, check=False, timeout=300)
    said = done.stdout.splitlines()
    assert done.returncode == 0 and len(said) == 2, done.stdout + done.stderr
    assert all("main interpreter only" in line and "WSGIApplicationGroup" in line for line in said)
