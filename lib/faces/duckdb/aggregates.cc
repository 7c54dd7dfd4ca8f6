// The aggregates: build, merge, insert and erase.
//
// The state of a group is a pointer, null before the first row that counts. Threads have states of
// their own, which are combined; a window may combine one state into several, so the source stays
// as it is. Where a query is interrupted DuckDB destroys the states.
//
// Threads share rows out as it happens, so a result depends on no order: keys and filters are
// collected, and sorted at the end.
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <initializer_list>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "lib/faces/duckdb/filters.h"
#include "lib/faces/duckdb/one_state.h"
#include "lib/faces/duckdb/vectors.h"
#include "lib/faces/embed/bytes.h"
#include "lib/faces/embed/collected.h"
#include "nestline/io.h"

namespace nestline { inline namespace v0_3 { namespace duckdb {
namespace {

constexpr std::uint64_t kLongest = std::numeric_limits<std::uint32_t>::max();  // BLOB

template <typename T>
T*& object_of(duckdb_aggregate_state state) {
  return *reinterpret_cast<T**>(state);
}

template <typename T>
T& made_object_of(duckdb_aggregate_state state) {
  T*& object = object_of<T>(state);
  if (object == nullptr) object = new T();
  return *object;
}

struct State {
  std::exception_ptr failure;  // of combine
  static std::optional<Filter> of_no_rows() { return std::nullopt; }
};

// A chunk, and the states of its rows: one for each, or one for all.
struct Rows {
  duckdb_data_chunk chunk;
  duckdb_aggregate_state* states;
  bool has_one_state;

  [[nodiscard]] idx_t count() const { return duckdb_data_chunk_get_size(chunk); }
  [[nodiscard]] auto state(idx_t row) const { return states[has_one_state ? 0 : row]; }
  // Calls visit(first, end, state) for each longest run of rows of one group.
  void for_each_group(idx_t from, idx_t to, auto&& visit) const {
    for (idx_t first = from, end = from; first < to; first = end) {
      while (end < to && state(end) == state(first)) ++end;
      visit(first, end, state(first));
    }
  }
};

// The hashes of the keys of some rows, until the next call of the thread.
std::span<const Hash> hashes_of(Keys& keys, idx_t first, idx_t end, std::uint64_t seed) {
  static thread_local std::vector<Hash> hashes;
  hashes.clear();
  keys.add_hashes(first, end, seed, hashes);
  return hashes;
}

// nestline_build(key [, fpr [, capacity]])
struct Build : State {
  CollectedBuild collected{1};  // columns that others refer to have many copies of each key

  static void update(const Rows& rows, idx_t columns) {
    Keys& keys = keys_of(rows.chunk, 0);
    const Column<double> rates = columns > 1 ? Column<double>(rows.chunk, 1) : Column<double>();
    const Column<std::int64_t> rooms =
        columns > 2 ? Column<std::int64_t>(rows.chunk, 2) : Column<std::int64_t>();
    // Without NULLs those of the whole chunk at once: groups that alternate have one row at a time.
    std::span<const Hash> all;
    if (!keys.has_nulls()) all = hashes_of(keys, 0, rows.count(), Options().seed);
    rows.for_each_group(0, rows.count(), [&](idx_t first, idx_t end, auto state) {
      CollectedBuild& build = made_object_of<Build>(state).collected;
      build.key_kinds |= keys.kinds();
      for (idx_t row = first; row < end && columns > 1; ++row) {
        const double rate = rates.is_null(row) ? 0 : rates[row];
        std::optional<std::int64_t> room;
        if (columns > 2) room = rooms.is_null(row) ? 0 : rooms[row];
        build.set_options(rate, room);
      }
      build.hashes.add(all.empty() ? hashes_of(keys, first, end, Options().seed)
                                   : all.subspan(first, end - first),
                       kLongest);
    });
  }
  void add(const Build& other) { collected.add(other.collected); }
  std::optional<Filter> result() { return collected.filter(kLongest); }
  static std::optional<Filter> of_no_rows() { return Build().result(); }  // contains nothing
};

// nestline_merge(filter)
struct Merge : State {
  // All that differ, since what comes of them depends on their order: the largest first.
  std::map<std::pair<std::uint64_t, Identity>, std::shared_ptr<const Filter>, std::greater<>>
      filters;

  static void update(const Rows& rows, idx_t /*columns*/) {
    const Strings blobs = without_nulls(rows.chunk, 0, "filter");
    for_each_run(blobs, rows.count(), [&](idx_t from, idx_t to) {
      const auto next = opened(bytes_of(blobs[from]));
      Identity content = next.identity;  // whichever head the blob has
      put_small_head(*next.filter, std::span(content).first(kFieldBytes));
      rows.for_each_group(from, to, [&](idx_t, idx_t, auto state) {
        auto& all = made_object_of<Merge>(state).filters;
        all.try_emplace({next.filter->size(), content}, next.filter);
      });
    });
  }
  void add(const Merge& other) { filters.insert(other.filters.begin(), other.filters.end()); }
  std::optional<Filter> result() {
    std::optional<Filter> all;
    for (const auto& [_, next] : filters) {
      if (all) {
        unite(*all, next->snapshot());
      } else {
        all = next->snapshot();
      }
    }
    return all;
  }
};

// nestline_insert(filter, key) and nestline_erase(filter, key): a changed copy.
template <bool kErases>
struct Change : State {
  std::shared_ptr<const Filter> filter;
  HashCollector hashes{std::numeric_limits<std::size_t>::max()};  // with all copies
  KeyKinds key_kinds = 0;

  static std::optional<Filter> of_no_rows() {
    throw Refusal("there are no rows, so there is no filter to change");
  }
  static void update(const Rows& rows, idx_t /*columns*/) {
    const Strings filters = without_nulls(rows.chunk, 0, "filter");
    Keys& keys = keys_of(rows.chunk, 1);
    for_each_run(filters, rows.count(), [&](idx_t from, idx_t to) {
      const auto next = opened(bytes_of(filters[from])).filter;
      rows.for_each_group(from, to, [&](idx_t first, idx_t end, auto state) {
        Change& change = made_object_of<Change>(state);
        change.set(next);
        change.key_kinds |= keys.kinds();
        change.hashes.add(hashes_of(keys, first, end, next->seed()), kLongest);
      });
    });
  }
  void set(const std::shared_ptr<const Filter>& next) {
    if (filter == nullptr) filter = next;
    if (filter == next || to_bytes(*filter) == to_bytes(*next)) return;
    throw Refusal("the filter is the same in all rows of a group");
  }
  void add(const Change& other) {
    set(other.filter);
    hashes.add(other.hashes);
    key_kinds |= other.key_kinds;
  }
  std::optional<Filter> result() {
    Filter changed = filter->snapshot();
    take_key_kinds(changed, key_kinds);
    if constexpr (kErases) {
      changed.erase(hashes.finish(kLongest));
    } else {
      insert_all(changed, hashes.finish(kLongest));
    }
    return changed;
  }
};

template <typename T>
void destroy(duckdb_aggregate_state* states, idx_t count) {
  for (idx_t i = 0; i < count; ++i) delete std::exchange(object_of<T>(states[i]), nullptr);
}

// As guarded. DuckDB forgets some states when it throws our error, so these are destroyed before.
template <typename T, typename Work>
void with_states(duckdb_function_info info, duckdb_aggregate_state* states, idx_t count,
                 Work&& work) noexcept {
  guarded(info, duckdb_aggregate_function_set_error, [&] {
    try {
      work();
    } catch (...) {
      destroy<T>(states, count);
      throw;
    }
  });
}

template <typename T>
void update(duckdb_function_info info, duckdb_data_chunk chunk, duckdb_aggregate_state* states) {
  void* const address = __builtin_return_address(0);
  const bool is_one = duckdb_data_chunk_get_size(chunk) > 1 && is_call_of_one_state(address);
  const Rows rows{chunk, states, is_one};
  with_states<T>(info, states, is_one ? 1 : rows.count(),
                 [&] { T::update(rows, duckdb_data_chunk_get_column_count(chunk)); });
}

// What fails is an error of the result: sources may be in use, and DuckDB would forget them.
template <typename T>
void combine(duckdb_function_info info, duckdb_aggregate_state* sources,
             duckdb_aggregate_state* targets, idx_t count) {
  guarded(info, duckdb_aggregate_function_set_error, [&] {
    for (idx_t i = 0; i < count; ++i) {
      const T* const source = object_of<T>(sources[i]);
      if (source == nullptr) continue;
      T& target = made_object_of<T>(targets[i]);
      try {
        if (source->failure) std::rethrow_exception(source->failure);
        target.add(*source);
      } catch (...) {
        target.failure = std::current_exception();
      }
    }
  });
}

template <typename T>
void finalize(duckdb_function_info info, duckdb_aggregate_state* states, duckdb_vector result,
              idx_t count, idx_t offset) {
  with_states<T>(info, states, count, [&] {
    std::vector<std::byte> bytes;
    const ByteSink sink = [&](std::span<const std::byte> piece) {
      bytes.insert(bytes.end(), piece.begin(), piece.end());
    };
    for (idx_t i = 0; i < count; ++i) {
      T* const object = object_of<T>(states[i]);
      if (object != nullptr && object->failure) std::rethrow_exception(object->failure);
      const std::optional<Filter> filter = object != nullptr ? object->result() : T::of_no_rows();
      if (!filter) {
        set_null(result, offset + i);
        continue;
      }
      bytes.clear();
      save(*filter, {sink, Head::compact});
      if (bytes.size() > kLongest) throw TooBig();
      set_bytes(result, offset + i, bytes);
    }
  });
}

// Functions of the name with `fewest` parameters and more.
template <typename T>
bool add(duckdb_connection connection, const char* name, std::size_t fewest,
         std::initializer_list<duckdb_type> parameters) {
  duckdb_aggregate_function_set set = duckdb_create_aggregate_function_set(name);
  for (std::size_t count = fewest; count <= parameters.size(); ++count) {
    duckdb_aggregate_function function = duckdb_create_aggregate_function();
    duckdb_aggregate_function_set_name(function, name);
    for (const duckdb_type parameter : std::span(parameters.begin(), count)) {
      duckdb_aggregate_function_add_parameter(function, Type(parameter).get());
    }
    duckdb_aggregate_function_set_return_type(function, Type(DUCKDB_TYPE_BLOB).get());
    duckdb_aggregate_function_set_special_handling(function);  // NULL is ours
    duckdb_aggregate_function_set_functions(
        function, [](duckdb_function_info) -> idx_t { return sizeof(T*); },
        [](duckdb_function_info, duckdb_aggregate_state state) { object_of<T>(state) = nullptr; },
        update<T>, combine<T>, finalize<T>);
    duckdb_aggregate_function_set_destructor(function, destroy<T>);
    duckdb_add_aggregate_function_to_set(set, function);
    duckdb_destroy_aggregate_function(&function);
  }
  const bool is_added = duckdb_register_aggregate_function_set(connection, set) == DuckDBSuccess;
  duckdb_destroy_aggregate_function_set(&set);
  return is_added;
}

}  // namespace

bool add_aggregates(duckdb_connection connection) {
  constexpr duckdb_type kFilter = DUCKDB_TYPE_BLOB, kKey = DUCKDB_TYPE_ANY;
  return add<Build>(connection, "nestline_build", 1,
                    {kKey, DUCKDB_TYPE_DOUBLE, DUCKDB_TYPE_BIGINT}) &&
         add<Merge>(connection, "nestline_merge", 1, {kFilter}) &&
         add<Change<false>>(connection, "nestline_insert", 2, {kFilter, kKey}) &&
         add<Change<true>>(connection, "nestline_erase", 2, {kFilter, kKey});
}

}}}  // namespace nestline::duckdb
