#include "lib/faces/sqlite/filter_argument.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>

#include "lib/faces/sqlite/values.h"

namespace nestline { inline namespace v0_3 { namespace sqlite {
namespace {

constexpr std::string_view kHandleText = "nestline";

// Whether these bytes are a handle: no filter is so short.
bool is_handle(std::span<const std::byte> bytes) {
  return bytes.size() == sizeof(Handle) &&
         std::memcmp(bytes.data(), kHandleText.data(), kHandleText.size()) == 0;
}

// Whether save() writes a filter of memory as these bytes.
bool is_saved_as(const Opened& opened, std::span<const std::byte> bytes) {
  bool same = opened.bytes == bytes.size();
  if (!same) return false;
  save(std::get<Filter>(opened.filter), [&](std::span<const std::byte> piece) {
    same = same && piece.size() <= bytes.size() &&
           std::ranges::equal(piece, bytes.first(piece.size()));
    if (same) bytes = bytes.subspan(piece.size());
  });
  return same;
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

const Opened* StatementFilters::newest_if(auto&& condition) {
  const auto found = std::ranges::find_if(
      opened_, [&](const auto& opened) { return opened != nullptr && condition(*opened); });
  if (found == opened_.end()) return nullptr;
  std::rotate(opened_.begin(), found, found + 1);
  return opened_.front().get();
}

const Opened& StatementFilters::keep(Opened opened) {
  static std::atomic<std::uint64_t> last_number{0};
  opened.number = ++last_number;
  opened_.back() = std::make_unique<const Opened>(std::move(opened));
  std::rotate(opened_.begin(), opened_.end() - 1, opened_.end());
  return *opened_.front();
}

const Opened& StatementFilters::open_blob(std::span<const std::byte> bytes) {
  const std::uint64_t digest = hash_key(Key(bytes), Options().seed).value;
  const Opened* const known = newest_if([&](const Opened& opened) {
    return opened.digest == digest && opened.path.empty() && is_saved_as(opened, bytes);
  });
  if (known != nullptr) return *known;
  return keep({.filter = Filter::load(bytes), .bytes = bytes.size(), .digest = digest});
}

const Opened& StatementFilters::open_file(const std::filesystem::path& path) {
  if (const auto* const known = newest_if([&](auto& opened) { return opened.path == path; })) {
    return *known;
  }
  // The size first: it is that of the mapped file unless the file is replaced meanwhile.
  std::error_code unknown;  // then opening reports what is wrong
  const std::uintmax_t size = std::filesystem::file_size(path, unknown);
  return keep({.filter = MappedFilter::open(path), .path = path, .bytes = size});
}

const Opened* StatementFilters::find(std::uint64_t number) {
  return newest_if([&](const Opened& opened) { return opened.number == number; });
}

StatementFilters* statement_filters(sqlite3_context* context) {
  constexpr int kKeptUnder = -0x6e657374;
  return kept<StatementFilters>(context, kKeptUnder);
}

const Opened* opened_of(sqlite3_context* context, sqlite3_value* value) {
  const std::span<const std::byte> bytes = blob_of(value);
  if (!is_handle(bytes)) return nullptr;
  StatementFilters* const filters = statement_filters(context);
  const auto number = get<std::uint64_t>(bytes, kHandleText.size());
  const Opened* const opened = filters != nullptr ? filters->find(number) : nullptr;
  if (opened == nullptr) {
    throw Refusal("the handle of a filter is good in the statement that made it, among the last " +
                  std::to_string(StatementFilters::kMaxOpened) + " of them");
  }
  return opened;
}

}}}  // namespace nestline::sqlite
