// How many of the keys that a filter was asked for pass, and whether it is worth to ask further:
// before work that it is to save, such as a join or a look into an engine, it is not where most
// pass.
//
//   nestline::PassRate rate;  // of this thread and this place of the program
//   for (...) { const std::size_t few = rate.select(filter, keys, positions); ... }
#ifndef NESTLINE_PASS_RATE_H_
#define NESTLINE_PASS_RATE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>

#include "nestline/keys.h"

namespace nestline { inline namespace v0_3 {

/// Counts what was asked and what passed, beside any filter. Where more than seven in eight of the
/// last kAsked keys passed, the next kPassedOver count as passed without a look, and then it asks
/// again. (So nine in ten, the share at which a question costs more than a join saves, is surely
/// noticed: a sample deviates by half a percent.) Its "yes" depends on what came before, so it is
/// for work that finds out by itself, not under "not" or as the result.
///
/// Filters have no such counts: the threads that share one would write to one cache line for each
/// batch. This has no lock and is one thread's: keep one a thread, beside its Reader. It costs an
/// addition or two a batch, or a key where keys are asked singly. Copying it copies its counts.
class PassRate {
 public:
  static constexpr std::uint32_t kAsked = 4096;
  static constexpr std::uint32_t kPassedOver = 65536;

  /// filter.may_contain(key) of a Reader, a filter of any kind or a Guard, or true without a look.
  template <class Asked>
  [[nodiscard]] NESTLINE_HERE bool may_contain(const Asked& filter, Key key) {
    if (!asks_next()) return true;
    const bool passes = filter.may_contain(key);
    note(1, passes ? 1 : 0);
    return passes;
  }
  /// filter.select(keys, positions), or the positions of all keys. A batch is asked or passed over
  /// as a whole.
  template <class Asked>
  NESTLINE_HERE std::size_t select(const Asked& filter, KeySpan keys,
                                   std::span<std::uint32_t> positions) {
    // Of another length the filter refuses them.
    if (positions.size() == keys.size() && !asks_next(keys.size())) {
      std::iota(positions.begin(), positions.end(), 0U);
      return keys.size();
    }
    const std::size_t passed = filter.select(keys, positions);
    note(keys.size(), passed);
    return passed;
  }

  /// The same in two steps, for other calls, such as may_contain of a batch: whether the next keys
  /// are to be asked, and then what came of them.
  [[nodiscard]] NESTLINE_HERE bool asks_next(std::uint64_t keys = 1) noexcept {
    if (left_ == 0) return true;
    left_ -= (std::min)(left_, keys);
    return false;
  }
  NESTLINE_HERE void note(std::uint64_t asked, std::uint64_t passed) noexcept {
    asked_ += asked;
    passed_ += passed;
    if (asked_ - asked_before_ < kAsked) return;
    if (8 * (passed_ - passed_before_) > 7 * (asked_ - asked_before_)) left_ = kPassedOver;
    asked_before_ = asked_;
    passed_before_ = passed_;
  }

  /// The share of the keys that passed, of all that were looked at; 0 before the first one.
  [[nodiscard]] NESTLINE_HERE double pass_rate() const noexcept {
    return asked_ == 0 ? 0 : static_cast<double>(passed_) / static_cast<double>(asked_);
  }

 private:
  std::uint64_t asked_ = 0;
  std::uint64_t passed_ = 0;
  std::uint64_t asked_before_ = 0;  // these samples
  std::uint64_t passed_before_ = 0;
  std::uint64_t left_ = 0;  // keys that are not asked
};

}}  // namespace nestline

#endif  // NESTLINE_PASS_RATE_H_
