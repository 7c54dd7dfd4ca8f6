// The functions of a row: contains, count, info; and open and file, which return handles.
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <variant>

#include "lib/faces/embed/collected.h"
#include "lib/faces/embed/pass_rate.h"
#include "lib/faces/sqlite/filter_argument.h"
#include "lib/faces/sqlite/values.h"

namespace nestline { inline namespace v0_3 { namespace sqlite {
namespace {

// Adds a member to an object of JSON, which has no last brace yet.
void add_figure(std::string& text, const char* name, auto number) {
  char digits[32];  // enough for the shortest form of every double
  const auto end = std::to_chars(std::begin(digits), std::end(digits), number).ptr;
  text += text.empty() ? "{\"" : ",\"";
  text += name;
  text += "\":";
  text.append(digits, end);
}

void set_text(sqlite3_context* context, const std::string& text) {
  sqlite3_result_text(context, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
}

// The same names and values as `nestline info --json` prints.
std::string json_text(const auto& filter, std::uint64_t bytes) {
  std::string text;
  const auto add = [&](const char* name, auto number) { add_figure(text, name, number); };
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
  text.append(",\"turns_over\":").append(filter.turns_over() ? "true" : "false");
  return text + ",\"key_kinds\":\"" + key_kinds_text(filter.key_kinds()) + "\"}";
}

constexpr auto kMayContain = [](const auto& filter, Key key) { return filter.may_contain(key); };
constexpr auto kCount = [](const auto& filter, Key key) { return filter.count(key); };

// The answer is lookup(filter, key); NULL if the key is.
void look_up(sqlite3_context* context, sqlite3_value** arguments, auto lookup) noexcept {
  guarded(context, [&] {
    require_filter(arguments[0]);
    if (is_null(arguments[1])) return;
    const auto answer = with_filter(context, arguments[0], [&](const auto& filter) {
      const KeyKinds kinds = filter.key_kinds();
      if ((kinds & kAllKinds) == 0) require_key_kinds(kinds, kind_of(arguments[1]));
      return with_key(arguments[1], [&](Key key) { return lookup(filter, key); });
    });
    sqlite3_result_int(context, static_cast<int>(answer));
  });
}

// What ask(one, other) answers of two filters; a mapped one is copied.
auto ask_both(sqlite3_context* context, sqlite3_value** arguments, auto ask) {
  const auto whole = [&](sqlite3_value* value, auto&& work) {
    require_filter(value);
    const SharedOpened opened = opened_of(context, value);
    const auto* const mapped = std::get_if<MappedFilter>(&opened->filter);
    return mapped != nullptr ? work(mapped->snapshot()) : work(std::get<Filter>(opened->filter));
  };
  return whole(arguments[0], [&](const Filter& one) {
    return whole(arguments[1],
                 [&](const Filter& other) { return compared(one, other, ask, kAllKinds); });
  });
}

void set_handle(sqlite3_context* context, const Opened& opened) {
  const Handle handle = handle_of(opened);
  sqlite3_result_blob(context, handle.data(), static_cast<int>(handle.size()), SQLITE_TRANSIENT);
}

StatementFilters& filters_of(sqlite3_context* context) {
  StatementFilters* const filters = statement_filters(context);
  if (filters == nullptr) throw Refusal("SQLite keeps no filter here; use the BLOB itself");
  return *filters;
}

}  // namespace

void contains(sqlite3_context* context, int /*count*/, sqlite3_value** arguments) noexcept {
  look_up(context, arguments, kMayContain);
}

void contains_or_null(sqlite3_context* context, int /*count*/, sqlite3_value** arguments) noexcept {
  if (!is_null(arguments[0])) look_up(context, arguments, kMayContain);
}

void count(sqlite3_context* context, int /*count*/, sqlite3_value** arguments) noexcept {
  look_up(context, arguments, kCount);
}

void count_or_null(sqlite3_context* context, int /*count*/, sqlite3_value** arguments) noexcept {
  if (!is_null(arguments[0])) look_up(context, arguments, kCount);
}

void worth_joining(sqlite3_context* context, int /*count*/, sqlite3_value** arguments) noexcept {
  guarded(context, [&] {
    constexpr int kKeptUnder = -0x72617465;
    require_filter(arguments[0]);
    if (is_null(arguments[1])) return;
    auto* const rates = kept<PassRates>(context, kKeptUnder);
    if (rates == nullptr) return look_up(context, arguments, kMayContain);
    PassRate& rate = rates->of(opened_of(context, arguments[0])->number);
    if (!rate.asks_next()) return sqlite3_result_int(context, 1);
    look_up(context, arguments, [&](const auto& filter, Key key) {
      const bool passes = filter.may_contain(key);
      rate.note(1, passes ? 1 : 0);
      return passes;
    });
  });
}

void overlaps(sqlite3_context* context, int /*count*/, sqlite3_value** arguments) noexcept {
  guarded(context,
          [&] { sqlite3_result_int(context, ask_both(context, arguments, kMayOverlap) ? 1 : 0); });
}

void common(sqlite3_context* context, int /*count*/, sqlite3_value** arguments) noexcept {
  guarded(context, [&] {
    const Overlap overlap = ask_both(context, arguments, kCountCommon);
    std::string text;
    add_figure(text, "matches", overlap.matches);
    add_figure(text, "by_chance", overlap.by_chance);
    add_figure(text, "estimate", overlap.estimate);
    add_figure(text, "standard_error", overlap.standard_error);
    set_text(context, text + "}");
  });
}

void info(sqlite3_context* context, int /*count*/, sqlite3_value** arguments) noexcept {
  guarded(context, [&] {
    require_filter(arguments[0]);
    std::string text;
    if (const SharedOpened opened = behind_handle(context, arguments[0])) {
      text = std::visit([&](const auto& filter) { return json_text(filter, opened->bytes); },
                        opened->filter);
    } else {
      const auto bytes = blob_of(arguments[0]);
      text = json_text(Filter::load(bytes), bytes.size());
    }
    set_text(context, text);
  });
}

void open(sqlite3_context* context, int /*count*/, sqlite3_value** arguments) noexcept {
  guarded(context, [&] {
    require_filter(arguments[0]);
    StatementFilters& filters = filters_of(context);
    // The number of what was opened for a constant argument.
    auto* const number = kept<std::uint64_t>(context, 0);
    SharedOpened opened = number != nullptr ? filters.find(*number) : nullptr;
    if (opened == nullptr) {
      opened = opened_of(context, arguments[0]);
      filters.keep(opened);
    }
    if (number != nullptr) *number = opened->number;
    set_handle(context, *opened);
  });
}

void file(sqlite3_context* context, int /*count*/, sqlite3_value** arguments) noexcept {
  guarded(context, [&] {
    const std::span<const std::byte> bytes = bytes_of(arguments[0]);
    const std::string path(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (sqlite3_value_type(arguments[0]) != SQLITE_TEXT || path.empty() ||
        path.find('\0') != std::string::npos) {
      throw Refusal("the path of a file is a TEXT without a zero byte");
    }
    set_handle(context, *filters_of(context).open_file(path));
  });
}

}}}  // namespace nestline::sqlite
