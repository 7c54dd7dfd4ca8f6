// What a Filter is made of; private to the library's own .cc files.
#ifndef NESTLINE_LIB_FILTER_STATE_H_
#define NESTLINE_LIB_FILTER_STATE_H_

#include <cstdint>
#include <filesystem>
#include <memory>
#include <utility>

#include "geometry.h"
#include "hash.h"
#include "kernels.h"
#include "nestline/filter.h"
#include "storage.h"

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

  // Only of a filter that is not a read-only mapping.
  Block* blocks() const { return const_cast<Block*>(view.blocks); }

  BlocksView view;  // with the three that every lookup needs first
  const Kernels* kernels;
  int bits;
  std::uint64_t seed;
  std::uint64_t size = 0;          // keys
  std::uint64_t capacity;          // promised
  std::uint64_t max_capacity = 0;  // up to where it grows by itself; kept for files, unused as yet
  Storage storage;
  std::filesystem::path path;  // of a mapped file
};

// The way to a filter's state for the files that make filters or write them out.
struct FilterAccess {
  static const Filter::State& state(const Filter& filter) { return *filter.state_; }
  static Filter make(std::unique_ptr<Filter::State> state) { return Filter(std::move(state)); }
};

}  // namespace nestline

#endif  // NESTLINE_LIB_FILTER_STATE_H_
