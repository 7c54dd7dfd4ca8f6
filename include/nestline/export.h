// Marks what the shared library exports. The library is built with hidden visibility, so a name
// without this mark stays private, and only marked names are covered by the version number.
#ifndef NESTLINE_EXPORT_H_
#define NESTLINE_EXPORT_H_

#define NESTLINE_EXPORT __attribute__((visibility("default")))

#endif  // NESTLINE_EXPORT_H_
