"""What a client of the commands on hashes does: hashes items, writes strings, reads bits."""

import ctypes
import ctypes.util
import struct

_xxhash = ctypes.CDLL(ctypes.util.find_library("xxhash") or "libxxhash.so.0")
_xxhash.XXH3_64bits_withSeed.restype = ctypes.c_uint64
_xxhash.XXH3_64bits_withSeed.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64]


def xxh3(content, seed=0):
    """XXH3-64 of bytes."""
    return _xxhash.XXH3_64bits_withSeed(content, len(content), seed)


def hash_string(items, seed):
    """The argument of CF.MEXISTSH and the like for these items."""
    encoded = [item if isinstance(item, bytes) else item.encode() for item in items]
    return struct.pack(f"<{len(encoded)}Q", *(xxh3(item, seed) for item in encoded))


def read_bits(reply, count):
    """The answers in a reply, each 0 or 1; the bits after the last one must be 0."""
    if not isinstance(reply, bytes) or len(reply) != (count + 7) // 8:
        raise ValueError(f"not the bits of {count} answers: {reply!r}")
    number = int.from_bytes(reply, "little")
    if number >> count:
        raise ValueError(f"bits after the last of {count} answers: {reply!r}")
    return [number >> i & 1 for i in range(count)]
