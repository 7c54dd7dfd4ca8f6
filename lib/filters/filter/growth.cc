#include "lib/filters/filter/growth.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

#include "lib/engine/kernels/build_kernels.h"
#include "lib/filters/filter/sizing.h"

namespace nestline { inline namespace v0_3 {
namespace {

// An empty filter like `state`, from the same source, with this geometry and capacity.
OwnedBlocks fresh(const Blocks& state, const Geometry& geometry, std::uint64_t capacity) {
  Shape shape = state.shape();
  shape.geometry = geometry;
  shape.capacity = capacity;
  auto made = make_blocks(shape, state.storage.memory());
  made->set_shrink_below(state.shrink_below);
  return made;
}

#if !NESTLINE_SMALL
// Where a doubling takes a bit of the low byte, a child's guest level covers what that of its
// parent covers of its classes. Then those settle, twice, that have high marks or are open, since
// it is low marks that close others: else both would be twice as many after each doubling.
void settle(const Blocks& state, Blocks& made) {
  const auto classes_of = [](const Blocks& of, std::uint64_t block) {
    return block_classes(of.bits, of.view.geometry, block);
  };
  const bool splits = classes_of(made, 0).shift() != classes_of(state, 0).shift();
  const std::uint64_t blocks = made.view.geometry.blocks();
  for (std::uint64_t i = 0; i < blocks; ++i) {
    Block& child = made.blocks()[i];
    const std::uint32_t level = child.guest_level();
    if (splits && level != 0) child.set_guest_level(level_of_child(level, i % 2 != 0));
    // It covers nobody.
    if (child.overflow_mark() < classes_of(made, i).first()) child.set_overflow_mark(0);
  }
  for (std::uint64_t n = 0; n < 2 * blocks; ++n) {
    const std::uint64_t i = n % blocks;
    const Block& child = made.blocks()[i];
    const std::uint32_t often_away = classes_of(state, i / 2).often_away();
    if (child.overflow_mark() > often_away || is_open_level(child.guest_level())) {
      made.engine->build->settle(made.view, i, often_away);
    }
  }
}
#endif

bool can_grow(int bits, const Geometry& geometry) {
  return geometry.growth < max_growth(bits) && geometry.blocks() <= kMaxBlocks / 2;
}

std::span<const Block> blocks_of(const Blocks& state) {
  return {state.view.blocks, static_cast<std::size_t>(state.view.geometry.blocks())};
}

template <typename Number>
std::string difference(const char* what, const char* differ, Number into, Number other) {
  std::string sentence = "filters can be merged only when they have ";
  sentence.append(what).append("; these have ").append(differ).append(" ");
  return sentence.append(std::to_string(into)).append(" and ").append(std::to_string(other));
}

[[noreturn]] void refuse_room(Outcome outcome) {
  throw std::length_error(
      outcome == Outcome::too_many_copies
          ? "the filters cannot be merged: together they hold more copies of one key, or of keys "
            "that look the same, than find place"
          : "the filters cannot be merged: together they hold more keys than find room; they can "
            "be when both have grown once more");
}

// Overwrites all blocks of `to` with those of `from`, and sets lock and version to 0.
void copy_blocks(const Blocks& from, Blocks& to) {
  Block* block = to.blocks();
  for (const Block& source : blocks_of(from)) {
    copy_shared<kBlockBytes>(source.bytes.data(), block->bytes.data());  // a reader may lock it
    BlockLocks::forget_version(*block);
    ++block;
  }
}

// The order in which fingerprints are added.
//   by_block   one pass over the memory. Evictions from the first blocks fill the last ones before
//              their own turn: unions of up to 97.5 % of the slots have always fitted, few from
//              98.5 % on.
//   by_slot    the first slots of all blocks, then the second ones, and so on: one pass for each
//              slot. Fits as much as single inserts do.
enum class Order : std::uint8_t { by_block, by_slot };

// Makes the union in the blocks of `made`, and counts the copies that are not in it. Any outcome
// but stored means that a fingerprint found no room and the blocks are unusable.
//
// A copy that finds no room lacks it because of copies where there are nearly as many as a bucket
// has slots, or with Copies::most nearly as many as there can be. by_slot decides that, when
// nothing more can be tried. Among blocks full of copies each search takes 10 to 50 us, and most
// find nothing: once many copies were left out, those that need a search are left out without one.
constexpr std::uint64_t kManySearches = 4096;
Outcome unite(const Blocks& into, const Blocks& other, Order order, Copies copies, Blocks& made) {
  copy_blocks(into, made);
  const std::uint64_t keys = into.size + other.size;
  made.size = keys;
  const auto from = blocks_of(other);
  // All marks first: a key that is away in `other` stays away, so its home's mark must cover it.
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::uint8_t& mark = made.blocks()[i].bytes[kOverflowMarkByte];
    mark = std::max(mark, from[i].bytes[kOverflowMarkByte]);
  }
  return visit_any_layout(made.bits, [&](auto layout) {
    using L = decltype(layout);
    const auto count = [&](const Place& place) {
      if constexpr (L::kHasValues) {
        return made.engine->of_maplets().operations.one_writer.count(made.view, place, nullptr);
      } else {
        return made.engine->of_filters().operations.alone.count(made.view, place, nullptr);
      }
    };
    const auto insert = [&](const Place& place, typename L::Value value) {
      if constexpr (L::kHasValues) {
        return made.engine->of_maplets().operations.one_writer.insert_at(made.view, place, value);
      } else {
        return made.engine->of_filters().operations.alone.insert_at(made.view, place);
      }
    };
    const std::size_t all = from.size() * L::kSlots;
    for (std::size_t i = 0; i < all; ++i) {
      const std::size_t block = order == Order::by_block ? i / L::kSlots : i % from.size();
      const auto slot =
          static_cast<std::uint32_t>(order == Order::by_block ? i % L::kSlots : i / from.size());
      const std::uint32_t fingerprint = L::get(from[block], slot);
      if (fingerprint == 0) continue;
      const std::uint32_t bucket_offset = L::bucket_offset_at(fingerprint, slot);
      const Place place = home_of_resident<L>(
          from[block], block_classes(made.bits, made.view.geometry, block), made,
          {block, bucket_of(made.bits, fingerprint, bucket_offset), fingerprint, bucket_offset},
          slot);
      const bool in_both = copies == Copies::most && !has_guest_lanes(made.view.geometry);
      const std::uint32_t crowd = in_both ? L::kMaxCopies : L::kChoices;
      const auto is_crowded = [&] { return order == Order::by_slot && count(place) + 1 >= crowd; };
      const auto has_way = [&](const Place& to) {
        return bool{made.engine->block.find_path_to_free(
            made.blocks()[to.block], to, native_of(made.view.geometry),
            block_classes(made.bits, made.view.geometry, to.block))};
      };
      const bool is_in_vain = keys - made.size >= kManySearches && is_crowded() &&
                              !has_way(place) && !has_way(moved(made.view.geometry, place));
      Outcome outcome =
          is_in_vain ? Outcome::too_many_copies : *insert(place, L::value(from[block], slot));
      if (!L::kHasValues && outcome == Outcome::full && has_guest_lanes(made.view.geometry)) {
        outcome = open_alternates(made, place);
      }
      if (outcome == Outcome::stored) continue;
      if (is_crowded()) outcome = Outcome::too_many_copies;
      if (outcome == Outcome::full || copies == Copies::all) return outcome;
      --made.size;
    }
    return Outcome::stored;
  });
}

}  // namespace

void open_for(Blocks& into, const Place& place) {
#if !NESTLINE_SMALL
  const Engine& engine = *into.engine;
  const BlockClasses classes = block_classes(into.bits, into.view.geometry, place.block);
  Block& block = into.blocks()[place.block];
  engine.build->open(block, classes, place.fingerprint);
  if (engine.block.find_path_to_free(block, place, Residence::native, classes)) return;
  engine.build->open(into.blocks()[moved(into.view.geometry, place).block], classes,
                     place.fingerprint);
#else
  (void)into, (void)place;  // there are no guest lanes
#endif
}

Outcome open_alternates(Blocks& made, const Place& home) {
#if !NESTLINE_SMALL
  const BlockClasses classes = block_classes(made.bits, made.view.geometry, home.block);
  std::array<std::uint32_t, 64> residents{};
  visit_layout(made.bits, [&](auto layout) {
    for (std::uint32_t slot = 0; slot < layout.kSlots; ++slot) {
      residents[slot] = layout.get(made.blocks()[home.block], slot);
    }
  });
  for (const bool higher : {true, false}) {
    for (const std::uint32_t fingerprint : residents) {
      if (fingerprint == 0 || higher != (class_of(fingerprint) > classes.often_away())) continue;
      const Place away = moved(made.view.geometry, {home.block, 0, fingerprint, 0});
      made.engine->build->open(made.blocks()[away.block], classes, fingerprint);
      const Result outcome = made.engine->of_filters().operations.alone.insert_at(made.view, home);
      if (outcome == Outcome::stored) return Outcome::stored;
    }
  }
#else
  (void)made, (void)home;
#endif
  return Outcome::full;
}

OwnedBlocks grown(const Blocks& state) {
  const Geometry& geometry = state.view.geometry;
  if (!can_grow(state.bits, geometry)) return nullptr;
  const Geometry doubled{geometry.base_blocks, geometry.growth + 1, geometry.placement};
  auto made = fresh(state, doubled, grown_capacity(state.bits, doubled, state.capacity));
  const auto from = blocks_of(state);
  state.engine->split(from.data(), from.size(), geometry.growth, made->blocks());
#if !NESTLINE_SMALL
  if (has_guest_lanes(doubled)) settle(state, *made);
#endif
  made->size = state.size;
  return made;
}

std::pair<Geometry, std::uint64_t> doubled_for(const Blocks& empty, std::uint64_t keys) {
  Geometry geometry = empty.view.geometry;
  std::uint64_t capacity = empty.capacity;
  while (capacity < std::min(keys, empty.max_capacity) && can_grow(empty.bits, geometry)) {
    ++geometry.growth;
    capacity = grown_capacity(empty.bits, geometry, capacity);
  }
  return {geometry, capacity};
}

OwnedBlocks grown_for(OwnedBlocks empty, std::uint64_t keys) {
  const auto [geometry, capacity] = doubled_for(*empty, keys);
  return geometry.growth == empty->view.geometry.growth ? std::move(empty)
                                                        : fresh(*empty, geometry, capacity);
}

OwnedBlocks grown_if_possible(const Blocks& state) noexcept {
  try {
    if (auto doubled = grown(state)) return doubled;
  } catch (const std::bad_alloc&) {
  }
  state.patience.begin();
  return nullptr;
}

bool try_to_grow(OwnedBlocks& state, std::uint64_t keys) noexcept {
  if (state->patience.waits(keys)) return false;
  auto doubled = grown_if_possible(*state);
  if (!doubled) return false;
  state = std::move(doubled);
  return true;
}

bool can_merge(const Shape& into, const Shape& other, std::string* why) {
  const Geometry& a = into.geometry;
  const Geometry& b = other.geometry;
  const bool alike = into.bits == other.bits && into.seed == other.seed &&
                     a.base_blocks == b.base_blocks && a.growth == b.growth &&
                     a.placement == b.placement;
  if (alike || why == nullptr) return alike;
  if (into.bits != other.bits) {
    *why = fingerprint_bits(into.bits) == fingerprint_bits(other.bits)
               ? difference("values of the same width", "bits", value_bits_of(into.bits),
                            value_bits_of(other.bits))
               : difference("fingerprints of the same width", "bits", fingerprint_bits(into.bits),
                            fingerprint_bits(other.bits));
  } else if (into.seed != other.seed) {
    *why = difference("the same seed", "the seeds", into.seed, other.seed);
  } else if (a.base_blocks != b.base_blocks) {
    *why = difference("begun with the same number of blocks", "begun with", a.base_blocks,
                      b.base_blocks);
  } else if (a.placement != b.placement) {
    *why = difference("turns_over alike, so the same hash version", "versions",
                      hash_version(a.placement), hash_version(b.placement));
  } else {
    *why =
        difference("doubled equally often (grow the smaller one)", "doubled", a.growth, b.growth);
  }
  return false;
}

OwnedBlocks merged(const Blocks& into, const Blocks& other, Copies copies,
                   std::uint64_t& left_out) {
  std::string why;
  if (!can_merge(into.shape(), other.shape(), &why)) throw std::invalid_argument(why);
  const std::uint64_t keys = into.size + other.size;
  auto made = empty_copy(into);
  Outcome outcome = unite(into, other, Order::by_block, copies, *made);
  // More copies than there are slots for do not fit in any order.
  if (outcome == Outcome::full) outcome = unite(into, other, Order::by_slot, copies, *made);
  if (outcome != Outcome::stored) refuse_room(outcome);
  left_out = keys - made->size;
  made->key_kinds = united_key_kinds(into, other);
  return made;
}

std::uint32_t united_key_kinds(const Blocks& one, const Blocks& other) {
  for (const Blocks* filter : {&one, &other}) {
    if (filter->size != 0 && filter->key_kinds == 0) return 0;
  }
  return one.key_kinds | other.key_kinds;
}

OwnedBlocks empty_copy(const Blocks& state) {
  return fresh(state, state.view.geometry, state.capacity);
}

OwnedBlocks full_copy(const Blocks& state) {
  auto made = empty_copy(state);
  copy_blocks(state, *made);
  made->size = state.size;
  return made;
}

OwnedBlocks ready_for_copy(const Shape& shape, std::pmr::memory_resource* memory) {
  auto made = make_blocks(shape, memory);
  made->storage.touch();
  return made;
}

bool copy_into(const Blocks& state, Blocks& to) noexcept {
  if (!can_merge(state.shape(), to.shape(), nullptr)) return false;
  copy_blocks(state, to);
  to.size = state.size;
  to.capacity = state.capacity;
  to.max_capacity = state.max_capacity;
  to.key_kinds = state.key_kinds;
  to.set_shrink_below(state.shrink_below);
  return true;
}

}}  // namespace nestline
