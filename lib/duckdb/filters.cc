#include "lib/duckdb/filters.h"

#include <stdexcept>
#include <utility>

namespace nestline::inline v0_2::duckdb {
Filters& Filters::of_process() {
  static auto* const filters = new Filters();
  return *filters;
}

std::shared_ptr<const Filter> Filters::open(std::span<const std::byte> bytes) {
  if (bytes.size() < sizeof(Identity)) (void)Filter::load(bytes);  // throws
  // A handle is its own identity.
  const Identity identity = BlobFilter::identity_of(bytes);
  {
    const std::lock_guard lock(mutex_);
    if (const auto place = places_.find(identity); place != places_.end()) {
      kept_.splice(kept_.begin(), kept_, place->second);
      return kept_.front().filter;
    }
  }
  if (bytes.size() == sizeof(Identity)) {
    throw std::runtime_error(
        "nestline: the filter of this handle has gone: open it in the statement");
  }
  return keep(identity, std::make_shared<const Filter>(Filter::load(bytes)));
}

std::shared_ptr<const Filter> Filters::keep(const Identity& identity,
                                            std::shared_ptr<const Filter> filter) {
  std::list<Kept> gone;  // freed without the lock
  std::list<Kept> one;
  one.push_back({identity, std::move(filter)});
  const std::lock_guard lock(mutex_);
  const auto [place, is_new] = places_.try_emplace(identity, one.begin());
  if (!is_new) return place->second->filter;  // of a thread that was faster
  kept_.splice(kept_.begin(), one);
  bytes_ += kept_.front().filter->memory_bytes();
  while (kept_.size() > 1 && (kept_.size() > kMaxFilters || bytes_ > kMaxBytes)) {
    places_.erase(kept_.back().identity);
    bytes_ -= kept_.back().filter->memory_bytes();
    gone.splice(gone.begin(), kept_, std::prev(kept_.end()));
  }
  return kept_.front().filter;
}

}  // namespace nestline::inline v0_2::duckdb
