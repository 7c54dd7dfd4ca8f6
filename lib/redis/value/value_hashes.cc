// CuckooValue: batches of hashes, for callers that have hashed the items themselves. A chunk of
// kMostFound hashes is worked on at a time; batches of items are cut into the same chunks, hashed,
// and go on as here.
#include <algorithm>
#include <array>
#include <stdexcept>

#include "lib/redis/value/generation_list.h"
#include "lib/redis/value/value.h"

namespace nestline::redis {
namespace {

// Hashes of an erase whose memory is prefetched before the first of them has its turn, and the
// generations, newest first, that this is done for.
constexpr std::size_t kHashesAhead = 16;
constexpr std::size_t kMostAhead = 4;

// Calls each(offset, length) for one chunk after the other.
template <typename Each>
void in_chunks(std::size_t size, const Each& each) {
  for (std::size_t at = 0; at < size; at += kMostFound) each(at, std::min(kMostFound, size - at));
}

}  // namespace

void CuckooValue::check_hashes(std::size_t hashes, std::size_t results) const {
  if (hashes != results) throw std::invalid_argument("hashes and results differ in length");
  if (!tables_.empty()) {
    throw std::invalid_argument(
        "this filter has tables of RedisBloom, which need another hash: send the items themselves");
  }
}

void CuckooValue::exists(std::span<const std::uint64_t> hashes, std::span<std::uint8_t> out) const {
  check_hashes(hashes.size(), out.size());
  in_chunks(hashes.size(), [&](std::size_t at, std::size_t some) {
    exists_some(hashes.subspan(at, some), out.subspan(at, some));
  });
}

// At most kMostFound hashes, and no tables. Slots answer for whatever has no entry in the ledger.
void CuckooValue::exists_some(std::span<const std::uint64_t> hashes,
                              std::span<std::uint8_t> out) const {
  find_in(generations_, hashes, out);
  if (ledger_.empty()) return;
  for (std::size_t i = 0; i < hashes.size(); ++i) {
    if (ledger_.copies(hashes[i]) != 0) out[i] = exists_of({hashes[i], std::nullopt});
  }
}

void CuckooValue::count(std::span<const std::uint64_t> hashes, std::span<std::uint8_t> out) const {
  check_hashes(hashes.size(), out.size());
  in_chunks(hashes.size(), [&](std::size_t at, std::size_t some) {
    count_some(hashes.subspan(at, some), out.subspan(at, some));
  });
}

// The same limits. Copies are counted of those only that are in it, which are found all at once.
void CuckooValue::count_some(std::span<const std::uint64_t> hashes,
                             std::span<std::uint8_t> out) const {
  exists_some(hashes, out);
  for (std::size_t i = 0; i < hashes.size(); ++i) {
    if (out[i] == 0) continue;
    out[i] = static_cast<std::uint8_t>(std::min(kMostCounted, count_of({hashes[i], std::nullopt})));
  }
}

void CuckooValue::add(std::span<const std::uint64_t> hashes, Unless unless, const Limits& limits,
                      std::span<Added> outcomes) {
  check_hashes(hashes.size(), outcomes.size());
  in_chunks(hashes.size(), [&](std::size_t at, std::size_t some) {
    add_some(hashes.subspan(at, some), {}, unless, limits, outcomes.subspan(at, some));
  });
}

void CuckooValue::erase(std::span<const std::uint64_t> hashes, std::span<std::uint8_t> erased) {
  check_hashes(hashes.size(), erased.size());
  std::fill(erased.begin(), erased.end(), std::uint8_t{0});
  const auto prefetch = [&](std::size_t i) {
    if (i < hashes.size()) prefetch_newest(hashes[i], kMostAhead);
  };
  for (std::size_t i = 0; i < kHashesAhead; ++i) prefetch(i);
  for (std::size_t i = 0; i < hashes.size(); ++i) {
    prefetch(i + kHashesAhead);
    erased[i] = erase_item({hashes[i], std::nullopt});
  }
}

}  // namespace nestline::redis
