#include "lib/sqlite/filter_argument.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <string>
#include <string_view>

#include "lib/sqlite/values.h"

namespace nestline::sqlite {
namespace {

constexpr std::string_view kHandleText = "nestline";

// Whether these bytes are a handle: no filter is so short.
bool is_handle(std::span<const std::byte> bytes) {
  return bytes.size() == sizeof(Handle) &&
         std::memcmp(bytes.data(), kHandleText.data(), kHandleText.size()) == 0;
}

}  // namespace

std::span<const std::byte> blob_of(sqlite3_value* value) {
  if (sqlite3_value_type(value) != SQLITE_BLOB) {
    throw Refusal("a filter is a BLOB that nestline_build made, or nestline_file(path)");
  }
  return bytes_of(value);
}

Handle handle_of(const Opened& opened) {
  Handle handle;
  const auto text = std::as_bytes(std::span(kHandleText));
  std::copy(text.begin(), text.end(), handle.begin());
  put(std::span<std::byte>(handle), kHandleText.size(), opened.number);
  return handle;
}

const BlobFilter& StatementFilters::checked(std::span<const std::byte> bytes) {
  for (const std::optional<BlobFilter>& filter : checked_) {
    if (filter && filter->is_same(bytes)) return *filter;
  }
  const BlobFilter filter(bytes);
  std::optional<BlobFilter>& place = checked_[next_checked_];
  next_checked_ = (next_checked_ + 1) % checked_.size();
  return place.emplace(filter);
}

const Opened& StatementFilters::open(std::variant<Filter, MappedFilter> filter, std::uint64_t bytes,
                                     std::filesystem::path path) {
  static std::atomic<std::uint64_t> last_number{0};
  std::unique_ptr<const Opened>& place = opened_[next_opened_];
  place = std::make_unique<const Opened>(
      Opened{++last_number, std::move(filter), std::move(path), bytes});
  next_opened_ = (next_opened_ + 1) % opened_.size();
  return *place;
}

StatementFilters* statement_filters(sqlite3_context* context) {
  constexpr int kOfStatement = -0x6e657374;
  return kept<StatementFilters>(context, kOfStatement);
}

const Opened* opened_of(sqlite3_context* context, sqlite3_value* value) {
  const std::span<const std::byte> bytes = blob_of(value);
  if (!is_handle(bytes)) return nullptr;
  const StatementFilters* const filters = statement_filters(context);
  const auto number = get<std::uint64_t>(bytes, kHandleText.size());
  const Opened* const opened =
      filters != nullptr ? filters->find(&Opened::number, number) : nullptr;
  if (opened == nullptr) {
    throw Refusal("the handle of a filter is good in the statement that made it, among the last " +
                  std::to_string(StatementFilters::kMaxOpened) + " of them");
  }
  return opened;
}

}  // namespace nestline::sqlite
