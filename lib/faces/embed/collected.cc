#include "lib/faces/embed/collected.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "lib/faces/embed/lineage.h"

namespace nestline { inline namespace v0_3 {
namespace {

// Sorts, and drops what goes beyond these copies of a hash.
void drop_surplus(HashCollector::Hashes& hashes, std::size_t copies) {
  std::ranges::sort(hashes, {}, &Hash::value);
  std::size_t kept = 0;
  for (const Hash hash : hashes) {
    const bool is_surplus = kept >= copies && hashes[kept - copies].value == hash.value;
    if (!is_surplus) hashes[kept++] = hash;
  }
  hashes.resize(kept);
}

bool has_much_surplus(const HashCollector::Hashes& hashes, std::size_t copies) {
  // Of a sample of 2^13 the size has a deviation of 1.1 %.
  constexpr std::size_t kSample = std::size_t{1} << 13;
  constexpr double kEnough = 0.97;
  if (hashes.size() < 4 * kSample) return true;
  const auto bits = static_cast<int>(std::bit_width(hashes.size() / kSample)) - 1;
  HashCollector::Hashes sample;
  for (const Hash hash : hashes) {
    if (hash.value >> (64 - bits) == 0) sample.push_back(hash);
  }
  drop_surplus(sample, copies);
  return static_cast<double>(sample.size()) < kEnough * static_cast<double>(hashes.size() >> bits);
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
}

std::span<const Hash> HashCollector::finish(std::uint64_t most) {
  if (last_ != nullptr) whole_.push_back(std::move(last_));
  if (whole_.empty()) return {};
  const bool has_surplus = whole_.size() == 1 && has_much_surplus(*whole_[0], copies_);
  if (whole_.size() > 1 || has_surplus) {
    std::size_t all = 0;
    for (const auto& hashes : whole_) all += hashes->size();
    auto joined = std::make_shared<Hashes>();
    joined->reserve(all);
    for (const auto& hashes : whole_) joined->insert(joined->end(), hashes->begin(), hashes->end());
    if (has_surplus || has_much_surplus(*joined, copies_)) drop_surplus(*joined, copies_);
    whole_.assign(1, std::move(joined));
  }
  if (whole_[0]->size() > most) throw TooBig();
  return *whole_[0];
}

void HashCollector::make_room(std::size_t more, std::uint64_t most) {
  if (has_much_surplus(*last_, copies_)) drop_surplus(*last_, copies_);
  const std::size_t needed = last_->size() + more;
  if (needed > most) throw TooBig();
  if (needed > last_->capacity() / 2) last_->reserve(std::max(2 * last_->capacity(), needed));
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

void CollectedBuild::add(const CollectedBuild& other) {
  if (other.fpr_) {
    const auto given = static_cast<std::int64_t>(other.capacity_);
    set_options(*other.fpr_, given != 0 ? std::optional(given) : std::nullopt);
  }
  hashes.add(other.hashes);
}

Filter CollectedBuild::filter(std::uint64_t longest) {
  const std::span<const Hash> all = hashes.finish(longest);
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
    Quota share(1, 1);
    migrate(next, all, share, IfFull::goes);
    if (next.size() != 0 && !all.grow()) {
      throw Refusal("no room for the keys of all filters: build them with a larger capacity");
    }
  }
}

}}  // namespace nestline
