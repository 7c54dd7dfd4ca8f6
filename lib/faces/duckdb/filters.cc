#include "lib/faces/duckdb/filters.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <span>
#include <stdexcept>
#include <utility>

#include "lib/faces/embed/bytes.h"

namespace nestline { inline namespace v0_3 { namespace duckdb {

namespace {

constexpr std::uint32_t kMark = 0x7473656e;  // "nest": a handle begins with it
bool is_a_handle(std::span<const std::byte> bytes) {
  return bytes.size() == sizeof(Filters::Handle) && get<std::uint32_t>(bytes, 0) == kMark;
}

}  // namespace

std::uint64_t Filters::number_of(std::span<const std::byte> bytes) const {
  if (is_a_handle(bytes)) return get<std::uint64_t>(bytes, 4);
  const Identity identity = identity_of(bytes);
  return hash_key(std::span<const std::byte>(identity), seed_).value;
}

Filters::Opened Filters::open(std::span<const std::byte> bytes, For use) {
  const bool is_handle = is_a_handle(bytes);
  Identity identity{};
  if (!is_handle) identity = identity_of(bytes);
  const std::uint64_t number = number_of(bytes);
  {
    const std::lock_guard lock(mutex_);
    const auto place = places_.find(number);
    if (place != places_.end()) {
      const Kept& kept = *place->second;
      if (is_handle || (kept.opened.identity == identity && kept.opened.bytes == bytes.size())) {
        return renewed(place->second, use);
      }
    }
  }
  if (is_handle) {
    throw std::runtime_error(
        "the filter of this handle has gone: call nestline_open again. If other filters that were "
        "opened since took its place, nestline_limits can make room for more");
  }
  Handle handle;
  put(std::span<std::byte>(handle), 0, kMark);
  put(std::span<std::byte>(handle), 4, number);
  return keep(
      {number,
       {std::make_shared<const Filter>(Filter::load(bytes)), bytes.size(), handle, identity},
       use == For::handle});
}

Filters::Opened Filters::keep(Kept kept) {
  List gone;
  List one;
  const For use = kept.has_handle ? For::handle : For::once;
  one.push_back(std::move(kept));
  const std::lock_guard lock(mutex_);
  const auto [place, is_new] = places_.try_emplace(one.front().number, one.begin());
  if (!is_new) {  // of a thread that was faster, or of one in 2^64 others
    const bool is_same = place->second->opened.identity == one.front().opened.identity;
    return is_same ? renewed(place->second, use) : one.front().opened;
  }
  List& list = list_of(one.front().has_handle);
  list.splice(list.begin(), one);
  bytes_ += list.front().opened.filter->memory_bytes();
  gone = beyond(list);
  return list.front().opened;
}

const Filters::Opened& Filters::renewed(List::iterator kept, For use) {
  List& from = list_of(kept->has_handle);
  kept->has_handle |= use == For::handle;
  List& to = list_of(kept->has_handle);
  to.splice(to.begin(), from, kept);
  return kept->opened;
}

Filters::List Filters::beyond(const List& newest) {
  List gone;
  while (places_.size() > most_.filters || bytes_ > most_.bytes) {
    List& from = &newest == &with_handle_ && others_.empty() ? with_handle_ : others_;
    if (from.size() <= (&from == &newest ? 1 : 0)) break;
    places_.erase(from.back().number);
    bytes_ -= from.back().opened.filter->memory_bytes();
    gone.splice(gone.begin(), from, std::prev(from.end()));
  }
  return gone;
}

void Filters::limit(Size most) {
  List gone;
  const std::lock_guard lock(mutex_);
  most_ = most;
  gone = beyond(with_handle_);
}

Filters::State Filters::state() {
  const std::lock_guard lock(mutex_);
  return {most_, {places_.size(), bytes_}};
}

Filters& filters() {
  // Never destroyed: threads of DuckDB's may outlast static objects.
  static auto* const filters = new Filters({4096, std::uint64_t{1} << 30});
  return *filters;
}

Filters::Opened opened(std::span<const std::byte> bytes) { return filters().open(bytes); }

}}}  // namespace nestline::duckdb
