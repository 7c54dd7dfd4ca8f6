// The sub-filters of a value as a list, oldest first: how it grows, unites with another, shrinks.
//
// A family, or compatible group, is the sub-filters of one lineage, which stand next to each other.
// It counts and erases as one filter.
#ifndef NESTLINE_LIB_FACES_EMBED_VALUE_SUB_FILTER_LIST_H_
#define NESTLINE_LIB_FACES_EMBED_VALUE_SUB_FILTER_LIST_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory_resource>
#include <span>
#include <vector>

#include "lib/faces/embed/value/sub_filter.h"

namespace nestline { inline namespace v0_3 { namespace redis {

/// Calls visit(family), a span of sub-filters, for each family, oldest first.
template <class Each, typename Visit>
void for_each_family(std::span<Each> sub_filters, Visit&& visit) {
  while (!sub_filters.empty()) {
    std::size_t members = 1;
    while (members < sub_filters.size() && sub_filters[members].is_related(sub_filters[0])) {
      ++members;
    }
    visit(sub_filters.first(members));
    sub_filters = sub_filters.subspan(members);
  }
}

std::span<const SubFilter> newest_family(std::span<const SubFilter> sub_filters) noexcept;
std::uint64_t units_of(std::span<const SubFilter> family) noexcept;
/// Copies of the item that the family seems to hold.
std::uint64_t count_in(std::span<const SubFilter> family, std::uint64_t hash) noexcept;
/// Removes one copy; false when there is none. Only for items that are in the family.
bool erase_from(std::span<SubFilter> family, std::uint64_t hash) noexcept;

/// New, empty members for a family: those of compact_growths, and a spare one that has not doubled.
/// None if that saves neither memory nor members. Throws std::bad_alloc.
std::vector<SubFilter> compact_members(std::span<const SubFilter> family, std::uint64_t seed,
                                       std::pmr::memory_resource* memory);

/// Moves a family's members into those that compact_members made. Copies beyond what one filter
/// holds go to the spare one, dropped if it stays empty, or stay in as few old ones as can be.
void move_family(std::vector<SubFilter>& family, std::vector<SubFilter>& fresh) noexcept;

/// Appends one: a member of the newest family, or else the first of a new family. `first` is the
/// capacity of the very first sub_filter. Throws std::bad_alloc; the list is then unchanged.
void append_generation(std::vector<SubFilter>& sub_filters, const Settings& settings,
                       std::uint64_t first, std::pmr::memory_resource* memory);

/// Copies of `ours`, and each of `others` inside one of its family that has room, or next to it.
/// Throws std::invalid_argument when there are more than `most`, std::bad_alloc. O(memory).
std::vector<SubFilter> united(std::span<const SubFilter> ours, std::span<const SubFilter> others,
                              std::uint64_t most);

/// Drops empty ones of at most so much memory, but keeps one. Whether an empty one is left.
bool drop_empty(std::vector<SubFilter>& sub_filters,
                std::size_t most_bytes = std::numeric_limits<std::size_t>::max()) noexcept;

inline constexpr std::size_t kMaxHashes = 1024;  ///< The most hashes of one find_in.
/// Calls each(offset, length) for one chunk of at most kMaxHashes after the other.
template <typename Each>
void in_chunks(std::size_t size, const Each& each) {
  for (std::size_t at = 0; at < size; at += kMaxHashes) each(at, std::min(kMaxHashes, size - at));
}

/// Looks up the hashes in all of these, newest first: out[i] is 1 if one shows hashes[i], else 0.
void find_in(std::span<const SubFilter> sub_filters, std::span<const std::uint64_t> hashes,
             std::span<std::uint8_t> out);
void find_in(std::span<const SharedFilter::Reader> filters, std::span<const std::uint64_t> hashes,
             std::span<std::uint8_t> out);

/// Where an item is: the index of the only sub_filter that shows it, or one of these.
inline constexpr std::uint16_t kInNone = 65535;
/// Several show it. (Or the only one has this index: callers then treat the item as one that
/// several show, which is slower and also right.)
inline constexpr std::uint16_t kInSeveral = 65534;
[[nodiscard]] std::uint16_t place_alone(std::span<const SubFilter> sub_filters,
                                        std::uint64_t hash) noexcept;
/// The same for at most kMaxHashes.
void places_alone(std::span<const SubFilter> sub_filters, std::span<const std::uint64_t> hashes,
                  std::span<std::uint16_t> places);
/// The first sub_filter that shows the item, and the first of another family; 0, 0 if not below
/// 256.
[[nodiscard]] std::array<std::uint8_t, 2> two_places(std::span<const SubFilter> sub_filters,
                                                     std::uint64_t hash) noexcept;

/// Moves the content of each family into few members that are nearly full. Only the constructor can
/// fail. Until carry_out the content of the sub-filters may change, but not the list.
class Compaction {
 public:
  /// Makes the new members. Throws std::bad_alloc.
  Compaction(std::span<const SubFilter> sub_filters, std::uint64_t seed,
             std::pmr::memory_resource* memory);
  /// Moves the content. To be called once, for the same sub-filters.
  void carry_out(std::vector<SubFilter>& sub_filters) noexcept;

 private:
  struct Family {
    std::vector<SubFilter> old;    // room for all of them
    std::vector<SubFilter> fresh;  // none: the family stays as it is
    std::size_t members;
  };

  std::vector<Family> families_;
  std::vector<SubFilter> compacted_;  // room for all that can be left
};

}}}  // namespace nestline::redis

#endif  // NESTLINE_LIB_FACES_EMBED_VALUE_SUB_FILTER_LIST_H_
