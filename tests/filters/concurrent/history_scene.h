// The scenes of histories: small filters in states that are hard for a protocol, with a few tracked
// keys whose hashes are made so that the keys meet.
//
// Class 0 of a scene stands for the fillers, which no thread inserts or erases. Each of them must
// be found at every instant, even while it is being moved. The other classes are tracked one by
// one.
#ifndef NESTLINE_TESTS_FILTERS_CONCURRENT_HISTORY_SCENE_H_
#define NESTLINE_TESTS_FILTERS_CONCURRENT_HISTORY_SCENE_H_

#include <array>
#include <cstdint>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lib/engine/place/geometry.h"
#include "nestline/filter.h"
#include "tests/filters/concurrent/history.h"

namespace nestline::test {

using Random = std::mt19937_64;

// Makes hashes for wanted places. A (fingerprint, bucket offset) that has been drawn is not drawn
// again, so keys of different draws never answer for each other. `bits`: a filter's width, or the
// number of the layout of an expiring one.
class HashSmith {
 public:
  HashSmith(int bits, std::uint64_t base_blocks, Random& random,
            Placement placement = Placement::anywhere)
      : bits_(bits), geometry_{base_blocks, 0, placement}, random_(random) {}

  // The rest of a hash (lib/engine/place/hash.h), which decides fingerprint and bucket offset, with
  // a pair that was not drawn before; `lowest_class`: one of the eviction ranks 0 to 2, the first
  // to be sent away.
  std::uint32_t draw_rest(bool lowest_class = false);
  // A hash with this rest and a home in base `block`; another one at almost every call.
  std::uint64_t hash(std::uint64_t block, std::uint32_t rest);
  [[nodiscard]] Place place(std::uint64_t hash) const;
  [[nodiscard]] std::uint64_t alternate(std::uint64_t hash) const;
  [[nodiscard]] unsigned choices() const { return bits_ == 16 ? 5 : 4; }
  [[nodiscard]] std::uint64_t blocks() const { return geometry_.base_blocks; }
  [[nodiscard]] std::uint64_t any_block() { return random_() % geometry_.base_blocks; }

 private:
  int bits_;
  Geometry geometry_;  // as made, before it grows
  Random& random_;
  std::set<std::pair<std::uint32_t, std::uint32_t>> drawn_;
};

enum class Family : std::uint8_t {
  crossed,   // two keys that are at home in each other's alternate, between two full blocks
  crowded,   // nearly full: displacement, spilling, chains over several blocks
  sparse,    // nearly empty: many copies of few keys
  growing,   // grow(), shrink() and, in every second scene, growth by itself
  clearing,  // clear()
  whole,     // snapshot() and merge()
};

// Bytes, planes beside bytes, halfwords: how threads share blocks is not decided by the width.
inline constexpr std::array kHistoryWidths = {8, 9, 16};
inline constexpr std::array kFamilies = {Family::crossed, Family::crowded,  Family::sparse,
                                         Family::growing, Family::clearing, Family::whole};
const char* name_of(Family family);

struct Scene {
  Family family = Family::crossed;
  std::uint64_t seed = 0;
  std::string name;
  std::optional<Filter> filter;
  std::vector<std::uint64_t> fillers;
  std::vector<KeyClass> classes;
  std::vector<std::vector<std::uint64_t>> hashes;  // of each class but 0: several keys
  // Any thread may erase keys of a loose class at any time. Keys of the other classes are erased,
  // or replaced by update, only by the thread that inserted them.
  std::vector<bool> loose;
  Copies copies{};
  std::optional<Filter> addition;  // for merge
  Copies added{};
  unsigned choices = 0;
  std::uint64_t full_from = 0;

  [[nodiscard]] std::uint64_t others() const { return fillers.empty() ? 0 : fillers.size() - 1; }
};

// An empty filter of this many blocks.
Filter filter_of_blocks(int bits, std::uint64_t blocks);
// Free slots of a block.
int free_slots(const Filter& filter, std::uint64_t block);

// With guest lanes in filters of so few blocks too.
Scene make_scene(Family family, int bits, std::uint64_t seed,
                 Placement placement = Placement::anywhere);

}  // namespace nestline::test

#endif  // NESTLINE_TESTS_FILTERS_CONCURRENT_HISTORY_SCENE_H_
