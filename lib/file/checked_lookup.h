// Lookups in a mapped file that check a section before they look at a block in it.
//
// They serve only until all sections are known to be good, so they are short and not as fast as the
// kernels' own. A key that may be in a damaged section counts as having all the copies it could
// have, so an inserted key is never missed.
#ifndef NESTLINE_LIB_FILE_CHECKED_LOOKUP_H_
#define NESTLINE_LIB_FILE_CHECKED_LOOKUP_H_

#include <cstdint>

#include "lib/file/section_checks.h"
#include "lib/filter/filter_state.h"
#include "lib/filter/key_chunks.h"
#include "lib/place/geometry.h"

namespace nestline {

class CheckedLookup {
 public:
  // Both must outlive this object.
  CheckedLookup(const Filter::State& state, SectionChecks& checks)
      : state_(state), checks_(checks) {}

  [[nodiscard]] bool may_contain(std::uint64_t hash) const noexcept;
  [[nodiscard]] unsigned count(std::uint64_t hash) const noexcept;

  [[nodiscard]] const Kernels& kernels() const { return *state_.kernels; }

  // A chunk of keys: bit i % 64 of bitmap[i / 64], unused bits of the last word 0.
  void operator()(const Inputs& inputs, std::uint64_t* bitmap) const noexcept;
  // The same with the copies of each key.
  void count(const Inputs& inputs, std::uint8_t* out) const noexcept;

 private:
  // What a lookup returns: whether there is a copy, or how many copies there are.
  enum class Question { any, how_many };

  // The answer for one key, and for up to kLocateMost keys.
  [[nodiscard]] unsigned look_up(std::uint64_t hash, Question question) const noexcept;
  void look_up(const Inputs& inputs, Question question, std::uint8_t* out) const noexcept;
  // The copies of a key whose home is in a good section; `matches` are the copies at home.
  [[nodiscard]] unsigned copies(const Place& home, std::uint64_t matches,
                                Question question) const noexcept;
  [[nodiscard]] std::uint64_t match(const Place& place) const noexcept {
    return state_.kernels->match(state_.view.blocks[place.block], place.fingerprint) & place.bucket;
  }

  const Filter::State& state_;
  SectionChecks& checks_;
};

}  // namespace nestline

#endif  // NESTLINE_LIB_FILE_CHECKED_LOOKUP_H_
