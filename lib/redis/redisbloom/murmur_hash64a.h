// MurmurHash64A: the hash under which RedisBloom's tables place their items.
//
// Austin Appleby's 64-bit MurmurHash2, here from its description: 8 bytes at a time, read
// little-endian, are mixed by a multiply, an xor-shift and a multiply; the remaining bytes are
// xor-ed in and multiplied; two rounds of xor-shift end it. It does not protect against chosen
// keys, and only data that came from RedisBloom is placed by it.
#ifndef NESTLINE_LIB_REDIS_REDISBLOOM_MURMUR_HASH64A_H_
#define NESTLINE_LIB_REDIS_REDISBLOOM_MURMUR_HASH64A_H_

#include <cstdint>
#include <string_view>

namespace nestline::redis {

/// The hash of `bytes` under `seed`; the same on every machine. O(length). Safe in any thread.
std::uint64_t murmur_hash64a(std::string_view bytes, std::uint64_t seed) noexcept;

}  // namespace nestline::redis

#endif  // NESTLINE_LIB_REDIS_REDISBLOOM_MURMUR_HASH64A_H_
