#include "lib/embed/collected.h"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include "lib/embed/lineage.h"

namespace nestline::inline v0_2 {
namespace {

// The most copies that a filter of any width has of one key.
constexpr std::size_t kCopies = 10;

// Sorts, and drops what goes beyond kCopies of a hash.
void drop_surplus(std::vector<Hash>& hashes) {
  std::ranges::sort(hashes, {}, &Hash::value);
  std::size_t kept = 0;
  for (const Hash hash : hashes) {
    const bool is_surplus = kept >= kCopies && hashes[kept - kCopies].value == hash.value;
    if (!is_surplus) hashes[kept++] = hash;
  }
  hashes.resize(kept);
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

}  // namespace

void HashCollector::add(std::span<const Hash> hashes, std::uint64_t most) {
  if (hashes.size() > hashes_.capacity() - hashes_.size()) make_room(hashes.size(), most);
  hashes_.insert(hashes_.end(), hashes.begin(), hashes.end());
}

const std::vector<Hash>& HashCollector::finish() {
  if (has_much_surplus()) drop_surplus(hashes_);
  return hashes_;
}

void HashCollector::make_room(std::size_t more, std::uint64_t most) {
  if (has_much_surplus()) drop_surplus(hashes_);
  if (hashes_.size() + more > most) throw TooBig();
  if (hashes_.size() + more > hashes_.capacity() / 2) {
    hashes_.reserve(std::max(2 * hashes_.capacity(), hashes_.size() + more));
  }
}

bool HashCollector::has_much_surplus() const {
  // Of a sample of 2^14 the size has a deviation of 0.8 %.
  constexpr std::size_t kSample = std::size_t{1} << 14;
  constexpr double kEnough = 0.97;
  if (hashes_.size() < 4 * kSample) return true;
  const auto bits = static_cast<int>(std::bit_width(hashes_.size() / kSample)) - 1;
  std::vector<Hash> sample;
  for (const Hash hash : hashes_) {
    if (hash.value >> (64 - bits) == 0) sample.push_back(hash);
  }
  drop_surplus(sample);
  return static_cast<double>(sample.size()) < kEnough * static_cast<double>(hashes_.size() >> bits);
}

void CollectedBuild::set_options(double fpr, std::optional<std::int64_t> capacity) {
  if (!(fpr > 0 && fpr < 1)) {
    throw Refusal("the false-positive rate is a number above 0 and below 1");
  }
  if (capacity && *capacity < 1) throw Refusal("the capacity is a whole number above 0");
  const auto room = static_cast<std::uint64_t>(capacity.value_or(0));
  if (fpr_ && (fpr != *fpr_ || room != capacity_)) {
    throw Refusal("the false-positive rate and the capacity are the same in all rows of a group");
  }
  fpr_ = fpr;
  capacity_ = room;
}

void CollectedBuild::add(const CollectedBuild& other, std::uint64_t most) {
  if (other.fpr_) {
    const auto given = static_cast<std::int64_t>(other.capacity_);
    set_options(*other.fpr_, given != 0 ? std::optional(given) : std::nullopt);
  }
  hashes.add(other.hashes, most);
}

Filter CollectedBuild::filter(std::uint64_t longest) {
  const std::vector<Hash>& all = hashes.finish();
  const std::uint64_t fitting = std::max<std::uint64_t>(all.size(), 1);
  Options options{.capacity = capacity_ != 0 ? capacity_ : fitting, .fpr = fpr_.value_or(0)};
  while (true) {
    // A filter takes a byte a key at least.
    if (options.capacity > longest) throw TooBig();
    try {
      return Filter::build(options, all);
    } catch (const std::length_error&) {
      if (capacity_ != 0) {
        throw Refusal("no room for " + std::to_string(all.size()) + " keys in a filter for " +
                      std::to_string(capacity_) + ": give a larger capacity");
      }
      options.capacity *= 2;
    }
  }
}

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

}  // namespace nestline::inline v0_2
