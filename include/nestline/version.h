// The version of the library that these headers belong to, for the preprocessor of C and C++. The
// numbers are written here only: CMakeLists.txt reads them from this file.
//
// Before 1.0 a new minor version may change the interface.
#ifndef NESTLINE_VERSION_H_
#define NESTLINE_VERSION_H_

#define NESTLINE_VERSION_MAJOR 0
#define NESTLINE_VERSION_MINOR 3
#define NESTLINE_VERSION_PATCH 0

/// One number that grows with the version: #if NESTLINE_VERSION >= 200 means 0.2.0 or later.
#define NESTLINE_VERSION \
  (NESTLINE_VERSION_MAJOR * 10000 + NESTLINE_VERSION_MINOR * 100 + NESTLINE_VERSION_PATCH)

/// The version as text: "0.2.0".
#define NESTLINE_VERSION_STRING                                                  \
  NESTLINE_VERSION_TEXT_(NESTLINE_VERSION_MAJOR)                                 \
  "." NESTLINE_VERSION_TEXT_(NESTLINE_VERSION_MINOR) "." NESTLINE_VERSION_TEXT_( \
      NESTLINE_VERSION_PATCH)

#define NESTLINE_VERSION_TEXT_(number) NESTLINE_VERSION_QUOTED_(number)
#define NESTLINE_VERSION_QUOTED_(number) #number

#endif  // NESTLINE_VERSION_H_
