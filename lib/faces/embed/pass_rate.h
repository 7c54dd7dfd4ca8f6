// The rates of the filters that a statement's thread, or a statement, asks before joins, by numbers
// that tell filters apart. Where two want the same place, one begins anew, which does no harm.
#ifndef NESTLINE_LIB_FACES_EMBED_PASS_RATE_H_
#define NESTLINE_LIB_FACES_EMBED_PASS_RATE_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "nestline/pass_rate.h"

namespace nestline { inline namespace v0_3 {

class PassRates {
 public:
  PassRate& of(std::uint64_t filter) {
    Kept& kept = kept_[filter % kPlaces];
    if (kept.filter != filter) kept = {filter, {}};
    return kept.rate;
  }

 private:
  struct Kept {
    std::uint64_t filter = 0;
    PassRate rate;
  };
  static constexpr std::size_t kPlaces = 64;
  std::array<Kept, kPlaces> kept_{};
};

}}  // namespace nestline

#endif  // NESTLINE_LIB_FACES_EMBED_PASS_RATE_H_
