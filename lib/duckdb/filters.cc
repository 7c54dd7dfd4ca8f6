#include "lib/duckdb/filters.h"

#include <algorithm>

#include "lib/embed/bytes.h"

namespace nestline::inline v0_2::duckdb {

Filters::Opened Filters::open(std::span<const std::byte> bytes) {
  const bool is_handle = bytes.size() == sizeof(Handle) && get<std::uint32_t>(bytes, 0) == kMark;
  if (!is_handle && bytes.size() < sizeof(Identity)) (void)Filter::load(bytes);  // throws
  Identity identity{};
  if (!is_handle) identity = BlobFilter::identity_of(bytes);
  const std::uint64_t number = is_handle
                                   ? get<std::uint64_t>(bytes, 4)
                                   : hash_key(std::span<const std::byte>(identity), seed_).value;
  {
    const std::lock_guard lock(mutex_);
    const auto place = places_.find(number);
    if (place != places_.end()) {
      kept_.splice(kept_.begin(), kept_, place->second);
      const auto& [_, known, opened] = kept_.front();
      if (is_handle || (known == identity && opened.bytes == bytes.size())) return opened;
    }
  }
  if (is_handle) {
    throw std::runtime_error("the filter of this handle has gone: open it in the statement");
  }
  Handle handle;
  put(std::span<std::byte>(handle), 0, kMark);
  put(std::span<std::byte>(handle), 4, number);
  return keep({number,
               identity,
               {std::make_shared<const Filter>(Filter::load(bytes)), bytes.size(), handle}});
}

Filters::Opened Filters::keep(Kept kept) {
  std::list<Kept> gone;  // freed without the lock
  std::list<Kept> one;
  one.push_back(std::move(kept));
  const std::lock_guard lock(mutex_);
  const auto [place, is_new] = places_.try_emplace(one.front().number, one.begin());
  if (!is_new) {  // of a thread that was faster, or of one in 2^64 others
    return (place->second->identity == one.front().identity ? *place->second : one.front()).opened;
  }
  kept_.splice(kept_.begin(), one);
  bytes_ += kept_.front().opened.filter->memory_bytes();
  while (kept_.size() > 1 && (kept_.size() > most_ || bytes_ > most_bytes_)) {
    places_.erase(kept_.back().number);
    bytes_ -= kept_.back().opened.filter->memory_bytes();
    gone.splice(gone.begin(), kept_, std::prev(kept_.end()));
  }
  return kept_.front().opened;
}

Filters::Opened opened(std::span<const std::byte> bytes) {
  // Never destroyed: threads of DuckDB's may outlast static objects.
  static auto* const filters = new Filters(4096, std::size_t{1} << 30);
  return filters->open(bytes);
}

}  // namespace nestline::inline v0_2::duckdb
