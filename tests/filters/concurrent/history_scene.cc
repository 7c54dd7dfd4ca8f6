#include "tests/filters/concurrent/history_scene.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

#include "lib/engine/place/layout.h"
#include "lib/filters/filter/blocks.h"
#include "lib/filters/filter/sizing.h"

namespace nestline::test {

std::uint32_t HashSmith::draw_rest(bool lowest_class) {
  for (;;) {
    const auto rest = static_cast<std::uint32_t>(random_());
    const Place drawn = place(hash(0, rest));
    if (lowest_class && eviction_rank(drawn.fingerprint) > 2) continue;
    if (drawn_.insert({drawn.fingerprint, drawn.bucket_offset}).second) return rest;
  }
}

// The product of hash and base_blocks has the base in its high 64 bits and the rest in the 32 bits
// below: the lowest hash with that product or more, and one of the few that follow it.
std::uint64_t HashSmith::hash(std::uint64_t block, std::uint32_t rest) {
  const std::uint64_t bases = geometry_.base_blocks;
  const Wide product = static_cast<Wide>(block) << 64 | static_cast<Wide>(rest) << 32;
  const auto lowest = static_cast<std::uint64_t>((product + bases - 1) / bases);
  return lowest + random_() % ((std::uint64_t{1} << 32) / bases - 1);
}

Place HashSmith::place(std::uint64_t hash) const {
  return visit_any_layout(bits_,
                          [&](auto layout) { return home_of<decltype(layout)>(geometry_, hash); });
}

std::uint64_t HashSmith::alternate(std::uint64_t hash) const {
  return alternate_of(geometry_, place(hash));
}

const char* name_of(Family family) {
  constexpr std::array kNames = {"crossed", "crowded", "sparse", "growing", "clearing", "whole"};
  return kNames[static_cast<std::size_t>(family)];
}

Filter filter_of_blocks(int bits, std::uint64_t blocks) {
  Filter filter({.capacity = safe_keys(bits, Geometry{blocks, 0}), .bits = bits});
  if (FilterAccess::blocks(filter).view.geometry.blocks() != blocks) {
    throw std::logic_error("a filter for safe_keys of n blocks does not have n blocks");
  }
  return filter;
}

int free_slots(const Filter& filter, std::uint64_t block) {
  const auto& state = FilterAccess::blocks(filter);
  return std::popcount(state.engine->block.free_slots(state.view.blocks[block]));
}

namespace {

std::uint64_t slots_of(int bits) {
  return visit_layout(bits, [](auto layout) { return std::uint64_t{layout.kSlots}; });
}

// An empty filter of these options, whose keys are placed so.
Filter filter_of(const Options& options, Placement placement) {
  Shape shape = decide_size(options).shape(options.seed);
  shape.geometry.placement = placement;
  return FilterAccess::make(make_blocks(shape, nullptr));
}

class Builder {
 public:
  Builder(Scene& scene, int bits, Random& random)
      : scene_(scene),
        random_(random),
        smith_(bits, FilterAccess::blocks(*scene.filter).view.geometry.base_blocks, random,
               FilterAccess::blocks(*scene.filter).view.geometry.placement),
        slots_(static_cast<double>(smith_.blocks() * slots_of(bits))) {
    scene_.choices = smith_.choices() - (has_lanes() ? 1 : 0);
    constexpr unsigned kMost = std::numeric_limits<std::uint8_t>::max();
    scene_.classes.push_back({kNoPartner, kMost, kMost});
    scene_.hashes.emplace_back();
    scene_.loose.push_back(false);
  }

  // Adds a class of its own (fingerprint, bucket offset); returns its number.
  std::size_t add_class(std::uint64_t block, bool loose) {
    return add_class(block, smith_.draw_rest(), loose);
  }

  // Adds two classes that are each other's home and alternate. Their homes.
  std::pair<std::uint64_t, std::uint64_t> add_partners(bool lowest_class) {
    for (;;) {
      const std::uint32_t rest = smith_.draw_rest(lowest_class);
      const std::uint64_t home = smith_.any_block();
      const std::uint64_t away = smith_.alternate(smith_.hash(home, rest));
      if (home == away) continue;
      const std::size_t first = add_class(home, rest, false);
      const std::size_t second = add_class(away, rest, false);
      scene_.classes[first].partner = static_cast<int>(second);
      scene_.classes[second].partner = static_cast<int>(first);
      return {home, away};
    }
  }

  // Stores a copy of a class, if that is possible.
  bool store(std::size_t key) {
    const auto& hashes = scene_.hashes[key];
    const bool stored{filter().insert(Hash{hashes[random_() % hashes.size()]})};
    scene_.copies[key] = static_cast<std::uint8_t>(scene_.copies[key] + stored);
    return stored;
  }
  void unstore(std::size_t key) {
    if (scene_.copies[key] == 0) return;
    filter().erase(Hash{scene_.hashes[key].front()});
    --scene_.copies[key];
  }

  bool fill(std::uint64_t block) {
    const std::uint64_t hash = smith_.hash(block, smith_.draw_rest());
    if (!filter().insert(Hash{hash})) return false;
    scene_.fillers.push_back(hash);
    return true;
  }
  // Fills the block until it has no free slot.
  void fill_up(std::uint64_t block) {
    for (int tries = 0; tries < 200 && free_slots(filter(), block) > 0; ++tries) fill(block);
  }
  // Fills all blocks evenly until the filter has this load, not counting growth, or is full.
  void fill_to(double load) {
    while (static_cast<double>(filter().size()) < load * slots_ && fill(smith_.any_block()))
      continue;
  }
  // Removes a filler whose home is `block`, if there is one.
  void unfill(std::uint64_t block) {
    auto& fillers = scene_.fillers;
    const auto found = std::find_if(fillers.begin(), fillers.end(), [&](std::uint64_t hash) {
      return smith_.place(hash).block == block;
    });
    if (found == fillers.end()) return;
    filter().erase(Hash{*found});
    fillers.erase(found);
  }

  // For merge: copies of the tracked keys, and a few others.
  void add_addition(const Options& options) {
    scene_.addition.emplace(
        filter_of(options, FilterAccess::blocks(filter()).view.geometry.placement));
    for (std::size_t key = 1; key < scene_.classes.size(); ++key) {
      if (random_() % 2 != 0) continue;
      scene_.added[key] = scene_.addition->insert(Hash{scene_.hashes[key].front()}) ? 1 : 0;
    }
    const std::uint64_t others = 1 + random_() % 4;
    for (std::uint64_t i = 0; i < others; ++i) {
      (void)scene_.addition->insert(Hash{smith_.hash(smith_.any_block(), smith_.draw_rest())});
    }
  }

  Filter& filter() { return *scene_.filter; }
  HashSmith& smith() { return smith_; }

 private:
  bool has_lanes() { return has_guest_lanes(FilterAccess::blocks(filter()).view.geometry); }

  std::size_t add_class(std::uint64_t block, std::uint32_t rest, bool loose) {
    scene_.hashes.emplace_back();
    for (int i = 0; i < 3; ++i) scene_.hashes.back().push_back(smith_.hash(block, rest));
    const bool has_alternate = smith_.alternate(scene_.hashes.back().front()) != block;
    const unsigned limit = (has_alternate ? 2 : 1) * smith_.choices();
    const unsigned least = smith_.choices() - (has_alternate ? 0 : 1);
    scene_.classes.push_back({kNoPartner, limit, has_lanes() ? least : limit});
    scene_.loose.push_back(loose);
    return scene_.classes.size() - 1;
  }

  Scene& scene_;
  Random& random_;
  HashSmith smith_;
  double slots_;
};

// x is class 1 with home a, y class 2 with home b. Often the beginning of the construct that makes
// validation necessary: x away in b, b full, a free slot in a (design.md, section 7).
void build_crossed(Builder& builder, Random& random) {
  const auto [a, b] = builder.add_partners(random() % 4 != 0);
  builder.add_class(a, random() % 2 == 0);
  builder.add_class(b, random() % 2 == 0);
  for (std::uint64_t i = builder.smith().blocks(); i-- > 0;) {
    const std::uint64_t fillings = random() % 30;
    if (i != a && i != b) {
      for (std::uint64_t n = 0; n < fillings; ++n) builder.fill(i);
    }
  }
  if (random() % 2 == 0) {
    builder.fill_up(a);
    for (std::uint64_t copies = 1 + random() % 2; copies-- > 0;) builder.store(1);
    builder.fill_up(b);
    for (std::uint64_t holes = 1 + random() % 2; holes-- > 0;) builder.unfill(a);
    return;
  }
  const std::uint64_t steps = 40 + random() % 150;
  for (std::uint64_t step = 0; step < steps; ++step) {
    const std::uint64_t what = random() % 32;
    if (what < 4) {
      builder.store(1 + what);
    } else if (what < 8) {
      builder.unstore(what - 3);
    } else if (what < 10) {
      builder.unfill(what == 8 ? a : b);
    } else {
      builder.fill(what % 2 == 0 ? a : b);
    }
  }
}

void build_crowded(Builder& builder, Random& random, double lowest, double highest) {
  const bool one_home = random() % 2 == 0;
  std::uint64_t home = builder.smith().any_block();
  if (builder.smith().blocks() > 1 && random() % 2 == 0) home = builder.add_partners(true).first;
  for (int i = 0; i < 4; ++i) {
    builder.add_class(one_home ? home : builder.smith().any_block(), random() % 3 == 0);
  }
  const double share = static_cast<double>(random() % 1000) / 1000;
  builder.fill_to(lowest + (highest - lowest) * share);
  for (int i = 0; i < 4; ++i) builder.store(1 + random() % 4);
  for (std::uint64_t i = random() % 4; i > 0; --i) builder.unfill(builder.smith().any_block());
}

void build_sparse(Builder& builder, Random& random) {
  if (builder.smith().blocks() > 1) builder.add_partners(random() % 2 == 0);
  const std::uint64_t home = builder.smith().any_block();
  for (int i = 0; i < 2; ++i) builder.add_class(home, random() % 2 == 0);
  for (std::uint64_t i = random() % 8; i > 0; --i) builder.fill(home);
  // Close to the limit of copies now and then.
  for (std::uint64_t i = random() % 3 == 0 ? 6 + random() % 6 : random() % 3; i > 0; --i) {
    builder.store(1 + random() % 2);
  }
}

}  // namespace

Scene make_scene(Family family, int bits, std::uint64_t seed, Placement placement) {
  Random random(seed * 64 + static_cast<std::uint64_t>(bits) * 8 +
                static_cast<std::uint64_t>(family));
  Scene scene;
  scene.family = family;
  scene.seed = seed;
  const std::uint64_t blocks = family == Family::crossed ? 2 + random() % 4 : 1 + random() % 8;
  Options options = {.capacity = safe_keys(bits, Geometry{blocks, 0}), .bits = bits};
  if (family == Family::growing && random() % 2 == 0) options.max_capacity = 2 * options.capacity;
  scene.filter.emplace(filter_of(options, placement));
  Builder builder(scene, bits, random);
  switch (family) {
    case Family::crossed:
      build_crossed(builder, random);
      break;
    case Family::crowded:
      build_crowded(builder, random, 0.85, 1.0);
      break;
    case Family::sparse:
      build_sparse(builder, random);
      break;
    case Family::growing:
      build_crowded(builder, random, 0.5, options.max_capacity == 0 ? 0.97 : 1.5);
      break;
    case Family::clearing:
      // A thread cannot know which of its keys clear leaves, so no thread owns any key.
      for (int i = 0; i < 4; ++i) builder.add_class(builder.smith().any_block(), true);
      builder.fill_to(0.9);
      for (int i = 0; i < 4; ++i) builder.store(1 + random() % 4);
      break;
    case Family::whole:
      build_crowded(builder, random, 0.3, 0.95);
      builder.add_addition(options);
      break;
  }
  const auto& view = FilterAccess::blocks(*scene.filter).view;
  scene.copies[0] = scene.fillers.empty() ? 0 : 1;
  // Even with all tracked keys at home in one block there is room below this load.
  const std::uint64_t most =
      std::max(options.max_capacity, view.geometry.blocks() * slots_of(bits));
  scene.full_from = most * 6 / 10;
  scene.name = std::string(name_of(family)) + ", " + std::to_string(bits) + " bits, " +
               std::to_string(view.geometry.blocks()) + " blocks";
  return scene;
}

}  // namespace nestline::test
