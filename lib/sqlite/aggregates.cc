// nestline_build(key [, fpr [, capacity]]) and nestline_merge(filter).
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "lib/embed/lineage.h"
#include "lib/sqlite/filter_argument.h"
#include "lib/sqlite/values.h"
#include "nestline/io.h"

namespace nestline::inline v0_2::sqlite {
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
  constexpr std::uint64_t kBeside = 8192;
  std::uint64_t room = filter.memory_bytes() + kBeside;
  std::uint64_t used = 0;
  std::unique_ptr<void, void (*)(void*)> bytes(sqlite3_malloc64(room), sqlite3_free);
  if (bytes == nullptr) throw std::bad_alloc();
  save(filter, [&](std::span<const std::byte> piece) {
    if (piece.size() > room - used) {
      room = std::max(2 * room, used + piece.size());
      void* const larger = sqlite3_realloc64(bytes.get(), room);
      if (larger == nullptr) throw std::bad_alloc();
      (void)bytes.release();
      bytes.reset(larger);
    }
    std::copy(piece.begin(), piece.end(), static_cast<std::byte*>(bytes.get()) + used);
    used += piece.size();
  });
  // SQLite frees it, also where it is too long.
  sqlite3_result_blob64(context, bytes.release(), used, sqlite3_free);
}

// The hashes of the keys of an aggregate, whose number is not known before the last row.
//
// Of equal hashes a filter keeps a few copies. So when the memory is full, and at the end, copies
// beyond kCopies are dropped by sorting, if there are many. What is kept decides the memory: 8
// bytes a hash, up to 16 when there is room to spare, 24 while the memory is enlarged.
//
// To find out whether there are many, the hashes below 2^58 serve as a sample: 1 distinct key of 64
// with all its copies. If few of those can be dropped, and the sample is about as large as it
// should be, so that no key outside it has a large share of the rows, the hashes stay as they are.
class HashCollector {
 public:
  // Throws std::bad_alloc, and TooBig when more than `most` are kept.
  void add(Hash hash, std::uint64_t most) {
    if (hashes_.size() == hashes_.capacity()) make_room(most);
    hashes_.push_back(hash);
  }

  // All hashes but surplus copies.
  const std::vector<Hash>& finish() {
    if (has_much_surplus()) drop_surplus(hashes_);
    return hashes_;
  }

 private:
  // The most copies that a filter of any width has of one key.
  static constexpr std::size_t kCopies = 10;

  void make_room(std::uint64_t most) {
    constexpr std::size_t kFirst = 1024;
    if (has_much_surplus()) drop_surplus(hashes_);
    if (hashes_.size() > most) throw TooBig();
    if (hashes_.size() > hashes_.capacity() / 2) hashes_.reserve(2 * hashes_.capacity());
    if (hashes_.capacity() == 0) hashes_.reserve(kFirst);
  }

  [[nodiscard]] bool has_much_surplus() const {
    constexpr std::size_t kTooFewForASample = std::size_t{1} << 20;
    if (hashes_.size() < kTooFewForASample) return true;
    constexpr int kBits = 6;
    std::vector<Hash> sample;
    for (const Hash hash : hashes_) {
      if (hash.value >> (64 - kBits) == 0) sample.push_back(hash);
    }
    drop_surplus(sample);
    // Of 2^20 rows the sample has 2^14, with a deviation of 0.8 %.
    constexpr double kEnough = 0.97;
    return static_cast<double>(sample.size()) <
           kEnough * static_cast<double>(hashes_.size() >> kBits);
  }

  // Sorts, and drops what goes beyond kCopies of a hash.
  static void drop_surplus(std::vector<Hash>& hashes) {
    std::ranges::sort(hashes, {}, &Hash::value);
    std::size_t kept = 0;
    for (const Hash hash : hashes) {
      const bool is_surplus = kept >= kCopies && hashes[kept - kCopies].value == hash.value;
      if (!is_surplus) hashes[kept++] = hash;
    }
    hashes.resize(kept);
  }

  std::vector<Hash> hashes_;
};

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
  const std::optional<std::int64_t> capacity = whole_number(value);
  if (!capacity || *capacity < 1) throw Refusal("the capacity is a whole number above 0");
  return static_cast<std::uint64_t>(*capacity);
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

// A filter of the keys, made larger where copies need it, as long as a value may be so long.
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
  if (opened == nullptr) return Filter::load(blob_of(value));
  const auto* const mapped = std::get_if<MappedFilter>(&opened->filter);
  return mapped != nullptr ? mapped->snapshot() : std::get<Filter>(opened->filter).snapshot();
}

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

// Pours a filter into another of its lineage, which doubles when it is full.
void unite(Filter& all, Filter next) {
  if (!are_related(shape_of(all), shape_of(next))) {
    throw Refusal("filters with different shapes cannot be merged: " + difference(all, next) +
                  ". Build them with the same rate and the same capacity");
  }
  // First for the sum of the keys: a full filter takes long to find that it has no room.
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

}  // namespace nestline::inline v0_2::sqlite
