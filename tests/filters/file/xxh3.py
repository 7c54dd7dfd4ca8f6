"""XXH3, 64 bits, in plain Python, so that the reader of docs/FORMAT.md needs no package.

Written from the algorithm's public specification (xxHash, doc/xxhash_spec.md). It takes a fifth of
a second per MiB, which is fast enough only for tests.
"""

import struct

MASK = (1 << 64) - 1
SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671f"
    "cb79e64eccc0e578825ad07dccff7221b8084674f743248ee03590e6813a264c"
    "3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
    "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364"
    "eac5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e"
    "2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e"
)
P32_1, P32_2, P32_3 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D
P64_1, P64_2, P64_3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
P64_4, P64_5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
MX1, MX2 = 0x165667919E3779F9, 0x9FB21C651E98DF25
STRIPE = 64  # bytes that are taken in at a time
BLOCK_STRIPES = (len(SECRET) - STRIPE) // 8


def u32(data, at):
    return int.from_bytes(data[at : at + 4], "little")


def u64(data, at):
    return int.from_bytes(data[at : at + 8], "little")


def swap(number, size):
    return int.from_bytes(number.to_bytes(size, "little"), "big")


def rotate(number, by):
    return (number << by | number >> (64 - by)) & MASK


def fold(a, b):
    """The two halves of the 128-bit product, xor-ed."""
    product = (a & MASK) * (b & MASK)
    return (product ^ product >> 64) & MASK


def avalanche(h):
    h &= MASK
    h = (h ^ h >> 37) * MX1 & MASK
    return h ^ h >> 32


def avalanche_short(h):
    h &= MASK
    h = (h ^ h >> 33) * P64_2 & MASK
    h = (h ^ h >> 29) * P64_3 & MASK
    return h ^ h >> 32


def hash_to_16(data, seed):
    size = len(data)
    if size > 8:
        low = u64(data, 0) ^ ((u64(SECRET, 24) ^ u64(SECRET, 32)) + seed & MASK)
        high = u64(data, size - 8) ^ ((u64(SECRET, 40) ^ u64(SECRET, 48)) - seed & MASK)
        return avalanche(size + swap(low, 8) + high + fold(low, high))
    if size >= 4:
        seed ^= swap(seed & 0xFFFFFFFF, 4) << 32
        flip = (u64(SECRET, 8) ^ u64(SECRET, 16)) - seed & MASK
        h = u32(data, size - 4) + (u32(data, 0) << 32) ^ flip
        h = (h ^ rotate(h, 49) ^ rotate(h, 24)) * MX2 & MASK
        h = (h ^ (h >> 35) + size) * MX2 & MASK
        return h ^ h >> 28
    if size > 0:
        both = data[0] << 16 | data[size >> 1] << 24 | data[size - 1] | size << 8
        return avalanche_short(both ^ (u32(SECRET, 0) ^ u32(SECRET, 4)) + seed & MASK)
    return avalanche_short(seed ^ u64(SECRET, 56) ^ u64(SECRET, 64))


def mix(data, at, secret_at, seed):
    return fold(
        u64(data, at) ^ (u64(SECRET, secret_at) + seed & MASK),
        u64(data, at + 8) ^ (u64(SECRET, secret_at + 8) - seed & MASK),
    )


def hash_to_240(data, seed):
    size = len(data)
    h = size * P64_1
    if size <= 128:
        for i in range((size - 1) // 32 + 1):
            h += mix(data, 16 * i, 32 * i, seed)
            h += mix(data, size - 16 * (i + 1), 32 * i + 16, seed)
        return avalanche(h)
    for i in range(8):
        h += mix(data, 16 * i, 16 * i, seed)
    h = avalanche(h)
    for i in range(8, size // 16):
        h += mix(data, 16 * i, 16 * (i - 8) + 3, seed)
    return avalanche(h + mix(data, size - 16, 119, seed))


def take_in(lanes, stripe, keys):
    for i, value in enumerate(stripe):
        key = value ^ keys[i]
        lanes[i ^ 1] += value
        lanes[i] = lanes[i] + (key & 0xFFFFFFFF) * (key >> 32) & MASK


def hash_long(data, seed):
    size = len(data)
    words = struct.unpack("<24Q", SECRET)
    words = [(word + (-seed if i % 2 else seed)) & MASK for i, word in enumerate(words)]
    secret = struct.pack("<24Q", *words)
    lanes = [P32_3, P64_1, P64_2, P64_3, P64_4, P32_2, P64_5, P32_1]
    for number in range((size - 1) // STRIPE):
        i = number % BLOCK_STRIPES
        take_in(lanes, struct.unpack_from("<8Q", data, number * STRIPE), words[i : i + 8])
        if i == BLOCK_STRIPES - 1:
            for lane, word in enumerate(words[-8:]):
                h = lanes[lane] & MASK
                lanes[lane] = (h ^ h >> 47 ^ word) * P32_1 & MASK
    last = struct.unpack_from("<8Q", secret, len(secret) - STRIPE - 7)
    take_in(lanes, struct.unpack_from("<8Q", data, size - STRIPE), last)
    h = size * P64_1
    for i in range(0, 8, 2):
        h += fold(lanes[i] ^ u64(secret, 11 + 8 * i), lanes[i + 1] ^ u64(secret, 19 + 8 * i))
    return avalanche(h)


def xxh3_64(data, seed=0):
    """The XXH3 64-bit hash of bytes."""
    if len(data) <= 16:
        return hash_to_16(data, seed)
    if len(data) <= 240:
        return hash_to_240(data, seed)
    return hash_long(data, seed)
