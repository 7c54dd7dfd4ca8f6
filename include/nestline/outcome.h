// How inserts end. The numbers are the same in C (nestline_outcome) and in Python.
#ifndef NESTLINE_OUTCOME_H_
#define NESTLINE_OUTCOME_H_

#include <cstdint>

#include "nestline/internal/here.h"

namespace nestline { inline namespace v0_3 {

/// How an insert ended. Outcome{}, 0, has none of these names: it is not decided yet.
enum class Outcome : std::uint8_t {
  stored = 1,   ///< The key is in the filter.
  present = 2,  ///< insert_unique, and insert of an ExpiringFilter: the key was found already.
  full = 3,     ///< No room can be made. The filter is unchanged, byte for byte, unless it grows by
                ///< itself: then it may have doubled first, with the same keys in it.
  /// Every slot that this key may use holds a copy of it already, or of a key that looks the same:
  /// 2k copies (10 at 16 bits, else 8), or k for one key in n of a filter that began with n blocks,
  /// and one less to one more than k where it turns over.
  /// The filter is unchanged as with `full`; other keys are not concerned. Growing does not help.
  too_many_copies = 4,
  copies [[deprecated("too_many_copies")]] = too_many_copies,  ///< Its name in version 0.2.
};

/// What insert, insert_unique and update return. The compiler warns about code that ignores it: a
/// key that was not stored is missed by may_contain.
struct [[nodiscard("a key that is not stored will be missed: look at the outcome")]] Inserted {
  Outcome outcome;
  /// Whether the key was stored by this call.
  NESTLINE_HERE explicit operator bool() const noexcept { return outcome == Outcome::stored; }
};

}}  // namespace nestline

#endif  // NESTLINE_OUTCOME_H_
