#include "lib/faces/embed/value/sub_filter_list.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory_resource>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

namespace nestline { inline namespace v0_3 { namespace redis {
namespace {

std::uint64_t keys_of(std::span<const SubFilter> family) {
  std::uint64_t keys = 0;
  for (const SubFilter& each : family) keys += each.size();
  return keys;
}

// One more than the highest number. If that is the last possible one, as it may be in a value from
// elsewhere: the lowest free one. In two families with one number the same items would look alike.
std::uint32_t next_number(const std::vector<SubFilter>& sub_filters) {
  constexpr std::uint32_t kLast = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t next = 0;
  bool is_last_taken = false;
  std::vector<bool> taken(sub_filters.size());
  for (const SubFilter& sub_filter : sub_filters) {
    const std::uint32_t number = sub_filter.number();
    is_last_taken = is_last_taken || number == kLast;
    if (number != kLast) next = std::max(next, number + 1);
    if (number < taken.size()) taken[number] = true;
  }
  if (!is_last_taken) return next;
  return static_cast<std::uint32_t>(std::ranges::find(taken, false) - taken.begin());
}

// Moves a sub_filter of another value into its family where that has room; whether all found room.
bool unite(std::vector<SubFilter>& sub_filters, SubFilter& other) {
  for (SubFilter& each : sub_filters) {
    if (!each.is_related(other)) continue;
    if (each.size() + other.size() > each.capacity()) continue;
    Quota all(1, 1);
    other.migrate(each, all);
    if (other.size() == 0) return true;
    // There are more copies of something than there is room for: they have to stay by themselves.
  }
  return false;
}

// Where a further one is put: next to its family, else before the newest family, which grows.
std::vector<SubFilter>::iterator place_for(std::vector<SubFilter>& sub_filters,
                                           const SubFilter& other) {
  const auto related = std::ranges::find_if(
      sub_filters, [&](const SubFilter& each) { return each.is_related(other); });
  if (related != sub_filters.end()) return related;
  if (sub_filters.empty()) return sub_filters.end();
  return sub_filters.end() - static_cast<std::ptrdiff_t>(newest_family(sub_filters).size());
}

// What a lookup asks.
const SubFilter& asked(const SubFilter& sub_filter) { return sub_filter; }
const ConcurrentFilter& asked(const SharedFilter::Reader& reader) { return reader->filter; }

template <class Each>
void find_in_each(std::span<const Each> sub_filters, std::span<const std::uint64_t> hashes,
                  std::span<std::uint8_t> out) {
  if (sub_filters.empty()) {
    std::ranges::fill(out, std::uint8_t{0});
    return;
  }
  // All of them are looked up in the newest one where they lie: mostly there is no other.
  asked(sub_filters.back()).may_contain(hashes, out);
  if (sub_filters.size() == 1) return;
  std::array<std::uint64_t, kMaxHashes> left;
  std::array<std::uint16_t, kMaxHashes> positions;  // of those left, in `hashes`
  std::array<std::uint8_t, kMaxHashes> found;
  std::size_t count = 0;
  for (std::size_t i = 0; i < hashes.size(); ++i) {
    left[count] = hashes[i];
    positions[count] = static_cast<std::uint16_t>(i);
    count += out[i] == 0;
  }
  for (auto sub_filter = sub_filters.rbegin() + 1; sub_filter != sub_filters.rend(); ++sub_filter) {
    asked(*sub_filter)
        .may_contain(std::span<const std::uint64_t>(left.data(), count),
                     std::span(found.data(), count));
    std::size_t kept = 0;
    for (std::size_t i = 0; i < count; ++i) {
      out[positions[i]] = found[i];
      left[kept] = left[i];
      positions[kept] = positions[i];
      kept += found[i] == 0;
    }
    count = kept;
  }
}

}  // namespace

std::span<const SubFilter> newest_family(std::span<const SubFilter> sub_filters) noexcept {
  std::size_t first = sub_filters.size() - 1;
  while (first > 0 && sub_filters[first - 1].is_related(sub_filters.back())) --first;
  return sub_filters.subspan(first);
}

std::uint64_t units_of(std::span<const SubFilter> family) noexcept {
  std::uint64_t units = 0;
  for (const SubFilter& each : family) units += each.units();
  return units;
}

std::uint64_t count_in(std::span<const SubFilter> family, std::uint64_t hash) noexcept {
  std::uint64_t copies = 0;
  for (const SubFilter& each : family) copies += each.count(hash);
  return copies;
}

bool erase_from(std::span<SubFilter> family, std::uint64_t hash) noexcept {
  SubFilter* best = nullptr;
  bool is_alone = true;
  for (SubFilter& each : family) {
    if (!each.may_contain(hash)) continue;
    is_alone = best == nullptr;
    if (!is_alone) break;
    best = &each;
  }
  if (best == nullptr) return false;
  if (!is_alone) {
    // It matters which of several members it is taken from (lib/faces/embed/lineage.h).
    best = &*std::ranges::max_element(
        family, [&](const auto& a, const auto& b) { return a.standing(hash) < b.standing(hash); });
  }
  return best->erase(hash);
}

std::vector<SubFilter> compact_members(std::span<const SubFilter> family, std::uint64_t seed,
                                       std::pmr::memory_resource* memory) {
  const std::uint64_t keys = keys_of(family);
  if (keys == 0) return {};
  GenerationShape shape = family[0].shape();
  unsigned most_growth = shape.most_growth;
  for (const SubFilter& each : family) {
    most_growth = std::max(most_growth, each.growth());
  }
  const auto growths = compact_growths(shape.bits, shape.base_blocks, most_growth, keys);
  std::uint64_t units = 0;
  for (const unsigned growth : growths) units += std::uint64_t{1} << growth;
  const std::uint64_t old_units = units_of(family);
  if (units > old_units || (units == old_units && growths.size() >= family.size())) return {};
  std::vector<SubFilter> members;
  members.reserve(growths.size() + 1);
  const auto append = [&](unsigned growth) {
    shape.growth = growth;
    shape.capacity = capacity_of(shape.bits, shape.base_blocks, growth);
    members.emplace_back(shape, seed, memory);
  };
  for (const unsigned growth : growths) append(growth);
  append(0);
  return members;
}

void move_family(std::vector<SubFilter>& family, std::vector<SubFilter>& fresh) noexcept {
  const std::size_t planned = fresh.size() - 1;
  // Each gets an even share of all blocks; otherwise its blocks would be full too early.
  for (std::size_t i = 0; i < planned; ++i) {
    const std::uint64_t rest = keys_of(family);
    if (rest == 0) break;
    const std::uint64_t part = i + 1 == planned ? rest : fresh[i].capacity();
    Quota share(std::min(part, rest), rest);
    for (SubFilter& from : family) from.migrate(fresh[i], share);
  }
  // What found no place goes to any member that has some, the spare one too, then to the smallest.
  const auto pour_all = [](SubFilter& from, SubFilter& to) {
    Quota all(1, 1);
    if (from.size() != 0) from.migrate(to, all);
  };
  for (SubFilter& to : fresh) {
    for (SubFilter& from : family) pour_all(from, to);
  }
  std::ranges::sort(family, {}, &SubFilter::units);
  for (std::size_t to = 0; to < family.size(); ++to) {
    for (std::size_t from = to + 1; from < family.size(); ++from) {
      pour_all(family[from], family[to]);
    }
  }
  if (fresh.back().size() == 0) fresh.pop_back();
}

void append_generation(std::vector<SubFilter>& sub_filters, const Settings& settings,
                       std::uint64_t first, std::pmr::memory_resource* memory) {
  Billionths used = 0;
  std::uint64_t keys = 0;
  for (const SubFilter& sub_filter : sub_filters) {
    used += rate_when_full(sub_filter.bits(), sub_filter.growth(), settings.turns_over);
    keys += sub_filter.size();
  }
  SubFilterPlan plan = plan_generation(settings, used, first);
  if (!sub_filters.empty()) {
    GenerationShape shape = sub_filters.back().shape();
    const auto growth =
        next_growth(settings, units_of(newest_family(sub_filters)), shape.most_growth);
    if (growth) {
      shape.growth = *growth;
      shape.capacity = capacity_of(shape.bits, shape.base_blocks, *growth);
    }
    // A value from elsewhere may already have as many blocks as a filter can have.
    if (growth && is_valid(shape, 0)) {
      sub_filters.emplace_back(shape, settings.seed, memory);
      return;
    }
    plan = plan_family(settings, used, keys);
  }
  sub_filters.emplace_back(plan, settings.seed, next_number(sub_filters), memory);
}

std::vector<SubFilter> united(std::span<const SubFilter> ours, std::span<const SubFilter> others,
                              std::uint64_t most) {
  std::vector<SubFilter> both;
  both.reserve(ours.size() + others.size());
  for (const SubFilter& sub_filter : ours) both.push_back(sub_filter.copy());
  for (const SubFilter& sub_filter : others) {
    SubFilter copy = sub_filter.copy();
    if (unite(both, copy)) continue;
    const auto place = place_for(both, copy);
    both.insert(place, std::move(copy));
    if (both.size() > most) {
      throw std::invalid_argument(
          "together they need more filters than a key may have (cf-max-expansions)");
    }
  }
  return both;
}

bool drop_empty(std::vector<SubFilter>& sub_filters, std::size_t most_bytes) noexcept {
  const auto is_empty = [](const SubFilter& each) { return each.size() == 0; };
  if (std::ranges::none_of(sub_filters, is_empty)) return false;
  for (std::size_t i = sub_filters.size(); i-- > 0 && sub_filters.size() > 1;) {
    if (is_empty(sub_filters[i]) && sub_filters[i].block_bytes() <= most_bytes) {
      sub_filters.erase(sub_filters.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  return std::ranges::any_of(sub_filters, is_empty);
}

void find_in(std::span<const SubFilter> sub_filters, std::span<const std::uint64_t> hashes,
             std::span<std::uint8_t> out) {
  find_in_each(sub_filters, hashes, out);
}

void find_in(std::span<const SharedFilter::Reader> filters, std::span<const std::uint64_t> hashes,
             std::span<std::uint8_t> out) {
  find_in_each(filters, hashes, out);
}

std::uint16_t place_alone(std::span<const SubFilter> sub_filters, std::uint64_t hash) noexcept {
  if (sub_filters.size() == 1) return 0;
  for (const SubFilter& each : sub_filters) each.prefetch(hash);
  std::uint16_t place = kInNone;
  for (std::size_t i = sub_filters.size(); i-- > 0;) {
    if (!sub_filters[i].may_contain(hash)) continue;
    if (place != kInNone) return kInSeveral;
    place = static_cast<std::uint16_t>(i);
  }
  return place;
}

void places_alone(std::span<const SubFilter> sub_filters, std::span<const std::uint64_t> hashes,
                  std::span<std::uint16_t> places) {
  using Bitmap = std::array<std::uint64_t, kMaxHashes / 64>;
  const std::size_t words = (hashes.size() + 63) / 64;
  Bitmap found;
  Bitmap in_one{};
  std::ranges::fill(places, kInNone);
  for (std::size_t i = 0; i < sub_filters.size(); ++i) {
    sub_filters[i].may_contain_bits(hashes, std::span(found).first(words));
    for (std::size_t word = 0; word < words; ++word) {
      const auto set = [&](std::uint64_t bits, std::size_t place) {
        for (; bits != 0; bits &= bits - 1) {
          places[64 * word + static_cast<std::size_t>(std::countr_zero(bits))] =
              static_cast<std::uint16_t>(place);
        }
      };
      set(found[word] & ~in_one[word], i);
      set(found[word] & in_one[word], kInSeveral);
      in_one[word] |= found[word];
    }
  }
}

std::array<std::uint8_t, 2> two_places(std::span<const SubFilter> sub_filters,
                                       std::uint64_t hash) noexcept {
  constexpr std::size_t kMost = 256;
  std::size_t first = 0;
  for (std::size_t i = 0, found = 0; i < std::min(kMost, sub_filters.size()); ++i) {
    if (found != 0 && sub_filters[i].is_related(sub_filters[first])) continue;
    if (!sub_filters[i].may_contain(hash)) continue;
    if (found++ != 0) return {static_cast<std::uint8_t>(first), static_cast<std::uint8_t>(i)};
    first = i;
  }
  return {};
}

Compaction::Compaction(std::span<const SubFilter> sub_filters, std::uint64_t seed,
                       std::pmr::memory_resource* memory) {
  std::size_t most = sub_filters.size();
  for_each_family(sub_filters, [&](std::span<const SubFilter> family) {
    families_.push_back({{}, compact_members(family, seed, memory), family.size()});
    families_.back().old.reserve(family.size());
    most += families_.back().fresh.size();
  });
  compacted_.reserve(most);
}

void Compaction::carry_out(std::vector<SubFilter>& sub_filters) noexcept {
  const auto append = [](auto from, auto to, std::vector<SubFilter>& target) {
    target.insert(target.end(), std::make_move_iterator(from), std::make_move_iterator(to));
  };
  auto next = sub_filters.begin();
  for (Family& family : families_) {
    const auto end = next + static_cast<std::ptrdiff_t>(family.members);
    if (family.fresh.empty()) {
      append(next, end, compacted_);
    } else {
      append(next, end, family.old);
      move_family(family.old, family.fresh);
      const auto left = std::remove_if(family.old.begin(), family.old.end(),
                                       [](const auto& each) { return each.size() == 0; });
      append(family.old.begin(), left, compacted_);
      append(family.fresh.begin(), family.fresh.end(), compacted_);
    }
    next = end;
  }
  sub_filters = std::move(compacted_);
}

}}}  // namespace nestline::redis
