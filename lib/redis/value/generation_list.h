// The generations of a value as a list, oldest first: how a further one comes, how the lists of two
// values become one, and how a list becomes shorter. Those of a family always stand side by side.
#ifndef NESTLINE_LIB_REDIS_VALUE_GENERATION_LIST_H_
#define NESTLINE_LIB_REDIS_VALUE_GENERATION_LIST_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory_resource>
#include <span>
#include <vector>

#include "lib/redis/value/generation.h"
#include "lib/redis/value/settings.h"

namespace nestline::redis {

/// Appends a further one: of the newest family, or else of a family of its own. `first` is the
/// capacity of the first one of all. Throws std::bad_alloc, nothing being changed.
void append_generation(std::vector<Generation>& generations, const Settings& settings,
                       std::uint64_t first, std::pmr::memory_resource* memory);

/// Copies of all in `ours`, with everything in `others` moved to those of its family that have room
/// for a whole one, or put beside them. Throws std::invalid_argument when they are more than `most`
/// then, and std::bad_alloc. O(memory of both).
std::vector<Generation> united(std::span<const Generation> ours, std::span<const Generation> others,
                               std::uint64_t most);

/// Drops those that are empty and take no more memory than this, except for the last one left, so
/// that the next item finds one.
void drop_empty(std::vector<Generation>& generations,
                std::size_t most_bytes = std::numeric_limits<std::size_t>::max()) noexcept;

/// Moves what is in each family together into few members that are nearly full, in two steps, of
/// which only the first can fail. What is in the generations may change between them, not the list.
class Compaction {
 public:
  /// Makes the new members. Throws std::bad_alloc.
  Compaction(std::span<const Generation> generations, std::uint64_t seed,
             std::pmr::memory_resource* memory);
  /// Once, for the same generations.
  void carry_out(std::vector<Generation>& generations) noexcept;

 private:
  struct Family {
    std::vector<Generation> old;    // room for all of them
    std::vector<Generation> fresh;  // none: it stays as it is
    std::size_t members;
  };

  std::vector<Family> families_;
  std::vector<Generation> compacted_;  // room for all that can be left
};

}  // namespace nestline::redis

#endif  // NESTLINE_LIB_REDIS_VALUE_GENERATION_LIST_H_
