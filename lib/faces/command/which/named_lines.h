// Lines of many files, each file under its name, in one file (bytes: docs/FORMAT.md, section 14): a
// maplet from lines to the numbers of names. A line that is in more files than a maplet has pairs
// for has the value anywhere(), and may then be in all of them.
#ifndef NESTLINE_LIB_FACES_COMMAND_WHICH_NAMED_LINES_H_
#define NESTLINE_LIB_FACES_COMMAND_WHICH_NAMED_LINES_H_

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/system/system.h"
#include "nestline/maplet.h"

namespace nestline { inline namespace v0_3 { namespace command {

/// By their numbers. An empty one is free.
using Names = std::vector<std::string>;

inline constexpr std::size_t kMostNames = 65535;  // that values of 16 bits have, beside anywhere()

/// Not of an empty one, nor of one that cannot be told from what is printed around it.
inline bool is_name(std::string_view text) {
  return !text.empty() && text.find_first_of(std::string_view("\t\n\0", 3)) == text.npos;
}

/// A file, mapped, of which the names have been read and checked.
class NamedLinesFile {
 public:
  /// Throws FormatError, std::system_error.
  explicit NamedLinesFile(const std::string& path);
  ~NamedLinesFile() { unmap_file(bytes_); }
  NamedLinesFile& operator=(NamedLinesFile&&) = delete;

  [[nodiscard]] const Names& names() const noexcept { return names_; }
  /// What `work` returns, which gets the bytes of the maplet. The offset of a FormatError that it
  /// throws becomes one of the file.
  auto with_maplet(const auto& work) const {
    try {
      return work(std::span<const std::byte>(bytes_).subspan(start_));
    } catch (const FormatError& error) {
      throw FormatError(path_, start_ + error.offset, error.cause);
    }
  }

 private:
  NamedLinesFile(const RegularFile& file, std::string path);
  void read_names();

  std::string path_;
  std::span<std::byte> bytes_;
  std::size_t start_ = 0;  // of the maplet
  Names names_;
};

struct NamedLines {
  Names names;
  Maplet lines;
};
/// Throws FormatError, std::system_error, std::bad_alloc.
NamedLines load_named(const std::string& file);
/// Replaces the file in one step. Throws std::system_error.
void save_named(NamedLines&& all, const std::string& file);

}}}  // namespace nestline::command

#endif  // NESTLINE_LIB_FACES_COMMAND_WHICH_NAMED_LINES_H_
