// What a Filter is made of: data, and the numbers derived from it. filter_table.h makes from it the
// table that works on its blocks.
#ifndef NESTLINE_LIB_FILTER_FILTER_STATE_H_
#define NESTLINE_LIB_FILTER_FILTER_STATE_H_

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string_view>
#include <utility>

#include "lib/filter/growth_patience.h"
#include "lib/filter/storage.h"
#include "lib/kernels/kernels.h"
#include "lib/place/geometry.h"
#include "lib/place/hash.h"
#include "nestline/filter.h"

namespace nestline {

struct Filter::State {
  State(int bits_, const Geometry& geometry, std::uint64_t seed_, std::uint64_t capacity_,
        Storage storage_, std::size_t offset)
      : view{reinterpret_cast<const Block*>(storage_.bytes().data() + offset), geometry,
             derive_secrets(seed_)},
        kernels(&kernels_for(bits_)),
        bits(bits_),
        seed(seed_),
        capacity(capacity_),
        storage(std::move(storage_)) {}

  // Only for a filter that is not a read-only mapping.
  Block* blocks() const { return const_cast<Block*>(view.blocks); }

  template <typename Key>
  [[nodiscard]] std::uint64_t hash(Key key) const {
    return hash_key(key, view.secrets, seed);
  }

  // Whether it still grows automatically, and whether it has to grow before the next key.
  [[nodiscard]] bool grows_by_itself() const {
    return max_capacity > capacity && view.geometry.growth < max_growth(bits);
  }
  [[nodiscard]] bool is_due_to_grow() const { return size >= capacity && grows_by_itself(); }

  BlocksView view;  // contains the three members that every lookup needs first
  const Kernels* kernels;
  int bits;
  std::uint64_t seed;
  std::uint64_t size = 0;           // keys; a ConcurrentFilter counts them elsewhere (key_count.h)
  std::uint64_t capacity;           // promised
  std::uint64_t max_capacity = 0;   // how far it grows automatically
  mutable GrowthPatience patience;  // begins when growing fails
  Storage storage;
  std::filesystem::path path;  // of a mapped file
};

std::uint64_t slots(const Filter::State& state);

// Keys / slots, and the expected false-positive rate, for `keys` keys.
double load_factor(const Filter::State& state, std::uint64_t keys);
double expected_fpr(const Filter::State& state, std::uint64_t keys);

// Access to a filter's state for the files that make filters or write them out.
struct FilterAccess {
  static const Filter::State& state(const Filter& filter) { return *filter.state_; }
  static std::unique_ptr<Filter::State> take(Filter&& filter) { return std::move(filter.state_); }
  static Filter make(std::unique_ptr<Filter::State> state) { return Filter(std::move(state)); }
};

}  // namespace nestline

#endif  // NESTLINE_LIB_FILTER_FILTER_STATE_H_
