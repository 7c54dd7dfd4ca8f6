// nestline_build(key [, fpr [, capacity]]) and nestline_merge(filter).
#include <algorithm>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

#include "lib/file/filter_blocks.h"
#include "lib/sqlite/aggregate.h"
#include "lib/sqlite/filter_argument.h"
#include "lib/sqlite/functions.h"
#include "lib/sqlite/hash_collector.h"
#include "lib/sqlite/values.h"

namespace nestline::sqlite {
namespace {

constexpr double kDefaultRate = 0.01;

struct Build {
  HashCollector hashes;
  double fpr = kDefaultRate;
  std::uint64_t capacity = 0;  // 0: as many as there are
  bool has_options = false;
};

double rate_of(sqlite3_value* value) {
  const int type = sqlite3_value_type(value);
  const double rate = sqlite3_value_double(value);
  if ((type != SQLITE_FLOAT && type != SQLITE_INTEGER) || !(rate > 0 && rate < 1)) {
    throw Refusal("the false-positive rate is a number above 0 and below 1");
  }
  return rate;
}

std::uint64_t capacity_of(sqlite3_value* value) {
  const std::int64_t capacity = sqlite3_value_int64(value);
  if (sqlite3_value_type(value) != SQLITE_INTEGER || capacity < 1) {
    throw Refusal("the capacity is an integer above 0");
  }
  return static_cast<std::uint64_t>(capacity);
}

// The options are those of the group's first row; rows that contradict it are an error.
void read_options(Build& build, int count, sqlite3_value** arguments) {
  const double fpr = count > 1 ? rate_of(arguments[1]) : kDefaultRate;
  const std::uint64_t capacity = count > 2 ? capacity_of(arguments[2]) : 0;
  if (build.has_options && (fpr != build.fpr || capacity != build.capacity)) {
    throw Refusal("the false-positive rate and the capacity are the same in all rows of a group");
  }
  build.fpr = fpr;
  build.capacity = capacity;
  build.has_options = true;
}

// A filter of the keys. Many copies may need more room than as many distinct keys: then it is made
// larger, as long as a value may be so long.
Filter built(Build& build, std::uint64_t longest) {
  const std::vector<Hash>& hashes = build.hashes.finish();
  const std::uint64_t fitting = std::max<std::uint64_t>(hashes.size(), 1);
  Options options{.capacity = build.capacity != 0 ? build.capacity : fitting, .fpr = build.fpr};
  while (true) {
    // A filter takes a byte a key at least.
    if (options.capacity > longest) throw TooBig();
    try {
      return Filter::build(options, hashes);
    } catch (const std::length_error&) {
      if (build.capacity != 0) {
        throw Refusal("no room for " + std::to_string(hashes.size()) + " keys in a filter for " +
                      std::to_string(build.capacity) + ": give a larger capacity");
      }
      options.capacity *= 2;
    }
  }
}

// The filter of an argument, to be changed.
Filter copy_of(sqlite3_context* context, sqlite3_value* value) {
  const Opened* const opened = opened_of(context, value);
  if (opened == nullptr) return from_bytes(blob_of(value));
  const auto* const mapped = std::get_if<MappedFilter>(&opened->filter);
  return mapped != nullptr ? mapped->snapshot() : std::get<Filter>(opened->filter).clone();
}

// Filters of one lineage are poured into the first of them, which doubles when it is full.
struct Merge {
  std::optional<Filter> filter;
};

std::string difference(const Filter& one, const Filter& other) {
  const auto but = [](const char* what, std::uint64_t a, std::uint64_t b) {
    return std::string(what) + " differ: " + std::to_string(a) + " and " + std::to_string(b);
  };
  if (one.bits() != other.bits()) {
    return but("their bits", static_cast<unsigned>(one.bits()),
               static_cast<unsigned>(other.bits()));
  }
  if (one.seed() != other.seed()) return but("their seeds", one.seed(), other.seed());
  return but("their bytes before the first doubling", one.memory_bytes() >> one.growth(),
             other.memory_bytes() >> other.growth());
}

void unite(Filter& all, Filter next) {
  if (!are_related(all, next)) {
    throw Refusal("filters with different shapes cannot be merged: " + difference(all, next) +
                  ". Build them with the same rate and the same capacity");
  }
  // First for the sum of the keys: a full filter takes long to say that it has no room.
  while (all.capacity() < all.size() + next.size() && all.grow()) continue;
  while (next.size() != 0) {
    Share share(1, 1);
    pour(next, all, share, Surplus::goes);
    if (next.size() != 0 && !all.grow()) {
      throw Refusal("no room for the keys of all filters: build them with a larger capacity");
    }
  }
}

}  // namespace

void build_step(sqlite3_context* context, int count, sqlite3_value** arguments) noexcept {
  guarded(context, [&] {
    auto& build = aggregate<Build>(context);
    if (count > 1) read_options(build, count, arguments);
    if (is_null(arguments[0])) return;
    with_key(arguments[0], [&](Key key) {
      build.hashes.add(hash_key(key, Options().seed), longest_value(context));
    });
  });
}

void build_result(sqlite3_context* context) noexcept {
  guarded(context, [&] {
    auto build = take_aggregate<Build>(context);
    if (build == nullptr) build = std::make_unique<Build>();
    set_result(context, built(*build, longest_value(context)));
  });
}

void merge_step(sqlite3_context* context, int /*count*/, sqlite3_value** arguments) noexcept {
  guarded(context, [&] {
    if (is_null(arguments[0])) return;
    auto& merge = aggregate<Merge>(context);
    Filter next = copy_of(context, arguments[0]);
    if (merge.filter) {
      unite(*merge.filter, std::move(next));
    } else {
      merge.filter = std::move(next);
    }
  });
}

void merge_result(sqlite3_context* context) noexcept {
  guarded(context, [&] {
    const auto merge = take_aggregate<Merge>(context);
    if (merge != nullptr && merge->filter) set_result(context, *merge->filter);
  });
}

}  // namespace nestline::sqlite
