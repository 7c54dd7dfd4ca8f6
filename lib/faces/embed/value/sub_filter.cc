#include "lib/faces/embed/value/sub_filter.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <span>
#include <utility>
#include <vector>

namespace nestline { inline namespace v0_3 { namespace redis {
namespace {

Shape filter_shape(const GenerationShape& shape, std::uint64_t seed) {
  return {shape.bits, {shape.base_blocks, shape.growth, shape.placement}, seed, shape.capacity};
}

Options options_of(const SubFilterPlan& plan, std::uint64_t seed,
                   std::pmr::memory_resource* memory) {
  Options options;
  options.capacity = plan.capacity;
  options.bits = plan.bits;
  options.seed = seed;
  options.memory = memory;
  options.turns_over = plan.turns_over;
  return options;
}

}  // namespace

bool is_valid(const GenerationShape& shape, std::uint64_t keys) {
  return can_exist(Kind::filter, filter_shape(shape, 0), keys);
}

SubFilter::SubFilter(const SubFilterPlan& plan, std::uint64_t seed, std::uint32_t number,
                     std::pmr::memory_resource* memory)
    : SubFilter(Filter(options_of(plan, seed + number, memory)), plan.most_growth, number) {}

SubFilter::SubFilter(const GenerationShape& shape, std::uint64_t seed,
                     std::pmr::memory_resource* memory)
    : SubFilter(make_empty(filter_shape(shape, seed + shape.number), memory),
                std::min(shape.most_growth, most_growth_of(shape.bits)), shape.number) {}

SubFilter::SubFilter(Filter filter, unsigned most_growth, std::uint32_t number) noexcept
    : filter_(std::move(filter)),
      filter_shape_(shape_of(filter_)),
      most_growth_(most_growth),
      number_(number) {}

std::size_t SubFilter::memory_bytes() const noexcept {
  return block_bytes() +
         (shared_ ? bytes_beside(shared_->filter) + sizeof(SharedFilter) : bytes_beside(filter_));
}

GenerationShape SubFilter::shape() const noexcept {
  const Geometry& geometry = filter_shape_.geometry;
  return {bits(),     growth(), most_growth_,      geometry.base_blocks,
          capacity(), number_,  geometry.placement};
}

Outcome SubFilter::insert(std::uint64_t hash) noexcept {
  if (!shared_) return filter_.insert(hash).outcome;
  const Outcome outcome = shared_->filter.insert(hash).outcome;
  shared_->keys += outcome == Outcome::stored;
  return outcome;
}

void SubFilter::fill(std::span<const std::uint64_t> hashes, std::span<Outcome> outcomes) {
  assert(!shared_ && size() == 0 && hashes.size() <= capacity());
  nestline::fill(filter_, hashes, outcomes);
}

bool SubFilter::erase(std::uint64_t hash) noexcept {
  if (!shared_) return filter_.erase(hash);
  const bool erased = shared_->filter.erase(hash);
  shared_->keys -= erased;
  return erased;
}

std::size_t SubFilter::erase(std::span<const std::uint64_t> hashes,
                             std::span<std::uint8_t> erased) {
  if (!shared_) return filter_.erase(hashes, erased);
  const std::size_t count = shared_->filter.erase(hashes, erased);
  shared_->keys -= count;
  return count;
}

void SubFilter::clear() noexcept {
  if (shared_) {
    empty(shared_->filter);
    shared_->keys = 0;
  } else {
    filter_.clear();
  }
}

bool SubFilter::may_grow() const noexcept {
  return growth() < most_growth_ && block_bytes() <= kMaxBytesToDouble;
}

bool SubFilter::grow() {
  assert(!shared_);
  const bool grown = filter_.grow();
  filter_shape_ = shape_of(filter_);
  return grown;
}

void SubFilter::migrate(SubFilter& to, Quota& share) noexcept {
  assert(!shared_ && !to.shared_);
  nestline::migrate(filter_, to.filter_, share);
}

SubFilter SubFilter::copy() const {
  return {shared_ ? copy_of(shared_->filter) : filter_.snapshot(), most_growth_, number_};
}

std::span<const std::byte> SubFilter::bytes(std::uint64_t offset, std::size_t length,
                                            std::vector<std::byte>& copy) const {
  if (!shared_) return nestline::block_bytes(filter_).subspan(offset, length);
  copy.resize(length);
  copy_bytes(blocks(), offset, copy);
  return copy;
}

bool SubFilter::load(std::uint64_t offset, std::span<const std::byte> blocks) {
  take_back();
  return replace_bytes(filter_, offset, blocks);
}

SharedFilter::Reader SubFilter::reader(const std::shared_ptr<Notices>& notices) {
  if (!shared_) shared_.reset(new SharedFilter(std::move(filter_), notices));
  shared_->holders.fetch_add(1, std::memory_order_relaxed);
  return SharedFilter::Reader(shared_.get());
}

void SubFilter::take_back() {
  if (!shared_) return;
  // Acquire: what the readers read, they read before this.
  const bool is_alone = shared_->holders.load(std::memory_order_acquire) == 1;
  filter_ = is_alone ? std::move(shared_->filter).freeze() : copy_of(shared_->filter);
  shared_.reset();
}

}}}  // namespace nestline::redis
