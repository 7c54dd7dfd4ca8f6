// A batch of keys as 64-bit inputs for the kernels, in chunks that fit the first-level cache.
//
// Integers and hashes are passed on where they lie; strings are hashed into a buffer on the stack.
// A chunk is long enough that starting the kernels' pipeline anew for each costs under one percent.
#ifndef NESTLINE_LIB_FILTER_KEY_STREAM_H_
#define NESTLINE_LIB_FILTER_KEY_STREAM_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "lib/kernels/kernels.h"
#include "lib/place/hash.h"
#include "nestline/keys.h"

namespace nestline {

inline constexpr std::size_t kChunk = 2048;
static_assert(kChunk % kLocateMost == 0, "chunks must be whole groups");

// Calls visit(offset, inputs, count, input) for each chunk of at most kChunk keys, in order.
class KeyStream {
 public:
  KeyStream(KeySpan keys, std::uint64_t seed) : keys_(keys), seed_(seed) {}

  template <typename Visit>
  void for_each_chunk(Visit&& visit) const {
    keys_.visit([&](auto span) { chunks(span, visit); });
  }

 private:
  template <typename Visit>
  static void direct(const std::uint64_t* inputs, std::size_t size, Input input, Visit& visit) {
    for (std::size_t at = 0; at < size; at += kChunk) {
      visit(at, inputs + at, std::min(kChunk, size - at), input);
    }
  }
  template <typename Visit>
  void chunks(KeySpan::Integers keys, Visit& visit) const {
    direct(keys.data(), keys.size(), Input::integers, visit);
  }
  template <typename Visit>
  void chunks(KeySpan::Hashes keys, Visit& visit) const {
    static_assert(sizeof(Hash) == sizeof(std::uint64_t));
    direct(reinterpret_cast<const std::uint64_t*>(keys.data()), keys.size(), Input::hashes, visit);
  }
  template <typename Visit>
  void chunks(KeySpan::Strings keys, Visit& visit) const {
    std::array<std::uint64_t, kChunk> hashes;
    for (std::size_t at = 0; at < keys.size(); at += kChunk) {
      const std::size_t count = std::min(kChunk, keys.size() - at);
      for (std::size_t i = 0; i < count; ++i) hashes[i] = hash_bytes(keys[at + i], seed_);
      visit(at, hashes.data(), count, Input::hashes);
    }
  }

  KeySpan keys_;
  std::uint64_t seed_;
};

}  // namespace nestline

#endif  // NESTLINE_LIB_FILTER_KEY_STREAM_H_
