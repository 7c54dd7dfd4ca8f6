// Reference: the cuckoo filter of the paper (Fan, Andersen, Kaminsky, Mitzenmacher: "Cuckoo Filter:
// Practically Better Than Bloom", CoNEXT 2014), with 8-bit fingerprints and buckets of four slots.
//
// The two buckets of a fingerprint differ by the xor of its hash, so their number is a power of
// two. A bucket is one 32-bit word, compared as a whole. A new fingerprint that finds both buckets
// full throws out a random resident, which goes to its other bucket, and so on, at most kMaxKicks
// times. The fingerprint left over is kept outside the table, and the filter is full.
//
// Batches prefetch as nestline's do: they hash groups of keys and prefetch both buckets of each key
// two groups ahead. Inserts prefetch both buckets too.
#ifndef NESTLINE_BENCH_FILTERS_OTHERS_TEXTBOOK_CUCKOO_H_
#define NESTLINE_BENCH_FILTERS_OTHERS_TEXTBOOK_CUCKOO_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "bench/filters/others/prefetched.h"
#include "bench/support/huge_pages.h"

namespace nestline::bench {

class TextbookCuckoo {
 public:
  // The largest table that fits into `bytes`.
  explicit TextbookCuckoo(std::size_t bytes)
      : buckets_(std::bit_floor(bytes / sizeof(std::uint32_t))), mask_(buckets_.size() - 1) {}

  bool insert(std::uint64_t key) { return insert_at(place_of(key)); }
  [[nodiscard]] bool may_contain(std::uint64_t key) const { return contains_at(place_of(key)); }
  bool erase(std::uint64_t key) { return erase_at(place_of(key)); }

  std::size_t insert(std::span<const std::uint64_t> keys) {
    return each(keys, [&](std::size_t, const Place& place) { return insert_at(place); });
  }
  std::size_t may_contain(std::span<const std::uint64_t> keys, std::span<std::uint8_t> out) const {
    return each(keys, [&](std::size_t i, const Place& place) {
      const bool found = contains_at(place);
      out[i] = found;
      return found;
    });
  }
  std::size_t erase(std::span<const std::uint64_t> keys) {
    return each(keys, [&](std::size_t, const Place& place) { return erase_at(place); });
  }

  [[nodiscard]] std::size_t memory_bytes() const { return buckets_.size() * sizeof(buckets_[0]); }

 private:
  static constexpr std::uint32_t kMaxKicks = 500;
  static constexpr std::uint32_t kBytes = 0x01010101;

  struct Place {
    std::uint64_t bucket;
    std::uint64_t other;
    std::uint32_t fingerprint;
  };

  [[nodiscard]] std::uint64_t other_bucket(std::uint64_t bucket, std::uint32_t fingerprint) const {
    return (bucket ^ fingerprint * std::uint64_t{0x5bd1e995}) & mask_;
  }
  [[nodiscard]] Place place_of(std::uint64_t key) const {
    const std::uint64_t hash = mixed(key);
    // 1 to 255, also from the high half of a product.
    const auto fingerprint = static_cast<std::uint32_t>((hash & 0xffff) * 255 >> 16) + 1;
    const std::uint64_t bucket = hash >> 32 & mask_;
    return {bucket, other_bucket(bucket, fingerprint), fingerprint};
  }

  // Sets the highest bit of each byte that equals the fingerprint. Only the lowest one set is
  // certain to be right.
  static std::uint32_t matches(std::uint32_t bucket, std::uint32_t fingerprint) {
    const std::uint32_t difference = bucket ^ fingerprint * kBytes;
    return (difference - kBytes) & ~difference & kBytes << 7;
  }
  [[nodiscard]] bool contains_at(const Place& place) const {
    const std::uint32_t found = matches(buckets_[place.bucket], place.fingerprint) |
                                matches(buckets_[place.other], place.fingerprint);
    return found != 0 || is_victim(place);
  }
  [[nodiscard]] bool is_victim(const Place& place) const {
    return victim_.fingerprint == place.fingerprint &&
           (victim_.bucket == place.bucket || victim_.bucket == place.other);
  }

  // Replaces one byte of a bucket, a free one or one that matches, by another.
  bool replace(std::uint64_t bucket, std::uint32_t from, std::uint32_t to) {
    const std::uint32_t found = matches(buckets_[bucket], from);
    if (found == 0) return false;
    buckets_[bucket] ^= (from ^ to) << (std::countr_zero(found) - 7);
    return true;
  }

  bool insert_at(const Place& place) {
    if (replace(place.bucket, 0, place.fingerprint)) return true;
    if (replace(place.other, 0, place.fingerprint)) return true;
    if (victim_.fingerprint != 0) return false;
    Place moving = place;
    for (std::uint32_t kicks = 0; kicks < kMaxKicks; ++kicks) {
      random_ = random_ * 6364136223846793005u + 1442695040888963407u;
      const auto shift = static_cast<std::uint32_t>(random_ >> 62) * 8;
      std::uint32_t& bucket = buckets_[moving.bucket];
      const std::uint32_t resident = bucket >> shift & 0xff;
      bucket ^= (resident ^ moving.fingerprint) << shift;
      moving.fingerprint = resident;
      moving.bucket = other_bucket(moving.bucket, resident);
      if (replace(moving.bucket, 0, resident)) return true;
    }
    victim_ = moving;
    return true;
  }

  bool erase_at(const Place& place) {
    if (replace(place.bucket, place.fingerprint, 0)) return true;
    if (replace(place.other, place.fingerprint, 0)) return true;
    if (victim_.fingerprint == 0 || !is_victim(place)) return false;
    victim_ = {};
    return true;
  }

  template <typename Visit>
  std::size_t each(std::span<const std::uint64_t> keys, Visit&& visit) const {
    return for_each_prefetched<Place>(
        keys, [&](std::uint64_t key) { return place_of(key); },
        [&](const Place& place) {
          __builtin_prefetch(&buckets_[place.bucket]);
          __builtin_prefetch(&buckets_[place.other]);
        },
        visit);
  }

  std::vector<std::uint32_t, HugePages<std::uint32_t>> buckets_;
  std::uint64_t mask_;
  std::uint64_t random_ = 1;
  Place victim_{};  // fingerprint 0: none
};

}  // namespace nestline::bench

#endif  // NESTLINE_BENCH_FILTERS_OTHERS_TEXTBOOK_CUCKOO_H_
