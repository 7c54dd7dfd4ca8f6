#include "lib/redis/value/generation.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "lib/file/file_format.h"
#include "lib/filter/filter_state.h"
#include "lib/filter/growth.h"

namespace nestline::redis {
namespace {

using State = Filter::State;

FileHeader header_of(const GenerationShape& shape, std::uint64_t seed) {
  FileHeader header;
  header.bits = shape.bits;
  header.geometry = {shape.base_blocks, shape.growth};
  header.seed = seed;
  header.capacity = shape.capacity;
  return header;
}

Filter filter_of(const GenerationShape& shape, std::uint64_t seed,
                 std::pmr::memory_resource* memory) {
  const FileHeader header = header_of(shape, seed);
  if (const auto flaw = check_fields(header)) throw std::invalid_argument(flaw->cause);
  return FilterAccess::make(
      std::make_unique<State>(shape.bits, header.geometry, seed, shape.capacity,
                              Storage::allocate(header.geometry.blocks(), memory), 0));
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
  FileHeader header = header_of(shape, 0);
  header.keys = keys;
  return !check_fields(header);
}

Generation::Generation(const GenerationPlan& plan, std::uint64_t seed, std::uint32_t number,
                       std::pmr::memory_resource* memory)
    : filter_(options_of(plan, seed + number, memory)),
      most_growth_(plan.most_growth),
      number_(number) {}

Generation::Generation(const GenerationShape& shape, std::uint64_t seed,
                       std::pmr::memory_resource* memory)
    : filter_(filter_of(shape, seed + shape.number, memory)),
      most_growth_(shape.most_growth),
      number_(shape.number) {}

Generation::Generation(Filter filter, unsigned most_growth, std::uint32_t number) noexcept
    : filter_(std::move(filter)), most_growth_(most_growth), number_(number) {}

bool Generation::may_grow() const noexcept {
  return filter_.growth() < most_growth_ && filter_.memory_bytes() <= kMostBytesToDouble;
}

std::size_t Generation::memory_bytes() const noexcept {
  return filter_.memory_bytes() + sizeof(State);
}

GenerationShape Generation::shape() const noexcept {
  const Geometry& geometry = FilterAccess::state(filter_).view.geometry;
  return {filter_.bits(),       geometry.growth,    most_growth_,
          geometry.base_blocks, filter_.capacity(), number_};
}

Generation Generation::copy() const {
  return {FilterAccess::make(full_copy(FilterAccess::state(filter_))), most_growth_, number_};
}

std::span<const std::byte> Generation::bytes() const noexcept {
  const State& state = FilterAccess::state(filter_);
  return std::as_bytes(std::span(state.blocks(), state.view.geometry.blocks()));
}

bool Generation::load(std::uint64_t offset, std::span<const std::byte> blocks) {
  const std::uint64_t all = bytes().size();
  if (offset % kBlockBytes != 0 || blocks.size() % kBlockBytes != 0 || offset > all ||
      blocks.size() > all - offset) {
    return false;
  }
  std::vector<Block> fresh(blocks.size() / kBlockBytes);  // aligned, as the check wants them
  if (fresh.empty()) return true;
  std::memcpy(fresh.data(), blocks.data(), blocks.size());
  const std::uint64_t first = offset / kBlockBytes;
  const FileHeader header = header_of(shape(), filter_.seed());
  ContentCheck incoming(header, {});
  if (incoming.blocks(first, fresh)) return false;

  auto state = FilterAccess::take(std::move(filter_));
  Block* const place = state->blocks() + first;
  ContentCheck outgoing(header, {});
  (void)outgoing.blocks(first, {place, fresh.size()});
  std::copy(fresh.begin(), fresh.end(), place);
  state->size += incoming.counted() - outgoing.counted();
  filter_ = FilterAccess::make(std::move(state));
  return true;
}

}  // namespace nestline::redis
