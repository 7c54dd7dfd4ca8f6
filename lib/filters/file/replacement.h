// Writing a file so that no reader ever sees half of it.
#ifndef NESTLINE_LIB_FILTERS_FILE_REPLACEMENT_H_
#define NESTLINE_LIB_FILTERS_FILE_REPLACEMENT_H_

#include <filesystem>
#include <functional>

#include "nestline/io.h"

namespace nestline { inline namespace v0_3 {

// Calls produce(sink), which passes the content to the sink piece by piece, and puts it at `path`
// as Output promises. When produce throws, the old file stays. Throws std::system_error.
void replace_file(const std::filesystem::path& path,
                  const std::function<void(const ByteSink& sink)>& produce);

}}  // namespace nestline

#endif  // NESTLINE_LIB_FILTERS_FILE_REPLACEMENT_H_
