#include "lib/sqlite/hash_collector.h"

#include <algorithm>

#include "lib/sqlite/api.h"

namespace nestline::sqlite {
namespace {

// Sorts, and drops what goes beyond kCopies of a hash.
void drop_surplus(std::vector<Hash>& hashes) {
  std::sort(hashes.begin(), hashes.end(), [](Hash a, Hash b) { return a.value < b.value; });
  std::size_t kept = 0;
  for (const Hash hash : hashes) {
    const bool is_surplus =
        kept >= HashCollector::kCopies && hashes[kept - HashCollector::kCopies].value == hash.value;
    if (!is_surplus) hashes[kept++] = hash;
  }
  hashes.resize(kept);
}

}  // namespace

bool HashCollector::has_much_surplus() const {
  constexpr std::size_t kTooFewForASample = std::size_t{1} << 20;
  if (hashes_.size() < kTooFewForASample) return true;
  constexpr int kBits = 6;
  std::vector<Hash> sample;
  for (const Hash hash : hashes_) {
    if (hash.value >> (64 - kBits) == 0) sample.push_back(hash);
  }
  drop_surplus(sample);
  // Of 2^20 rows the sample has 2^14, with a deviation of 0.8 %.
  constexpr double kEnough = 0.97;
  return static_cast<double>(sample.size()) <
         kEnough * static_cast<double>(hashes_.size() >> kBits);
}

void HashCollector::make_room(std::uint64_t most) {
  constexpr std::size_t kFirst = 1024;
  if (has_much_surplus()) drop_surplus(hashes_);
  if (hashes_.size() > most) throw TooBig();
  if (hashes_.size() > hashes_.capacity() / 2) hashes_.reserve(2 * hashes_.capacity());
  if (hashes_.capacity() == 0) hashes_.reserve(kFirst);
}

const std::vector<Hash>& HashCollector::finish() {
  if (has_much_surplus()) drop_surplus(hashes_);
  return hashes_;
}

}  // namespace nestline::sqlite
