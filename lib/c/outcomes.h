// Why a key or a pair found no place. nestline_outcome_of tells these sentences from others by
// their addresses.
#ifndef NESTLINE_LIB_C_OUTCOMES_H_
#define NESTLINE_LIB_C_OUTCOMES_H_

namespace nestline::c {

inline constexpr char kFull[] = "the filter is full: no room can be made for the key";
inline constexpr char kCopies[] = "the filter has as many copies of the key as it can hold";
inline constexpr char kMapletFull[] = "the maplet is full: no room can be made for the pair";
inline constexpr char kMapletCopies[] =
    "the maplet has as many pairs of keys that look like this one as it can hold";

}  // namespace nestline::c

#endif  // NESTLINE_LIB_C_OUTCOMES_H_
