// Which of Highway's instruction sets this processor has. Targets are Highway's numbers, HWY_AVX2
// and so on, one bit each; a lower bit is a better target.
//
// Highway answers the same question, but from its library, which Debian has as a shared one only:
// it would be all that the library, and a module that a server loads, need of Highway at run time.
// With this file Highway is a set of headers.
#ifndef NESTLINE_LIB_KERNELS_TARGETS_H_
#define NESTLINE_LIB_KERNELS_TARGETS_H_

#include <cstdint>

namespace nestline {

// The targets whose instructions this processor has and whose registers the system saves, whether
// they were compiled or not; or the forced one.
std::int64_t supported_targets();

// For tests and measurements: from now on supported_targets() is `target`, or the truth again when
// it is 0. Not while another thread makes a filter.
void force_target(std::int64_t target);

}  // namespace nestline

#endif  // NESTLINE_LIB_KERNELS_TARGETS_H_
