// An exact model of an expiring filter: which keys must be found, which may be because of a key
// that looks the same, and which must not be.
//
// Two keys look the same if they have one fingerprint, one bucket offset and the same two blocks. A
// filter may take one for the other, but nobody else.
#ifndef NESTLINE_TESTS_FILTERS_EXPIRING_EXPIRING_MODEL_H_
#define NESTLINE_TESTS_FILTERS_EXPIRING_EXPIRING_MODEL_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <tuple>
#include <unordered_map>

#include "lib/engine/place/geometry.h"
#include "lib/filters/expiring/expiring_state.h"
#include "nestline/expiring_filter.h"

namespace nestline::test {

class ExpiringModel {
 public:
  explicit ExpiringModel(const ExpiringFilter& filter)
      : layout_(expiring_layout(filter.bits())),
        geometry_(ExpiringAccess::state(filter).table_of_writer().view.geometry),
        hash_of_(hasher_of(filter.seed())) {}

  // What looks the same.
  using Looks = std::tuple<std::uint32_t, std::uint32_t, std::uint64_t, std::uint64_t>;
  [[nodiscard]] Looks looks_of(Key key) const {
    return visit_expiring_layout(layout_, [&](auto layout) {
      const Place home = home_of<decltype(layout)>(geometry_, hash_of_(key).value);
      const std::uint64_t other = alternate_of(geometry_, home);
      return Looks(home.fingerprint, home.bucket_offset, std::min(home.block, other),
                   std::max(home.block, other));
    });
  }

  // Ticks until the key's death at least, this one included, and those of all that look like it at
  // most; 0: dead.
  [[nodiscard]] unsigned least(std::uint64_t key) const {
    const auto found = deaths_.find(key);
    return found == deaths_.end() ? 0 : left(found->second);
  }
  [[nodiscard]] unsigned most(std::uint64_t key) const {
    const auto found = latest_.find(looks_of(key));
    return found == latest_.end() ? 0 : left(found->second);
  }

  // An insert that was not refused.
  void insert(std::uint64_t key, unsigned life) {
    std::uint64_t& death = deaths_[key];
    death = std::max(death, now_ + life + 1);
    std::uint64_t& latest = latest_[looks_of(key)];
    latest = std::max(latest, death);
  }
  void advance(std::uint64_t ticks) { now_ += ticks; }
  void clear() {
    deaths_.clear();
    latest_.clear();
  }
  [[nodiscard]] std::uint64_t now() const { return now_; }
  // How many different keys, by their looks, are alive.
  [[nodiscard]] std::uint64_t alive() const {
    return static_cast<std::uint64_t>(std::count_if(
        latest_.begin(), latest_.end(), [&](const auto& each) { return left(each.second) != 0; }));
  }

 private:
  [[nodiscard]] unsigned left(std::uint64_t death) const {
    return death > now_ ? static_cast<unsigned>(death - now_) : 0;
  }

  int layout_;
  Geometry geometry_;
  KeyHasher hash_of_;
  std::uint64_t now_ = 0;
  std::unordered_map<std::uint64_t, std::uint64_t> deaths_;
  std::map<Looks, std::uint64_t> latest_;
};

}  // namespace nestline::test

#endif  // NESTLINE_TESTS_FILTERS_EXPIRING_EXPIRING_MODEL_H_
