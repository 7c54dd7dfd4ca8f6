// Families: generations of one value that are related and lie next to each other in its list. For
// counting and erasing an item, a family is one filter.
#ifndef NESTLINE_LIB_REDIS_VALUE_FAMILY_H_
#define NESTLINE_LIB_REDIS_VALUE_FAMILY_H_

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <vector>

#include "lib/redis/value/generation.h"

namespace nestline::redis {

/// Calls visit(family), a span of generations, for each family, oldest first.
template <class Each, typename Visit>
void for_each_family(std::span<Each> generations, Visit&& visit) {
  while (!generations.empty()) {
    std::size_t members = 1;
    while (members < generations.size() && generations[members].is_related(generations[0])) {
      ++members;
    }
    visit(generations.first(members));
    generations = generations.subspan(members);
  }
}

/// The family of the newest generation.
std::span<const Generation> newest_family(std::span<const Generation> generations) noexcept;

/// The units of all members together.
std::uint64_t units_of(std::span<const Generation> family) noexcept;

/// Copies of the item that the family seems to hold.
std::uint64_t count_in(std::span<const Generation> family, std::uint64_t hash) noexcept;

/// Removes one copy; false when there is none. Only for items that are in the family.
bool erase_from(std::span<Generation> family, std::uint64_t hash) noexcept;

/// New, empty members for a family: as many and as large as compact_growths says, and a spare one
/// that has not doubled. None if that saves neither memory nor members. Throws std::bad_alloc.
std::vector<Generation> compact_members(std::span<const Generation> family, std::uint64_t seed,
                                        std::pmr::memory_resource* memory);

/// Moves what is in the members of a family to those that compact_members made for it. Copies of an
/// item beyond what one filter can hold go to the spare one, which is dropped if it stays empty.
/// Copies that find no place there either stay in as few of the old members as possible; the other
/// old members are then empty.
void move_family(std::vector<Generation>& family, std::vector<Generation>& fresh) noexcept;

}  // namespace nestline::redis

#endif  // NESTLINE_LIB_REDIS_VALUE_FAMILY_H_
