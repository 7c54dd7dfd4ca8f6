// The index: hash of a key to addresses of records: every pair is found until it is erased. Nearly
// all pairs are in a maplet; what it refuses (more than 16 keys that look the same, no memory to
// grow) in the overflow, a tree under a lock. An atomic tells readers that it is empty. Lookups are
// for every thread at any time; one thread at a time changes the index.
#ifndef NESTLINE_LIB_STORE_INDEX_H_
#define NESTLINE_LIB_STORE_INDEX_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <shared_mutex>
#include <utility>
#include <vector>

#include "nestline/maplet.h"

namespace nestline { inline namespace v0_3 {

class Overflow {
 public:
  using Pairs = std::multimap<std::uint64_t, std::uint64_t>;

  [[nodiscard]] bool is_empty() const { return count_.load(std::memory_order_acquire) == 0; }
  [[nodiscard]] std::size_t size() const { return count_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::vector<std::uint64_t> find(std::uint64_t hash) const;
  [[nodiscard]] Pairs copy() const;
  void reserve(std::size_t pairs);  // for so many calls of insert(), which then cannot fail
  // That memory: the caller may take it away again.
  [[nodiscard]] Pairs& spare() noexcept { return spare_; }
  void insert(std::uint64_t hash, std::uint64_t address) noexcept;
  void add(const auto& pairs) {
    reserve(pairs.size());
    for (const auto& [hash, address] : pairs) insert(hash, address);
  }
  bool replace(std::uint64_t hash, std::uint64_t old_address, std::uint64_t address) noexcept;
  bool erase(std::uint64_t hash, std::uint64_t address) noexcept;

 private:
  [[nodiscard]] Pairs::iterator locate(std::uint64_t hash, std::uint64_t address) noexcept;
  mutable std::shared_mutex mutex_;
  Pairs pairs_;
  Pairs spare_;  // nodes for insert()
  std::atomic<std::size_t> count_{0};
};

class Index {
 public:
  // For so many pairs; 0: that is not known.
  explicit Index(std::uint64_t capacity);
  explicit Index(Maplet pairs) : maplet(std::move(pairs)) {}

  // Calls with(address) for each candidate until it returns true; returns whether it did.
  bool any(std::uint64_t hash, auto&& with) const {
    std::array<std::uint64_t, Maplet::kMaxCandidates> values;
    const std::size_t count = maplet.find(Hash{hash}, values);
    for (std::size_t i = 0; i < count; ++i) {
      if (with(values[i])) return true;
    }
    if (overflow.is_empty()) return false;
    const std::vector<std::uint64_t> more = overflow.find(hash);
    return std::ranges::any_of(more, with);
  }

  [[nodiscard]] bool contains(std::uint64_t hash, std::uint64_t address) const {
    return any(hash, [&](std::uint64_t value) { return value == address; });
  }

  void reserve(std::size_t pairs = 1) { overflow.reserve(pairs); }
  void insert(std::uint64_t hash, std::uint64_t address) noexcept {
    if (!maplet.insert(Hash{hash}, address)) overflow.insert(hash, address);
  }
  bool replace(std::uint64_t hash, std::uint64_t old_address, std::uint64_t address) noexcept {
    return maplet.replace(Hash{hash}, old_address, address) ||
           (!overflow.is_empty() && overflow.replace(hash, old_address, address));
  }
  bool erase(std::uint64_t hash, std::uint64_t address) noexcept {
    return maplet.erase(Hash{hash}, address) ||
           (!overflow.is_empty() && overflow.erase(hash, address));
  }

  // Until a new index, with sharper tags, is made in place of a further doubling.
  [[nodiscard]] unsigned doublings_left() const {
    return kMaxDoublings - std::min(kMaxDoublings, maplet.growth());
  }
  [[nodiscard]] bool is_worn() const { return doublings_left() == 0; }
  // Tags have 20 bits. Each doubling of the maplet costs one.
  static constexpr unsigned kMaxDoublings = 4;
  static constexpr std::uint64_t kUnknownCapacity = 65'536;
  static constexpr std::uint64_t kMinCapacity = 300;
  Maplet maplet;
  Overflow overflow;
};

}}  // namespace nestline

#endif  // NESTLINE_LIB_STORE_INDEX_H_
