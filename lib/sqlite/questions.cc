// The functions of a row: nestline_contains, nestline_count, nestline_info and nestline_file.
#include <charconv>
#include <cstring>
#include <memory>
#include <string>
#include <system_error>

#include "lib/sqlite/filter_argument.h"
#include "lib/sqlite/functions.h"
#include "lib/sqlite/values.h"

namespace nestline::sqlite {
namespace {

// The same names and values as `nestline info --json` prints.
template <class AnyFilter>
std::string json_text(const AnyFilter& filter, std::uint64_t bytes) {
  std::string text;
  const auto add = [&text](const char* name, auto number) {
    char digits[32];  // enough for the shortest form of every double
    const auto end = std::to_chars(std::begin(digits), std::end(digits), number).ptr;
    text += text.empty() ? "{\"" : ",\"";
    text += name;
    text += "\":";
    text.append(digits, end);
  };
  add("keys", filter.size());
  add("capacity", filter.capacity());
  add("load_factor", filter.load_factor());
  add("bits", filter.bits());
  add("memory_bytes", filter.memory_bytes());
  if (filter.size() > 0) {
    add("bits_per_key",
        8 * static_cast<double>(filter.memory_bytes()) / static_cast<double>(filter.size()));
  } else {
    text += ",\"bits_per_key\":null";
  }
  add("expected_fpr", filter.expected_fpr());
  add("seed", filter.seed());
  add("file_bytes", bytes);
  add("doublings", filter.growth());
  add("max_capacity", filter.max_capacity());
  return text + "}";
}

FilePointer open_file(const std::string& path) {
  // The size first: it is that of the mapped file unless the file is replaced meanwhile.
  std::error_code unknown;  // then opening says what is wrong
  const std::uintmax_t bytes = std::filesystem::file_size(path, unknown);
  return std::make_shared<const OpenedFile>(OpenedFile{path, MappedFilter::open(path), bytes});
}

}  // namespace

void contains(sqlite3_context* context, int /*count*/, sqlite3_value** arguments) noexcept {
  guarded(context, [&] {
    if (is_no_filter(arguments[0]) || is_null(arguments[1])) return;
    const bool found = with_filter(context, arguments[0], [&](const auto& filter) {
      return with_key(arguments[1], [&](Key key) { return filter.may_contain(key); });
    });
    sqlite3_result_int(context, found ? 1 : 0);
  });
}

void count(sqlite3_context* context, int /*count*/, sqlite3_value** arguments) noexcept {
  guarded(context, [&] {
    if (is_no_filter(arguments[0]) || is_null(arguments[1])) return;
    const unsigned copies = with_filter(context, arguments[0], [&](const auto& filter) {
      return with_key(arguments[1], [&](Key key) { return filter.count(key); });
    });
    sqlite3_result_int(context, static_cast<int>(copies));
  });
}

void info(sqlite3_context* context, int /*count*/, sqlite3_value** arguments) noexcept {
  guarded(context, [&] {
    if (is_no_filter(arguments[0])) return;
    std::string text;
    if (const OpenedFile* const file = file_of(arguments[0])) {
      text = json_text(file->filter, file->bytes);
    } else {
      const auto bytes = blob_of(arguments[0]);
      text = json_text(from_bytes(bytes), bytes.size());
    }
    sqlite3_result_text(context, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
    constexpr unsigned kJson = 74;  // SQLite's JSON functions take text of this subtype as JSON
    sqlite3_result_subtype(context, kJson);
  });
}

void file(sqlite3_context* context, int /*count*/, sqlite3_value** arguments) noexcept {
  guarded(context, [&] {
    if (is_null(arguments[0])) return;
    const std::span<const std::byte> bytes = bytes_of(arguments[0]);
    const std::string path(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (sqlite3_value_type(arguments[0]) != SQLITE_TEXT || path.find('\0') != std::string::npos) {
      throw Refusal("the path of a file is TEXT without a zero byte");
    }
    // Where SQLite calls this for each row all the same, it keeps the file of a constant path.
    static constexpr std::array kNumbers = {0};
    auto* const known = kept<FilePointer>(context, kNumbers);
    FilePointer opened;
    if (known != nullptr && *known != nullptr && (*known)->path == path) opened = *known;
    if (opened == nullptr) opened = open_file(path);
    if (known != nullptr) *known = opened;
    sqlite3_result_pointer(context, std::make_unique<FilePointer>(std::move(opened)).release(),
                           kPointerType,
                           [](void* pointer) { delete static_cast<FilePointer*>(pointer); });
  });
}

}  // namespace nestline::sqlite
