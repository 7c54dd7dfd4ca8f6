#include "lib/faces/embed/collected.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lib/faces/embed/lineage.h"
#include "lib/filters/filter/blocks.h"
#include "lib/filters/filter/bulk_build.h"
#include "lib/filters/filter/growth.h"
#include "lib/filters/filter/sizing.h"

namespace nestline { inline namespace v0_3 {
namespace {

using Hashes = HashCollector::Hashes;
using Pieces = std::vector<std::shared_ptr<const Hashes>>;

// Writes hashes to `to`, in the order of the bits of `ends.size() - 1` from the bit `shift` on. The
// ends become where the hashes of each value end. Returns the most hashes of a value.
std::size_t distribute(auto&& for_each, unsigned shift, std::vector<std::size_t>& all_ends,
                       Hash* to) {
  std::ranges::fill(all_ends, 0);
  // Copies: the compiler knows that no store changes them.
  std::size_t* const ends = all_ends.data();
  const std::uint64_t mask = all_ends.size() - 1;
  for_each([=](Hash hash) { ++ends[hash.value >> shift & mask]; });
  std::size_t most = 0, sum = 0;
  for (std::size_t& end : all_ends) {
    most = std::max(most, end);
    sum += std::exchange(end, sum);
  }
  for_each([=](Hash hash) { to[ends[hash.value >> shift & mask]++] = hash; });
  return most;
}

// Sorts a part that is nearly sorted.
void insert_each(std::span<Hash> part) {
  for (std::size_t i = 1; i < part.size(); ++i) {
    const Hash hash = part[i];
    std::size_t at = i;
    for (; at != 0 && part[at - 1].value > hash.value; --at) part[at] = part[at - 1];
    part[at] = hash;
  }
}

// Puts ascending hashes behind the `kept` that `to` has, but for those that go beyond these copies
// of one. Returns how many it has then.
std::size_t keep_copies(std::span<const Hash> sorted, std::size_t copies, std::span<Hash> to,
                        std::size_t kept) {
  for (const Hash hash : sorted) {
    const bool is_surplus = kept >= copies && to[kept - copies].value == hash.value;
    if (!is_surplus) to[kept++] = hash;
  }
  return kept;
}

// All hashes but what goes beyond these copies of one, in ascending order.
//
// Hashes are spread evenly. So they are distributed by their highest bits to parts that fit the
// second-level cache, then each part by the next bits; then few are in a wrong place. Where many
// have equal bits, as copies have, a part takes O(n log n).
std::shared_ptr<Hashes> without_surplus(Pieces pieces, std::size_t copies) {
  constexpr int kPartBits = 13;
  constexpr int kMostBits = 10;  // more places to write to at once would be beyond the caches
  constexpr int kMostLowBits = 16;
  constexpr std::size_t kFew = 64;
  std::size_t count = 0;
  for (const auto& piece : pieces) count += piece->size();
  const auto bits_of = [](std::size_t n) { return static_cast<int>(std::bit_width(n)) - 1; };
  const int bits = std::clamp(bits_of(count) - kPartBits, 1, kMostBits);
  std::vector<std::size_t> part_ends(std::size_t{1} << bits), ends;
  auto all = std::make_shared<Hashes>(count);
  distribute(
      [&](auto&& visit) {
        for (const auto& piece : pieces) std::ranges::for_each(*piece, visit);
      },
      static_cast<unsigned>(64 - bits), part_ends, all->data());
  pieces.clear();
  Hashes sorted;
  std::size_t first = 0, kept = 0;
  for (const std::size_t end : part_ends) {
    const std::span part(all->data() + first, end - first);
    first = end;
    const int low_bits = std::clamp(bits_of(part.size()) + 1, 1, kMostLowBits);
    ends.resize(std::size_t{1} << low_bits);
    sorted.resize(part.size());
    const std::size_t most =
        distribute([&](auto&& visit) { std::ranges::for_each(part, visit); },
                   static_cast<unsigned>(64 - bits - low_bits), ends, sorted.data());
    if (most > kFew) {
      std::ranges::sort(sorted, {}, &Hash::value);
    } else {
      insert_each(sorted);
    }
    kept = keep_copies(sorted, copies, *all, kept);
  }
  all->resize(kept);
  return all;
}

bool has_much_surplus(const Hashes& hashes, std::size_t copies) {
  // Of a sample of 2^13 the size has a deviation of 1.1 %.
  constexpr std::size_t kSample = std::size_t{1} << 13;
  constexpr double kEnough = 0.97;
  if (hashes.size() < 4 * kSample) return true;
  const auto bits = static_cast<int>(std::bit_width(hashes.size() / kSample)) - 1;
  const auto sample = std::make_shared<Hashes>();
  for (const Hash hash : hashes) {
    if (hash.value >> (64 - bits) == 0) sample->push_back(hash);
  }
  const std::size_t kept = without_surplus({sample}, copies)->size();
  return static_cast<double>(kept) < kEnough * static_cast<double>(hashes.size() >> bits);
}

// The steps of a build, on this thread, with pauses between them.
class PausingTasks final : public BuildTasks {
 public:
  explicit PausingTasks(const std::function<void()>& pause) : pause_(pause) {}
  [[nodiscard]] bool are_on_one_thread() const override { return true; }
  void for_each(std::size_t count, const Work& work) override {
    for (std::size_t i = 0; i < count; ++i) {
      if (pause_) pause_();
      work(i, scratch_);
    }
  }

 private:
  const std::function<void()>& pause_;
  BuildScratch scratch_;
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

// `what`: which the filters cannot be.
[[noreturn]] void refuse_kinds(KeyKinds one, KeyKinds other, const char* what) {
  throw Refusal("filters of keys of kind " + key_kinds_text(one) + " and " + key_kinds_text(other) +
                " cannot be " + what + ": they are different keys");
}
// Where both have some of these kinds, but not the same ones.
void refuse_other_kinds(KeyKinds one, KeyKinds other, KeyKinds kinds, const char* what) {
  const bool have_both = (one & kinds) != 0 && (other & kinds) != 0;
  if (have_both && ((one ^ other) & kinds) != 0) refuse_kinds(one, other, what);
}
void refuse_other_times_and_rows(KeyKinds one, KeyKinds other, const char* what) {
  refuse_other_kinds(one, other, kDateKeys | kTimestampKeys | kTimestampWithZoneKeys, what);
  refuse_other_kinds(one, other, kTimeKeys | kTimeWithZoneKeys, what);
  refuse_other_kinds(one, other, kRowKeys | ~KeyKinds{0} << kMemberShift, what);
}

}  // namespace

void HashCollector::add(std::span<const Hash> hashes, std::uint64_t most) {
  if (has_few_alone() && hashes.size() <= few_.size() - few_count_) {
    std::ranges::copy(hashes, few_.begin() + static_cast<std::ptrdiff_t>(few_count_));
    few_count_ += hashes.size();
    return;
  }
  if (last_.use_count() != 1) {
    if (last_ != nullptr) whole_.push_back(std::move(last_));
    last_ = std::make_shared<Hashes>();
  }
  if (hashes.size() > last_->capacity() - last_->size()) make_room(hashes.size(), most);
  last_->insert(last_->end(), hashes.begin(), hashes.end());
}

void HashCollector::add(const HashCollector& other) {
  whole_.insert(whole_.end(), other.whole_.begin(), other.whole_.end());
  if (other.last_ != nullptr) whole_.push_back(other.last_);
  add(std::span(other.few_).first(other.few_count_), std::numeric_limits<std::size_t>::max());
}

std::span<const Hash> HashCollector::finish(std::uint64_t most) {
  const std::span few = std::span(few_).first(few_count_);
  if (has_few_alone()) {
    std::ranges::sort(few, {}, &Hash::value);
    few_count_ = keep_copies(few, copies_, few, 0);
    if (few_count_ > most) throw TooBig();
    return std::span(few_).first(few_count_);
  }
  if (!few.empty()) whole_.push_back(std::make_shared<Hashes>(few.begin(), few.end()));
  few_count_ = 0;
  if (last_ != nullptr) whole_.push_back(std::move(last_));
  const auto all = without_surplus(std::move(whole_), copies_);
  whole_.assign(1, all);
  if (all->size() > most) throw TooBig();
  return *all;
}

void HashCollector::make_room(std::size_t more, std::uint64_t most) {
  if (!last_->empty() && has_much_surplus(*last_, copies_)) {
    Pieces full;
    full.push_back(std::move(last_));
    last_ = without_surplus(std::move(full), copies_);
  }
  const std::size_t needed = last_->size() + more;
  if (needed > most) throw TooBig();
  if (needed > last_->capacity() / 2) last_->reserve(std::max(2 * last_->capacity(), needed));
}

void require_key_kinds(KeyKinds built, KeyKinds asked) {
  // A row of two numbers is no row of a number and a text.
  const bool are_other_rows =
      (asked & (kRowKeys | kArrayKeys)) != 0 && (asked ^ built) >> kMemberShift != 0;
  if (built == 0 || ((asked & ~built) == 0 && !are_other_rows)) return;
  throw Refusal("the filter was built of keys of kind " + key_kinds_text(built) +
                ", and this key is of kind " + key_kinds_text(asked) +
                ": they are different keys, so cast one to the type of the other");
}

void require_comparable_kinds(KeyKinds one, KeyKinds other) {
  if (one == 0 || other == 0) return;
  if ((one & ~other) != 0 && (other & ~one) != 0) refuse_kinds(one, other, "compared");
  refuse_other_kinds(one, other, kNumberKeys | kFloatKeys, "compared");
  refuse_other_times_and_rows(one, other, "compared");
}

void take_key_kinds(Filter& filter, KeyKinds kinds) {
  const KeyKinds named = filter.key_kinds();
  require_key_kinds(named, kinds);
  if (named != 0 || filter.size() == 0) FilterAccess::blocks(filter).key_kinds = named | kinds;
}

void insert_all(Filter& filter, std::span<const Hash> hashes) {
  std::vector<Outcome> outcomes(hashes.size());
  (void)filter.insert(hashes, outcomes);
  if (std::ranges::find(outcomes, Outcome::full) != outcomes.end()) {
    throw Refusal("no room for all of these keys: build the filter with a larger capacity");
  }
}

void BuildOptions::set(double given_fpr, std::optional<std::int64_t> given_capacity) {
  if (!(given_fpr > 0 && given_fpr < 1)) {
    throw Refusal("the false-positive rate is a number above 0 and below 1");
  }
  if (given_capacity && *given_capacity < 1) {
    throw Refusal("the capacity is a whole number above 0");
  }
  const auto room = static_cast<std::uint64_t>(given_capacity.value_or(0));
  if (fpr && (given_fpr != *fpr || room != capacity)) {
    throw Refusal("the false-positive rate and the capacity are the same in all rows of a group");
  }
  fpr = given_fpr;
  capacity = room;
}

void BuildOptions::add(const BuildOptions& other) {
  if (!other.fpr) return;
  const auto given = static_cast<std::int64_t>(other.capacity);
  set(*other.fpr, given != 0 ? std::optional(given) : std::nullopt);
}

namespace {

// A filter of so few keys that inserts are faster than what a build in bulk begins with; nothing
// where that is to decide.
std::optional<Filter> of_few(const Options& options, std::span<const Hash> keys) {
  constexpr std::size_t kFew = 32;
  if (keys.size() > kFew || options.capacity > kFew) return std::nullopt;
  // To decide on a shape takes longer than all the rest, and few capacities have one rate.
  // Not in thread_local memory itself, of which a library that is loaded has little.
  struct Shapes {
    double fpr = -1;
    std::array<std::optional<Shape>, kFew + 1> of;
  };
  static thread_local const auto shapes = std::make_unique<Shapes>();
  if (shapes->fpr != options.fpr) *shapes = {options.fpr, {}};
  std::optional<Shape>& shape = shapes->of[options.capacity];
  if (!shape) shape = decide_size(options).shape(options.seed);
  Filter filter = FilterAccess::make(make_blocks(*shape, options.memory));
  const bool are_in = std::ranges::all_of(keys, [&](Hash key) { return bool{filter.insert(key)}; });
  return are_in ? std::optional(std::move(filter)) : std::nullopt;
}

}  // namespace

Filter BuildOptions::filter(std::span<const Hash> keys, KeyKinds key_kinds, std::uint64_t longest,
                            const std::function<void()>& pause) const {
  const std::uint64_t fitting = std::max<std::uint64_t>(keys.size(), 1);
  Options options{.capacity = capacity != 0 ? capacity : fitting, .fpr = fpr.value_or(0)};
  while (true) {
    PausingTasks tasks(pause);  // keeps memory of the build
    // A filter takes a byte a key at least.
    if (options.capacity > longest) throw TooBig();
    try {
      std::optional<Filter> few = of_few(options, keys);
      Filter built = few ? *std::move(few) : build_in_bulk(options, keys, {}, tasks);
      FilterAccess::blocks(built).key_kinds = key_kinds;
      return built;
    } catch (const std::length_error&) {
      if (capacity != 0) {
        throw Refusal("no room for " + std::to_string(keys.size()) + " keys in a filter for " +
                      std::to_string(capacity) + ": give a larger capacity");
      }
      options.capacity *= 2;
    }
  }
}

void CollectedBuild::add(const CollectedBuild& other) {
  options_.add(other.options_);
  hashes.add(other.hashes);
  key_kinds |= other.key_kinds;
}

Filter CollectedBuild::filter(std::uint64_t longest) {
  return options_.filter(hashes.finish(longest), key_kinds, longest);
}

void unite(Filter& all, Filter next) {
  if (all.size() != 0 && next.size() != 0) {
    refuse_other_times_and_rows(all.key_kinds(), next.key_kinds(), "merged");
  }
  if (!are_related(shape_of(all), shape_of(next))) {
    if (next.size() == 0) return;
    if (all.size() == 0) {
      all = std::move(next);
      return;
    }
    throw Refusal("filters with different shapes cannot be merged: " + difference(all, next) +
                  ". Build them with the same rate and the same capacity");
  }
  FilterAccess::blocks(all).key_kinds =
      united_key_kinds(FilterAccess::blocks(all), FilterAccess::blocks(next));
  // First for the sum of the keys: a full filter takes long to find that it has no room.
  while (all.capacity() < all.size() + next.size() && all.grow()) continue;
  while (next.size() != 0) {
    Quota share(1, 1);
    migrate(next, all, share, IfFull::goes);
    if (next.size() != 0 && !all.grow()) {
      throw Refusal("no room for the keys of all filters: build them with a larger capacity");
    }
  }
}

}}  // namespace nestline
