// Marks what a shared library exports. All is compiled with hidden visibility, so a name without
// this mark stays private, and only marked names are covered by the version number.
#ifndef NESTLINE_EXPORT_H_
#define NESTLINE_EXPORT_H_

// Before the hundred errors that would follow. (g++ 10 gives 201709 for C++20.)
#if defined(__cplusplus) && __cplusplus <= 201703L
#error "nestline needs C++20: compile with -std=c++20"
#endif

// NESTLINE_SHARED comes with the targets of CMake and the flags of pkg-config where the library is
// a shared one; its own sources are compiled with it as well. What links a static library has a
// copy of its own, which others must not bind to: there nothing is marked, and the names are as
// visible as the program's own. A program with a shared library does without the definition too,
// but for one case: with libc++ and hidden visibility it would not catch our exceptions by their
// types.
#ifdef NESTLINE_SHARED
#define NESTLINE_EXPORT __attribute__((visibility("default")))
#else
#define NESTLINE_EXPORT
#endif

#endif  // NESTLINE_EXPORT_H_
