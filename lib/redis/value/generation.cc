#include "lib/redis/value/generation.h"

#include <algorithm>
#include <utility>

namespace nestline::redis {
namespace {

FilterShape filter_shape(const GenerationShape& shape, std::uint64_t seed) {
  return {shape.bits, shape.base_blocks, shape.growth, seed, shape.capacity};
}

Options options_of(const GenerationPlan& plan, std::uint64_t seed,
                   std::pmr::memory_resource* memory) {
  Options options;
  options.capacity = plan.capacity;
  options.bits = plan.bits;
  options.seed = seed;
  options.memory = memory;
  return options;
}

}  // namespace

bool is_valid(const GenerationShape& shape, std::uint64_t keys) {
  return can_exist(filter_shape(shape, 0), keys);
}

Generation::Generation(const GenerationPlan& plan, std::uint64_t seed, std::uint32_t number,
                       std::pmr::memory_resource* memory)
    : filter_(options_of(plan, seed + number, memory)),
      most_growth_(plan.most_growth),
      number_(number) {}

Generation::Generation(const GenerationShape& shape, std::uint64_t seed,
                       std::pmr::memory_resource* memory)
    : filter_(make_empty(filter_shape(shape, seed + shape.number), memory)),
      most_growth_(std::min(shape.most_growth, most_growth_of(shape.bits))),
      number_(shape.number) {}

Generation::Generation(Filter filter, unsigned most_growth, std::uint32_t number) noexcept
    : filter_(std::move(filter)), most_growth_(most_growth), number_(number) {}

bool Generation::may_grow() const noexcept {
  return filter_.growth() < most_growth_ && filter_.memory_bytes() <= kMostBytesToDouble;
}

bool Generation::is_related(const Generation& other) const noexcept {
  return are_related(filter_, other.filter_);
}

Standing Generation::standing(std::uint64_t hash) const noexcept {
  return standing_of(filter_, hash);
}

void Generation::prefetch(std::uint64_t hash) const noexcept { prefetch_home(filter_, hash); }

void Generation::pour(Generation& to, Share& share) noexcept {
  nestline::pour(filter_, to.filter_, share);
}

std::size_t Generation::memory_bytes() const noexcept {
  return filter_.memory_bytes() + bytes_beside_blocks();
}

GenerationShape Generation::shape() const noexcept {
  const FilterShape shape = shape_of(filter_);
  return {shape.bits, shape.growth, most_growth_, shape.base_blocks, shape.capacity, number_};
}

Generation Generation::copy() const { return {filter_.clone(), most_growth_, number_}; }

std::span<const std::byte> Generation::bytes() const noexcept { return block_bytes(filter_); }

bool Generation::load(std::uint64_t offset, std::span<const std::byte> blocks) {
  return replace_blocks(filter_, offset, blocks);
}

}  // namespace nestline::redis
