// Marks what the shared library exports. The library is built with hidden visibility, so a name
// without this mark stays private, and only marked names are covered by the version number.
#ifndef NESTLINE_EXPORT_H_
#define NESTLINE_EXPORT_H_

// Before the hundred errors that would follow. nestline.h, for C, is also for older C++. (g++ 10
// gives 201709 for C++20.)
#if defined(__cplusplus) && __cplusplus <= 201703L && !defined(NESTLINE_NESTLINE_H_)
#error "nestline needs C++20: compile with -std=c++20"
#endif

#define NESTLINE_EXPORT __attribute__((visibility("default")))

#endif  // NESTLINE_EXPORT_H_
