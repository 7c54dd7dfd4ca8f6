"""Keys of every kind: one key is the same key, whatever it comes in."""

import array
import ctypes
import mmap
import pickle
import random
import subprocess
import sys

import nestline
import numpy as np
import pytest

SEED = 7


def filter_of(keys):
    """A filter in which false positives are too rare to matter here."""
    return nestline.Filter.build(keys, capacity=20_000, bits=16, load=0.5, seed=SEED)


NUMBERS = [-(2**63), -(2**31) - 1, -(2**15), -129, -1, 0, 1, 127, 255, 2**15, 2**31, 2**63,
           2**64 - 1]


def test_an_integer_is_its_value_in_every_type():
    filter = filter_of(NUMBERS)
    for number in NUMBERS:
        assert number in filter
    for code in "bhilqBHILQ":
        for order in "<>":
            type = np.dtype(order + code)
            limits = np.iinfo(type)
            fitting = [n for n in NUMBERS if limits.min <= n <= limits.max]
            assert filter.may_contain(np.array(fitting, type)).all(), (type, fitting)
            absent = np.array([2, 3, 5, 7, 100], type)
            assert not filter.may_contain(absent).any(), type
            assert type.type(fitting[0]) in filter
    assert filter.may_contain(array.array("h", [-129, 5])).tolist() == [True, False]
    assert 2**32 - 1 not in filter and not filter.may_contain(np.array([2**32 - 1], np.uint32))[0]


@pytest.mark.parametrize("type", "i1 u1 <i2 >u2 <i4 >i4 <u4 <i8 >i8 <u8 >u8".split())
@pytest.mark.parametrize("size", [0, 1, 3, 4095, 4096, 4097, 10_000])
def test_arrays_of_every_layout_have_the_answers_of_single_keys(type, size):
    keys = np.frombuffer(np.random.default_rng(size).bytes(size * np.dtype(type).itemsize), type)
    filter = filter_of(keys[::2])
    expected = [int(key) in filter for key in keys]
    apart = np.zeros(size * 3, type)
    apart[::3] = keys
    unaligned = np.frombuffer(b"x" + keys.tobytes(), type, offset=1) if size else keys
    for layout in (keys, keys.copy(), keys[::-1][::-1], apart[::3], unaligned):
        assert filter.may_contain(layout).tolist() == expected
        assert filter.select(layout).tolist() == np.flatnonzero(expected).tolist()
    assert filter.may_contain(keys[::-1]).tolist() == expected[::-1]


TEXTS = ["", "a", "user:17", "\0", "a\0b", "\u00e9", "\u20ac", "\U0001f600", "na\u00efve " * 50,
         "x" * 5000]


def test_a_string_is_its_utf8_in_every_type():
    filter = filter_of(TEXTS)
    in_bytes = [text.encode() for text in TEXTS]
    for keys in (TEXTS, tuple(TEXTS), in_bytes, [bytearray(key) for key in in_bytes],
                 [memoryview(key) for key in in_bytes], np.array(TEXTS, object)):
        assert filter.may_contain(keys).all()
    for text, key in zip(TEXTS, in_bytes):
        assert text in filter and key in filter
        assert bytearray(key) in filter and memoryview(key) in filter and np.str_(text) in filter
    assert not filter.may_contain(["b", "user:18", "e"]).any()
    assert not filter.may_contain([text + "!" for text in TEXTS]).any()


def test_arrays_of_strings_lose_only_nuls_at_the_end():
    texts = [text for text in TEXTS if not text.endswith("\0")]
    filter = filter_of(texts)
    for order in "<>":
        width = max(map(len, texts))
        assert filter.may_contain(np.array(texts, f"{order}U{width}")).all()
    in_bytes = np.array([text.encode() for text in texts])
    assert in_bytes.dtype.kind == "S"
    assert filter.may_contain(in_bytes).all()
    assert filter.may_contain(in_bytes[::-1]).all()
    assert not filter.may_contain(np.array(["b", "user:18"])).any()


def arrow(strings, type):
    offsets = np.zeros(len(strings) + 1, type)
    offsets[1:] = np.cumsum([len(string) for string in strings])
    return offsets, b"".join(strings)


@pytest.mark.parametrize("type", [np.int32, np.uint32, np.int64, np.uint64])
def test_string_arrays(type):
    strings = [b"", b"one", b"two", b"x" * 5000, b"three"] * 1000
    filter = filter_of(strings[:5])
    keys = nestline.StringArray(*arrow(strings, type))
    assert len(keys) == 5000 and keys[1] == b"one" and keys[-1] == b"three"
    assert filter.may_contain(keys).all()
    assert not filter.may_contain(nestline.StringArray(*arrow([b"four", b"on"], type))).any()
    empty = nestline.StringArray(np.zeros(1, type), b"")
    assert filter.may_contain(empty).tolist() == []
    with pytest.raises(IndexError):
        keys[5000]
    for bad in ([0, 2, 1], [0, 4], [2**31 - 1, 2**31 - 1], [1, 0]):
        with pytest.raises(ValueError, match="offset"):
            nestline.StringArray(np.array(bad, type), b"abc")
    with pytest.raises(ValueError, match="at least one"):
        nestline.StringArray(np.array([], type), b"abc")


def test_buffers_of_arrow_are_of_signed_bytes():
    offsets, data = arrow([b"one", b"", b"two"], np.int32)
    size = offsets.nbytes
    for bytes_of in (
        lambda memory: memoryview(memory).cast("B").cast("b"), lambda memory: memory,
        lambda memory: memoryview(memory).cast("B").cast("c"),
        lambda memory: (ctypes.c_byte * len(memory)).from_buffer_copy(memory),
        lambda memory: (ctypes.c_char * len(memory)).from_buffer_copy(memory),
        lambda memory: pickle.PickleBuffer(memoryview(memory).cast("b")),
    ):
        keys = nestline.StringArray(bytes_of(offsets.tobytes()), bytes_of(data))
        assert [keys[i] for i in range(len(keys))] == [b"one", b"", b"two"]
        assert filter_of(keys).may_contain(["one", "", "two"]).all()
        saved = bytes_of(filter_of(["one"]).to_bytes())
        assert "one" in nestline.Filter.from_bytes(saved)
    with pytest.raises(TypeError, match="32 or 64 bits"):
        nestline.StringArray(offsets.tobytes()[: size - 1], data)


def test_string_arrays_of_wrong_types():
    for bad in (np.array([0, 1], np.int16), np.array([0.0, 1.0]), np.array([0, 1], ">i4"), b"\0\1"):
        with pytest.raises(TypeError, match="32 or 64 bits"):
            nestline.StringArray(bad, b"abc")
    with pytest.raises(ValueError, match="offset 0 is outside"):
        nestline.StringArray(np.array([-1, 0], np.int32), b"abc")
    with pytest.raises(TypeError):
        nestline.StringArray([0, 1], b"abc")


def test_offsets_that_change_afterwards_are_an_error():
    offsets, data = np.array([0, 1, 3], np.int64), bytearray(b"abc")
    keys = nestline.StringArray(offsets, data)
    filter = filter_of([b"a", b"bc"])
    assert filter.may_contain(keys).all()
    with pytest.raises(BufferError):
        data.extend(b"more")
    for bad in (2**40, -1, 0):
        offsets[1:] = [bad, 1] if bad == 2**40 else [2, bad]
        with pytest.raises(ValueError, match="were changed"):
            filter.may_contain(keys)


def test_kinds_are_separate_worlds():
    hashed = nestline.Hash(7)
    for one, others in ((7, ["7", hashed]), ("7", [7, hashed]), (hashed, [7, "7"])):
        filter = filter_of([one])
        assert one in filter
        assert not any(other in filter for other in others)


def test_hashes():
    chance = random.Random(1)
    hashes = [chance.getrandbits(64) for _ in range(5000)]
    as_array = np.array(hashes, np.uint64)
    filter = filter_of(nestline.Hash(as_array))
    for keys in (nestline.Hash(hashes), nestline.Hash(as_array.view(np.int64)),
                 nestline.Hash(as_array.astype(">u8")), [nestline.Hash(value) for value in hashes]):
        assert filter.may_contain(keys).all()
    assert nestline.Hash(hashes[0]) in filter
    assert filter.may_contain(as_array).sum() < 10
    for keys in (["a", "b"], [1, 2, -1], np.arange(5000, dtype=np.int16)):
        again = filter_of(keys)
        hash = nestline.hash_key(keys, SEED)
        assert hash.value.dtype == np.uint64
        assert again.may_contain(hash).all()
        assert again.may_contain(nestline.hash_key(keys[0], SEED)) is True
    for bad in (np.arange(3, dtype=np.uint32), ["a"], np.array(["a"]), 1.5):
        with pytest.raises(TypeError):
            filter.may_contain(nestline.Hash(bad))
    with pytest.raises(OverflowError):
        nestline.Hash(2**64)


@pytest.mark.parametrize(
    "bad",
    [True, np.True_, [True], 1.5, [1.5], None, {1, 2}, object(), [[1]], [None], np.array([1.5]),
     np.array([True]), np.array([1 + 1j]), np.float64(5), np.void(b"ab"), np.longdouble(1),
     np.datetime64("2024-01-01", "ns"), np.timedelta64(5, "s"), np.array("2024", "M8[D]"),
     np.array(5.0), np.array(["2024"], "M8[ns]"), np.array([5], "m8[s]"), np.zeros(2, "V3"),
     np.array([(1, 2)], "i4,i4"), [np.datetime64("2024")], np.ma.array([1, 2], mask=[0, 1]),
     np.ma.array([1]), np.ma.masked, np.ma.array(1, mask=True), [np.ma.array(1, mask=True)],
     np.ma.array(["a"]), array.array("d", [1]), ctypes.c_int(5), (ctypes.c_char * 2)(),
     [1, "a"], ["a", b"b"], [b"a", 1], [nestline.Hash(1), 1]],
)
def test_what_is_no_key_is_a_type_error(bad):
    filter = filter_of([1])
    for call in (filter.may_contain, filter.insert, filter.erase, filter.count,
                 filter.insert_unique):
        with pytest.raises(TypeError):
            call(bad)
    assert len(filter) == 1


def test_what_can_be_made_a_list_is_told_so():
    filter, maplet = filter_of([1]), nestline.Maplet(10)
    many = [range(3), {1, 2}, frozenset([1]), {1: 2}, (i for i in [1]), map(int, "12"), iter([1])]
    for keys in many:
        for call in (filter.insert, filter.may_contain, filter.select, nestline.Filter.build,
                     nestline.hash_key, maplet.candidates):
            with pytest.raises(TypeError, match=r"not [a-z_]+: give list\(keys\)$"):
                call(keys)
        with pytest.raises(TypeError, match=r"give list\(values\)$"):
            maplet.insert([1], keys)
        with pytest.raises(TypeError, match=r"give list\(positions\)$"):
            filter.select([1], keys)
        with pytest.raises(TypeError, match=r"^hashes are .* give list\(hashes\)$"):
            filter.insert(nestline.Hash(keys))
        assert nestline.Filter.build(list(keys) or [1]).may_contain([1]).size == 1
    for no_key in (1.5, None):
        with pytest.raises(TypeError, match="not (float|NoneType); a key is an int, a str, bytes or a nestline.Hash$"):
            filter.insert(no_key)
    with pytest.raises(TypeError, match="not int$"):
        nestline.Filter.build(5)


def test_memory_is_one_key_and_typed_arrays_are_many():
    filter = filter_of([b"ab"])
    memory = mmap.mmap(-1, 2)
    memory[:] = b"ab"
    signed = memoryview(b"ab").cast("b")
    for key in (memory, pickle.PickleBuffer(b"ab"), pickle.PickleBuffer(signed), signed):
        assert filter.may_contain(key) is True and key in filter
        assert filter.may_contain([key]).tolist() == [True]
        with pytest.raises(TypeError, match="keys are an array"):
            nestline.Filter.build(key)
    filter = filter_of([1, 2])
    for keys in (array.array("b", [1, 2]), (ctypes.c_byte * 2)(1, 2), (ctypes.c_uint16 * 2)(1, 2),
                 pickle.PickleBuffer(np.array([1, 2])), np.array([1, 2], object)):
        assert filter.may_contain(keys).tolist() == [True, True]
    for one in (np.int8(1), np.uint64(1), np.array(1), np.array(1, ">i2")):
        assert filter.may_contain(one) is True


@pytest.mark.parametrize(
    "empty",
    [[], (), np.array([]), np.array([], bool), np.array([], "M8[ns]"), np.array([], "V2"),
     np.array([], object), array.array("d"), np.zeros(0, "U3")],
)
def test_an_empty_array_of_any_type_is_an_empty_batch(empty):
    filter = filter_of([1])
    assert filter.insert(empty).tolist() == [] and filter.select(empty).tolist() == []
    assert len(nestline.Filter.build(empty)) == 0
    assert filter.select([1], empty).tolist() == []
    assert nestline.Maplet(5).insert(empty, empty).tolist() == []


def test_columns_of_pandas():
    pandas = pytest.importorskip("pandas")
    filter = filter_of([1, 2])
    for column in (pandas.Series([1, 2]), pandas.Index([1, 2]),
                   pandas.Series([1, 2], dtype="Int64"), pandas.Series([1, 5, 2])[[0, 2]]):
        assert filter.may_contain(column).tolist() == [True, True]
    assert filter_of(["a"]).may_contain(pandas.Series(["a", "b"])).tolist() == [True, False]
    for bad in (pandas.Series([1, None]), pandas.Series([1, pandas.NA], dtype="Int64"),
                pandas.Series(["a", None]), pandas.to_datetime(["2024-01-01"]),
                pandas.Series([True, False]), pandas.Timestamp("2024-01-01"), pandas.NA):
        with pytest.raises(TypeError):
            filter.insert(bad)
    assert len(filter) == 2


def test_errors_name_the_position_and_have_no_effect():
    filter = nestline.Filter(1000)
    with pytest.raises(TypeError, match="key 3 is str"):
        filter.insert([1, 2, 3, "4"])
    with pytest.raises(OverflowError, match="key 2"):
        filter.insert([1, 2, 2**64])
    for number in (2**64, -(2**63) - 1, 2**1000):
        with pytest.raises(OverflowError, match="from -2"):
            filter.insert(number)
    with pytest.raises(UnicodeEncodeError):
        filter.insert(["a", "\ud800"])
    with pytest.raises(UnicodeEncodeError):
        filter.insert("\udfff")
    with pytest.raises(ValueError, match="key 1 has a code point"):
        filter.insert(np.array(["a", "\ud800"]))
    with pytest.raises(ValueError, match="one dimension"):
        filter.insert(np.zeros((2, 2), np.int64))
    assert len(filter) == 0


def test_objects_that_become_integers_or_arrays():
    class Index:
        def __index__(self):
            return 12

    class Column:
        def __array__(self):
            return np.array([12, 13])

    filter = filter_of([12])
    assert Index() in filter
    assert filter.may_contain([Index(), 5]).tolist() == [True, False]
    assert filter.may_contain(Column()).tolist() == [True, False]

    keys = [1, None, 3]

    class Shrinks:
        def __index__(self):
            keys.clear()
            return 1

    keys[1] = Shrinks()
    with pytest.raises(RuntimeError, match="was changed"):
        filter.may_contain(keys)


def test_out():
    keys = np.arange(10_000)
    filter = filter_of(keys[::2])
    expected = filter.may_contain(keys)
    for out in (np.empty(10_000, bool), np.empty(10_000, np.uint8), bytearray(10_000)):
        assert filter.may_contain(keys, out=out) is out
        assert (np.frombuffer(out, bool) == expected).all()
    counts = np.empty(10_000, np.uint8)
    assert filter.count(keys, out=counts) is counts and (counts == expected).all()
    read_only = np.empty(10_000, bool)
    read_only.flags.writeable = False
    for bad, error in (
        (np.empty(9_999, bool), ValueError),
        (np.empty((100, 100), bool), ValueError),
        (np.empty(20_000, bool)[::2], ValueError),
        (keys.view(np.uint8)[:10_000], ValueError),
        (np.empty(10_000, np.int32), TypeError),
        (np.empty(10_000, float), TypeError),
        (read_only, ValueError),
        (bytes(10_000), BufferError),
        ([0] * 10_000, TypeError),
    ):
        before = len(filter)
        with pytest.raises(error):
            filter.insert(keys, out=bad)
        assert len(filter) == before
    offsets, data = np.array([0, 1, 3, 3, 8], np.int32), bytearray(b"abcdefghABCD")
    strings = nestline.StringArray(offsets, memoryview(data)[:8])
    bytes_of = np.frombuffer(data, np.uint8)
    with pytest.raises(ValueError, match="same memory"):
        filter.may_contain(strings, out=offsets.view(np.uint8)[3:7])
    for first in range(8):
        with pytest.raises(ValueError, match="same memory"):
            filter.insert(strings, out=bytes_of[first : first + 4])
    assert data == b"abcdefghABCD" and len(filter) == 5_000
    assert filter.may_contain(strings, out=bytes_of[8:]).tolist() == [0, 0, 0, 0]
    with pytest.raises(TypeError):
        filter.count(keys, out=np.empty(10_000, bool))
    with pytest.raises(TypeError, match="many keys"):
        filter.may_contain(5, out=np.empty(1, bool))


def test_select_with_a_selection():
    chance = np.random.default_rng(3)
    for keys in (np.arange(30_000), np.arange(30_000, dtype=">i8"),
                 [f"{i}" for i in range(30_000)]):
        filter = filter_of(keys[::3])
        selection = np.sort(chance.choice(30_000, 10_000, replace=False)).astype(np.uint32)
        expected = [i for i in selection.tolist() if filter.may_contain(keys[i])]
        assert filter.select(keys, selection).tolist() == expected
        assert filter.select(keys, selection.tolist()).tolist() == expected
        with pytest.raises(ValueError, match="outside of the 30000 keys"):
            filter.select(keys, [30_000])


NO_NUMBERS = [[True, False], np.array([True, False]), [np.True_], ["1"], [1.0], np.array([1.0]),
              np.array(["1"]), [None], np.ma.array([1, 0], mask=[1, 0]), 1, "01", b"01",
              bytearray(2), nestline.Hash([1]), np.array([1], "M8[D]"), np.array([1j]), {0, 1}]


@pytest.mark.parametrize("bad", NO_NUMBERS)
def test_positions_and_values_are_integers_only(bad):
    with pytest.raises(TypeError):
        filter_of([1]).select([1, 2], bad)
    maplet = nestline.Maplet(10)
    with pytest.raises(TypeError):
        maplet.insert([1, 2], bad)
    assert len(maplet) == 0


def test_positions_and_values_outside_of_their_range():
    filter, maplet = filter_of([0, 1]), nestline.Maplet(10)
    for bad in (-1, 2, 2**32 + 1, 2**64 - 1):
        with pytest.raises(ValueError, match=f"position {bad if bad < 2**63 else -1} is outside"):
            filter.select([0, 1], [bad])
    with pytest.raises(ValueError, match="position -1"):
        filter.select([0, 1], np.array([-1], np.int8))
    for bad in (-1, 2**40, 2**64 - 1, 2**70):
        with pytest.raises(OverflowError, match="value 1"):
            maplet.insert([0, 1], [5, bad])
    with pytest.raises(OverflowError, match="position 0"):
        filter.select([0, 1], [2**70])
    for numbers in ([1, 0], (1, 0), np.array([1, 0], ">i8"), array.array("h", [1, 0]),
                    np.array([0, 5, 1])[::-2], np.array([1, 0], object)):
        assert filter.select([0, 1], numbers).tolist() == [1, 0]
        assert maplet.insert(["a", "b"], numbers).all()
    assert maplet.candidates("a") == [1] * 6


@pytest.mark.parametrize("bad", [True, np.True_, "1", 1j, np.array([1]), np.ma.masked, [1]])
def test_numbers_are_not_bent(bad):
    filter, seen = nestline.Filter(10), nestline.ExpiringFilter(10)
    for call in (lambda: nestline.Filter(bad), lambda: nestline.Filter(10, fpr=bad),
                 lambda: nestline.Filter(10, bits=bad), lambda: nestline.Filter(10, load=bad),
                 lambda: nestline.ConcurrentFilter(10, seed=bad),
                 lambda: nestline.Filter.build([1], max_capacity=bad),
                 lambda: nestline.hash_key(1, bad), lambda: nestline.Maplet(bad),
                 lambda: nestline.Maplet(10).insert(1, bad),
                 lambda: nestline.ExpiringFilter(10, window=bad),
                 lambda: nestline.ExpiringFilter(10, ttl_ticks=bad), lambda: seen.advance(bad),
                 lambda: seen.sweep(bad), lambda: seen.insert(1, ttl_ticks=bad)):
        with pytest.raises(TypeError):
            call()
    for out in (np.ma.zeros(2, bool), np.zeros(2, "M8[s]"), np.zeros(2, np.int8)):
        with pytest.raises(TypeError):
            filter.insert([1, 2], out=out)
    assert len(filter) == 0


def test_conversion_takes_no_memory_for_all_keys():
    program = """
import resource, nestline, numpy as np
keys = np.zeros(20_000_000, np.int16)
out = np.empty(keys.size, bool)
filter = nestline.Filter.build(keys[:1])
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (32 << 20),) * 2)
assert filter.may_contain(keys, out=out).all()
assert filter.may_contain(keys.view("S2")[::2], out=out[::2].copy()).sum() == 0
print("done")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "done\n", done.stderr
