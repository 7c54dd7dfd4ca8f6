#include "lib/filters/filter/folding.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "lib/engine/kernels/build_kernels.h"
#include "lib/filters/filter/bulk_build.h"
#include "lib/filters/filter/growth.h"
#include "lib/filters/filter/sizing.h"

namespace nestline { inline namespace v0_3 {
namespace {

#if NESTLINE_SMALL
// Places all residents one by one. False: one of them found no room.
template <class L>
bool fold_by_inserts(const Blocks& from, std::uint32_t times, Blocks& made) {
  const std::uint64_t blocks = from.view.geometry.blocks();
  for (std::uint64_t i = 0; i < blocks; ++i) {
    raise_mark(from.view.blocks[i], made.blocks()[i >> times]);
  }
  for (std::uint64_t i = 0; i < blocks; ++i) {
    for (std::uint32_t slot = 0; slot < L::kSlots; ++slot) {
      const std::uint32_t fingerprint = L::get(from.view.blocks[i], slot);
      if (fingerprint == 0) continue;
      const std::uint32_t offset = L::bucket_offset_at(fingerprint, slot);
      const Place place = {i >> times, bucket_of(made.bits, fingerprint, offset), fingerprint,
                           offset};
      if (made.engine->of_filters().operations.alone.insert_at(made.view, place) !=
          Outcome::stored) {
        return false;
      }
    }
  }
  return true;
}
#else
// Fills the blocks of a maplet one by one, then places the residents that could not keep their
// slots. False: one of them found no room.
template <class L>
bool fold_by_inserts(const Blocks& from, std::uint32_t times, Blocks& made) {
  struct Left {
    Place place;
    typename L::Value value;
  };
  std::vector<Left> left;
  for (std::uint64_t i = 0; i < made.view.geometry.blocks(); ++i) {
    Block& to = made.blocks()[i];
    std::uint64_t free = L::kAllSlots;
    for (std::uint64_t child = i << times; child < (i + 1) << times; ++child) {
      Block block;  // a reader may lock that of `from` meanwhile
      copy_shared<kBlockBytes>(from.view.blocks[child].bytes.data(), block.bytes.data());
      raise_mark(block, to);
      std::uint64_t slots = L::kAllSlots & ~made.engine->block.free_slots(block);
      if ((slots & ~free) == 0) {
        for (std::size_t byte = 0; byte < kBlockBytes - 8; byte += 8) {
          set_word_at(to, byte, word_at(to, byte) | word_at(block, byte));
        }
        for (std::size_t byte = kBlockBytes - 8; byte < kOverflowMarkByte; ++byte) {
          to.bytes[byte] |= block.bytes[byte];
        }
        free &= ~slots;
        continue;
      }
      for (; slots != 0; slots &= slots - 1) {
        const std::uint32_t slot = first_slot(slots);
        const std::uint32_t fingerprint = L::get(block, slot);
        if ((free >> slot & 1) != 0) {
          L::set(to, slot, fingerprint, L::value(block, slot));
          free ^= std::uint64_t{1} << slot;
          continue;
        }
        const std::uint32_t bucket_offset = L::bucket_offset_at(fingerprint, slot);
        left.push_back({{i, L::bucket(fingerprint, bucket_offset), fingerprint, bucket_offset},
                        L::value(block, slot)});
      }
    }
  }
  const MapletOperations& operations = made.engine->of_maplets().operations.one_writer;
  return std::ranges::all_of(left, [&](const Left& one) {
    return operations.insert_at(made.view, one.place, one.value) == Outcome::stored;
  });
}
#endif

}  // namespace

Folding most_folding(const Shape& shape, std::uint64_t keys, std::uint32_t most) {
  Folding folding{0, shape.capacity};
  Geometry geometry = shape.geometry;
  for (; folding.times < std::min(most, shape.geometry.growth); ++folding.times) {
    --geometry.growth;
    const std::uint64_t capacity = shrunk_capacity(shape.bits, geometry, folding.capacity);
    if (keys > capacity) break;
    folding.capacity = capacity;
  }
  return folding;
}

OwnedBlocks folded(const Blocks& state, const Folding& folding) {
  Shape shape = state.shape();
  shape.geometry.growth -= folding.times;
  shape.capacity = folding.capacity;
  const std::uint64_t max_capacity = std::exchange(shape.max_capacity, 0);  // it must not grow now
  auto made = make_blocks(shape, state.storage.memory());
  const auto by_inserts = [&](auto layout) {
    return fold_by_inserts<decltype(layout)>(state, folding.times, *made);
  };
#if NESTLINE_SMALL
  const bool has_all = visit_layout(made->bits, by_inserts);
#else
  const bool has_all = is_maplet(made->bits) ? visit_maplet_layout(made->bits, by_inserts)
                                             : fold_in_bulk(state, folding.times, made);
#endif
  if (!has_all) return nullptr;
  made->size = state.size;
  made->max_capacity = max_capacity;
  made->set_shrink_below(state.shrink_below);
  return made;
}

OwnedBlocks fitted(const Blocks& state, std::uint32_t most) {
  const Folding wanted = most_folding(state.shape(), state.size, most);
  for (Folding folding = wanted; folding.times != 0;
       folding = most_folding(state.shape(), state.size, folding.times - 1)) {
    auto made = folded(state, folding);
    if (!made) continue;
    // What finds no room at once may find it one by one.
    for (std::uint32_t left = wanted.times - folding.times; left != 0; --left) {
      auto more = folded(*made, most_folding(made->shape(), made->size, 1));
      if (!more) break;
      made = std::move(more);
    }
    return made;
  }
  return nullptr;
}

// What makes the larger one of two filters as large as the other; none if that is not needed, or
// leaves the keys of both too little room.
static Folding folding_for_merge(const Shape& one, const Shape& other, std::uint64_t keys) {
  const bool is_one = one.geometry.growth > other.geometry.growth;
  const std::uint32_t times = is_one ? one.geometry.growth - other.geometry.growth
                                     : other.geometry.growth - one.geometry.growth;
  const Folding folding = most_folding(is_one ? one : other, keys, times);
  return folding.times == times ? folding : Folding{};
}

bool can_merge_folded(Shape into, std::uint64_t into_keys, Shape other, std::uint64_t other_keys,
                      std::string* why) {
  const Folding folding = folding_for_merge(into, other, into_keys + other_keys);
  (into.geometry.growth > other.geometry.growth ? into : other).geometry.growth -= folding.times;
  return can_merge(into, other, why);
}

Alike folded_alike(const Blocks& one, const Blocks& other, std::uint64_t keys) {
  const Folding folding = folding_for_merge(one.shape(), other.shape(), keys);
  if (folding.times == 0 || !can_merge_folded(one.shape(), keys, other.shape(), 0, nullptr)) {
    return {&one, &other, nullptr};
  }
  const bool is_one = one.view.geometry.growth > other.view.geometry.growth;
  OwnedBlocks made = folded(is_one ? one : other, folding);
  if (!made) return {&one, &other, nullptr};
  const Blocks* const smaller = made.get();
  return {is_one ? smaller : &one, is_one ? &other : smaller, std::move(made)};
}

OwnedBlocks merged_folded(const Blocks& into, const Blocks& other, Copies copies,
                          std::uint64_t& left_out) {
  const Alike both = folded_alike(into, other, into.size + other.size);
  if (both.one->view.geometry.growth != both.other->view.geometry.growth &&
      can_merge_folded(into.shape(), into.size, other.shape(), other.size, nullptr)) {
    throw std::length_error("the larger filter cannot be folded: too many copies of a key");
  }
  return merged(*both.one, *both.other, copies, left_out);
}

OwnedBlocks shrunk_if_possible(const Blocks& state) noexcept {
  try {
    if (auto made = fitted(state, 1)) return made;
  } catch (const std::bad_alloc&) {
  }
  state.shrinking_size = state.size / 2;
  return nullptr;
}

bool Filter::can_shrink() const noexcept {
  return most_folding(state_->shape(), state_->size, 1).times != 0;
}

bool Filter::shrink() {
  auto made = fitted(*state_, 1);
  if (!made) return false;
  state_ = std::move(made);
  return true;
}

unsigned Filter::fit() {
  auto made = fitted(*state_);
  if (!made) return 0;
  const unsigned times = growth() - made->view.geometry.growth;
  state_ = std::move(made);
  return times;
}

}}  // namespace nestline
