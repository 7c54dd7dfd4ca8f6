#include "lib/sqlite/filter_argument.h"

#include "lib/sqlite/values.h"

namespace nestline::sqlite {

std::span<const std::byte> blob_of(sqlite3_value* value) {
  if (sqlite3_value_type(value) != SQLITE_BLOB) {
    throw Refusal("a filter is a BLOB that nestline_build made, or nestline_file(path)");
  }
  return bytes_of(value);
}

const BlobFilter& CheckedBlobs::of(std::span<const std::byte> bytes) {
  for (const std::optional<BlobFilter>& filter : filters_) {
    if (filter && filter->is_same(bytes)) return *filter;
  }
  BlobFilter filter(bytes);
  std::optional<BlobFilter>& place = filters_[next_];
  next_ = (next_ + 1) % filters_.size();
  return place.emplace(filter);
}

}  // namespace nestline::sqlite
