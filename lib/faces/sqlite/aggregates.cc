// nestline_build(key [, fpr [, capacity]]), nestline_merge(filter), and nestline_insert and
// nestline_erase(filter, key).
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "lib/faces/sqlite/filter_argument.h"
#include "lib/faces/sqlite/values.h"

namespace nestline { inline namespace v0_3 { namespace sqlite {
namespace {

// The object behind an aggregate, made by the first row.
// SQLite zeroes the memory that it keeps for a group, and always requests the result at the end, so
// that the object goes even when the statement is stopped. Throws std::bad_alloc.
template <typename T>
T& aggregate(sqlite3_context* context) {
  auto** const place = static_cast<T**>(sqlite3_aggregate_context(context, sizeof(T*)));
  if (place == nullptr) throw std::bad_alloc();
  if (*place == nullptr) *place = new T();
  return **place;
}

// The object of the group; null if it had no rows.
template <typename T>
std::unique_ptr<T> take_aggregate(sqlite3_context* context) {
  auto** const place = static_cast<T**>(sqlite3_aggregate_context(context, 0));
  if (place == nullptr) return nullptr;
  return std::unique_ptr<T>(std::exchange(*place, nullptr));
}

// The most bytes that a value may have in this connection.
std::uint64_t longest_value(sqlite3_context* context) {
  return static_cast<std::uint64_t>(
      sqlite3_limit(sqlite3_context_db_handle(context), SQLITE_LIMIT_LENGTH, -1));
}

// Makes the filter's bytes the result. Throws TooBig, std::bad_alloc.
void set_result(sqlite3_context* context, const Filter& filter) {
  const std::uint64_t longest = longest_value(context);
  if (filter.memory_bytes() > longest) throw TooBig();
  // Most often the blocks and what comes before and after them fit; else the memory is doubled.
  constexpr std::uint64_t kBeside = 256;
  std::uint64_t room = filter.memory_bytes() + kBeside;
  std::uint64_t used = 0;
  std::unique_ptr<void, void (*)(void*)> bytes(sqlite3_malloc64(room), sqlite3_free);
  if (bytes == nullptr) throw std::bad_alloc();
  const ByteSink sink = [&](std::span<const std::byte> piece) {
    if (piece.size() > room - used) {
      room = std::max(2 * room, used + piece.size());
      void* const larger = sqlite3_realloc64(bytes.get(), room);
      if (larger == nullptr) throw std::bad_alloc();
      (void)bytes.release();
      bytes.reset(larger);
    }
    std::copy(piece.begin(), piece.end(), static_cast<std::byte*>(bytes.get()) + used);
    used += piece.size();
  };
  save(filter, {sink, Head::compact});
  // SQLite frees it, also where it is too long.
  sqlite3_result_blob64(context, bytes.release(), used, sqlite3_free);
}

void read_options(CollectedBuild& build, int count, sqlite3_value** arguments) {
  const int type = sqlite3_value_type(arguments[1]);
  const bool is_number = type == SQLITE_FLOAT || type == SQLITE_INTEGER;
  const std::optional<std::int64_t> none;
  build.set_options(is_number ? sqlite3_value_double(arguments[1]) : 0,
                    count > 2 ? whole_number(arguments[2]).value_or(0) : none);
}

Filter snapshot_of(const Opened& opened) {
  const auto* const mapped = std::get_if<MappedFilter>(&opened.filter);
  return mapped != nullptr ? mapped->snapshot() : std::get<Filter>(opened.filter).snapshot();
}

// The filter of an argument, to be changed.
Filter copy_of(sqlite3_context* context, sqlite3_value* value) {
  const SharedOpened opened = behind_handle(context, value);
  if (opened == nullptr) return Filter::load(blob_of(value));
  return snapshot_of(*opened);
}

// The keys that a filter is to be given, or to lose.
struct Change {
  SharedOpened filter;
  std::vector<Hash> hashes;
  KeyKinds key_kinds = 0;

  // Throws Refusal where another filter came before.
  void set(SharedOpened next) {
    if (filter == nullptr) {
      filter = std::move(next);
    } else if (filter->number != next->number && (!filter->path.empty() || !next->path.empty() ||
                                                  filter->identity != next->identity)) {
      throw Refusal("the filter is the same in all rows of a group");
    }
  }
};

void change_result(sqlite3_context* context, auto&& apply) noexcept {
  guarded(context, [&] {
    const auto change = take_aggregate<Change>(context);
    if (change == nullptr || change->filter == nullptr) {
      throw Refusal("there are no rows, so there is no filter to change");
    }
    Filter changed = snapshot_of(*change->filter);
    take_key_kinds(changed, change->key_kinds);
    apply(changed, change->hashes);
    set_result(context, changed);
  });
}

}  // namespace

void build_step(sqlite3_context* context, int count, sqlite3_value** arguments) noexcept {
  guarded(context, [&] {
    auto& build = aggregate<CollectedBuild>(context);
    if (count > 1) read_options(build, count, arguments);
    if (is_null(arguments[0])) return;
    build.key_kinds |= kind_of(arguments[0]);
    with_key(arguments[0], [&](Key key) {
      const Hash hash = hash_key(key, Options().seed);
      build.hashes.add(std::span(&hash, 1), longest_value(context));
    });
  });
}

void build_result(sqlite3_context* context) noexcept {
  guarded(context, [&] {
    auto build = take_aggregate<CollectedBuild>(context);
    if (build == nullptr) build = std::make_unique<CollectedBuild>();
    set_result(context, build->filter(longest_value(context)));
  });
}

void merge_step(sqlite3_context* context, int /*count*/, sqlite3_value** arguments) noexcept {
  guarded(context, [&] {
    require_filter(arguments[0]);
    auto& all = aggregate<std::optional<Filter>>(context);
    Filter next = copy_of(context, arguments[0]);
    if (all) {
      unite(*all, std::move(next));
    } else {
      all = std::move(next);
    }
  });
}

void merge_result(sqlite3_context* context) noexcept {
  guarded(context, [&] {
    const auto all = take_aggregate<std::optional<Filter>>(context);
    if (all != nullptr && *all) set_result(context, **all);
  });
}

void change_step(sqlite3_context* context, int /*count*/, sqlite3_value** arguments) noexcept {
  guarded(context, [&] {
    require_filter(arguments[0]);
    auto& change = aggregate<Change>(context);
    change.set(opened_of(context, arguments[0]));
    if (is_null(arguments[1])) return;
    change.key_kinds |= kind_of(arguments[1]);
    const std::uint64_t seed =
        std::visit([](const auto& filter) { return filter.seed(); }, change.filter->filter);
    with_key(arguments[1], [&](Key key) { change.hashes.push_back(hash_key(key, seed)); });
  });
}

void insert_result(sqlite3_context* context) noexcept { change_result(context, insert_all); }

void erase_result(sqlite3_context* context) noexcept {
  change_result(context,
                [](Filter& filter, const std::vector<Hash>& hashes) { filter.erase(hashes); });
}

}}}  // namespace nestline::sqlite
