// Whether it is worth to ask a filter before a join: not where most keys pass.
//
// Of every kAsked keys that were asked, those that passed are counted. Where more than seven in
// eight did, the next kPassedOver are not asked, and then it is tried again. (So nine in ten, the
// share at which a question costs more than a join saves, is surely noticed: a sample deviates by
// half a percent.)
#ifndef NESTLINE_LIB_FACES_EMBED_PASS_RATE_H_
#define NESTLINE_LIB_FACES_EMBED_PASS_RATE_H_

#include <cstdint>

namespace nestline { inline namespace v0_3 {

class PassRate {
 public:
  static constexpr std::uint32_t kAsked = 4096;
  static constexpr std::uint32_t kPassedOver = 65536;
  // Whether the next key is to be asked; then note() what came of it.
  bool asks_next() noexcept { return left_ == 0 || left_-- == 0; }
  void note(bool has_passed) noexcept {
    passed_ += has_passed ? 1 : 0;
    if (++asked_ < kAsked) return;
    if (8 * passed_ > 7 * kAsked) left_ = kPassedOver;
    asked_ = passed_ = 0;
  }

 private:
  std::uint32_t asked_ = 0;
  std::uint32_t passed_ = 0;
  std::uint32_t left_ = 0;  // keys that are not asked
};

}}  // namespace nestline

#endif  // NESTLINE_LIB_FACES_EMBED_PASS_RATE_H_
