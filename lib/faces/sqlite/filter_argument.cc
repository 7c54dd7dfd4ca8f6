#include "lib/faces/sqlite/filter_argument.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <random>
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

// Of this process alone: a handle that was stored leads to nothing in another.
std::uint64_t new_number() {
  static std::atomic<std::uint64_t> last{std::uint64_t{std::random_device()()} << 32};
  return ++last;
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

SharedOpened ConnectionFilters::open(std::span<const std::byte> bytes) {
  const Identity identity = identity_of(bytes);
  const SharedOpened* const known = kept_.find([&](const SharedOpened& opened) {
    return opened->identity == identity && opened->bytes == bytes.size();
  });
  if (known != nullptr) return *known;
  return kept_.keep(std::make_shared<const Opened>(Opened{.number = new_number(),
                                                          .filter = Filter::load(bytes),
                                                          .bytes = bytes.size(),
                                                          .identity = identity}),
                    bytes.size());
}

SharedOpened StatementFilters::newest_if(auto&& condition) {
  const auto found = std::ranges::find_if(
      opened_, [&](const auto& opened) { return opened != nullptr && condition(*opened); });
  if (found == opened_.end()) return nullptr;
  std::rotate(opened_.begin(), found, found + 1);
  return opened_.front();
}

void StatementFilters::keep(SharedOpened opened) {
  if (find(opened->number) != nullptr) return;
  opened_.back() = std::move(opened);
  std::rotate(opened_.begin(), opened_.end() - 1, opened_.end());
}

SharedOpened StatementFilters::open_file(const std::filesystem::path& path) {
  if (auto known = newest_if([&](auto& opened) { return opened.path == path; })) return known;
  // The size first: it is that of the mapped file unless the file is replaced meanwhile.
  std::error_code unknown;  // then opening reports what is wrong
  const std::uintmax_t size = std::filesystem::file_size(path, unknown);
  keep(std::make_shared<const Opened>(Opened{
      .number = new_number(), .filter = MappedFilter::open(path), .path = path, .bytes = size}));
  return opened_.front();
}

SharedOpened StatementFilters::find(std::uint64_t number) {
  return newest_if([&](const Opened& opened) { return opened.number == number; });
}

StatementFilters* statement_filters(sqlite3_context* context) {
  constexpr int kKeptUnder = -0x6e657374;
  return kept<StatementFilters>(context, kKeptUnder);
}

SharedOpened behind_handle(sqlite3_context* context, sqlite3_value* value) {
  const std::span<const std::byte> bytes = blob_of(value);
  if (!is_handle(bytes)) return nullptr;
  StatementFilters* const filters = statement_filters(context);
  const auto number = get<std::uint64_t>(bytes, kHandleText.size());
  SharedOpened opened = filters != nullptr ? filters->find(number) : nullptr;
  if (opened == nullptr) {
    throw Refusal("the handle of a filter is good in the statement that made it, among the last " +
                  std::to_string(StatementFilters::kMaxOpened) + " of them");
  }
  return opened;
}

SharedOpened opened_of(sqlite3_context* context, sqlite3_value* value) {
  if (SharedOpened opened = behind_handle(context, value)) return opened;
  return data_of(context).filters->open(blob_of(value));
}

}}}  // namespace nestline::sqlite
