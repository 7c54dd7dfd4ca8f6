#include "lib/redis/value/family.h"

#include <algorithm>

#include "lib/redis/value/generation_plan.h"

namespace nestline::redis {
namespace {

std::uint64_t keys_of(std::span<const Generation> family) {
  std::uint64_t keys = 0;
  for (const Generation& each : family) keys += each.size();
  return keys;
}

}  // namespace

std::span<const Generation> newest_family(std::span<const Generation> generations) noexcept {
  std::size_t first = generations.size() - 1;
  while (first > 0 && generations[first - 1].is_related(generations.back())) --first;
  return generations.subspan(first);
}

std::uint64_t units_of(std::span<const Generation> family) noexcept {
  std::uint64_t units = 0;
  for (const Generation& each : family) units += each.units();
  return units;
}

std::uint64_t count_in(std::span<const Generation> family, std::uint64_t hash) noexcept {
  std::uint64_t copies = 0;
  for (const Generation& each : family) copies += each.count(hash);
  return copies;
}

bool erase_from(std::span<Generation> family, std::uint64_t hash) noexcept {
  Generation* best = nullptr;
  bool is_alone = true;
  for (Generation& each : family) {
    if (!each.may_contain(hash)) continue;
    is_alone = best == nullptr;
    if (!is_alone) break;
    best = &each;
  }
  if (best == nullptr) return false;
  if (!is_alone) {
    // It matters which of several members it is taken from (lib/filter/lineage.h).
    best = &*std::max_element(family.begin(), family.end(), [&](const auto& a, const auto& b) {
      return a.standing(hash) < b.standing(hash);
    });
  }
  return best->erase(hash);
}

std::vector<Generation> compact_members(std::span<const Generation> family, std::uint64_t seed,
                                        std::pmr::memory_resource* memory) {
  const std::uint64_t keys = keys_of(family);
  if (keys == 0) return {};
  GenerationShape shape = family[0].shape();
  unsigned most_growth = shape.most_growth;
  for (const Generation& each : family) {
    most_growth = std::max(most_growth, each.growth());
  }
  const auto growths = compact_growths(shape.bits, shape.base_blocks, most_growth, keys);
  std::uint64_t units = 0;
  for (const unsigned growth : growths) units += std::uint64_t{1} << growth;
  const std::uint64_t old_units = units_of(family);
  if (units > old_units || (units == old_units && growths.size() >= family.size())) return {};
  std::vector<Generation> members;
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

void move_family(std::vector<Generation>& family, std::vector<Generation>& fresh) noexcept {
  const std::size_t planned = fresh.size() - 1;
  // Each gets an even share of all blocks; otherwise its blocks would be full too early.
  for (std::size_t i = 0; i < planned; ++i) {
    const std::uint64_t rest = keys_of(family);
    if (rest == 0) break;
    const std::uint64_t part = i + 1 == planned ? rest : fresh[i].capacity();
    Share share(std::min(part, rest), rest);
    for (Generation& from : family) from.pour(fresh[i], share);
  }
  // What found no place goes to any member that has some, including the spare one, and then to the
  // smallest.
  const auto pour_all = [](Generation& from, Generation& to) {
    Share all(1, 1);
    if (from.size() != 0) from.pour(to, all);
  };
  for (Generation& to : fresh) {
    for (Generation& from : family) pour_all(from, to);
  }
  std::sort(family.begin(), family.end(),
            [](const Generation& a, const Generation& b) { return a.units() < b.units(); });
  for (std::size_t to = 0; to < family.size(); ++to) {
    for (std::size_t from = to + 1; from < family.size(); ++from) {
      pour_all(family[from], family[to]);
    }
  }
  if (fresh.back().size() == 0) fresh.pop_back();
}

}  // namespace nestline::redis
