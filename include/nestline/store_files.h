// Files in a store, which needs libcrypto. A file is cut into pieces: records under the SHA-256
// digest of their content, so that equal ones are stored once. A manifest names them in order.
//
// Thread safety and errors are as with Store's members. Link nestline::store_files.
#ifndef NESTLINE_STORE_FILES_H_
#define NESTLINE_STORE_FILES_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nestline/export.h"
#include "nestline/store.h"

#pragma push_macro("lines")  // <term.h>'s
#undef lines

namespace nestline { inline namespace v0_3 {

/// How put_file cuts: pieces of so many bytes, or one for each line, at most so long.
struct FilePieces {
  std::uint64_t bytes = 4096;
  bool lines = false;
};

/// Fills the span, or the front of it, and returns the number of bytes; 0 only at the end.
using FileSource = std::function<std::size_t(std::span<char>)>;
using FileSink = std::function<void(std::string_view)>;

/// What is stored under a name.
struct StoredFile {
  std::string name;
  std::uint64_t bytes = 0;
  std::uint64_t pieces = 0;
};

/// Stores what `source` gives under `name`, in place of what was there. The manifest is written
/// last, so after a crash there is the old content or the new. Returns the number of bytes. Throws
/// std::invalid_argument if pieces.bytes is 0 or more than 4 GiB - 1, and what `source` throws.
NESTLINE_EXPORT std::uint64_t put_file(Store& store, std::string_view name,
                                       const FileSource& source, const FilePieces& pieces = {});
/// Passes the content to `sink` byte for byte, and checks each piece against its digest. False if
/// there is no such file. Throws StoreError when a piece is missing or damaged.
NESTLINE_EXPORT bool get_file(const Store& store, std::string_view name, const FileSink& sink);
/// Removes the file. Its pieces, which other files may share, stay until Store::compact(), which
/// drops those that no file has (docs/STORE.md, 3). False if there is no such file.
NESTLINE_EXPORT bool erase_file(Store& store, std::string_view name);
/// All files, in the order of their names.
[[nodiscard]] NESTLINE_EXPORT std::vector<StoredFile> list_files(const Store& store);

}}  // namespace nestline

#pragma pop_macro("lines")

#endif  // NESTLINE_STORE_FILES_H_
