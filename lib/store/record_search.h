// Looks for records in a file of the log where nothing says that one begins there: at every
// multiple of 8 bytes, whatever lies between.
//
// Bytes that are no record may look like one at each of these places, because somebody made a value
// of them, or a file. So what is short is compared first: kind, lengths, sequence number, then the
// key's hash, which strangers cannot know without the store's id. Only then the value is hashed, in
// pieces. Of files that are made with the id, so many bytes may be hashed in vain as kInVain says.
// So the time is linear in the length of the file, and the memory is one window.
#ifndef NESTLINE_LIB_STORE_RECORD_SEARCH_H_
#define NESTLINE_LIB_STORE_RECORD_SEARCH_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "lib/store/disk.h"
#include "lib/store/record.h"

namespace nestline {

// Calls with(offset, bytes) for each multiple of 8 bytes from `begin` on at which a header may
// lie, before `end`, until it returns true. `bytes`: those of the file from there on, `ahead` of
// them at least unless the file ends before. Returns whether it did.
template <typename With>
bool search_file(const DiskFile& file, std::uint64_t begin, std::uint64_t end, std::size_t ahead,
                 With&& with) {
  constexpr std::size_t kWindow = std::size_t{1} << 20;
  std::vector<std::byte> window(std::min<std::uint64_t>(kWindow, end - std::min(begin, end)) +
                                ahead);
  while (begin < end) {
    const auto read = std::span(window).first(file.read(begin, window));
    const bool is_last = read.size() < window.size();
    std::size_t at = 0;
    for (; begin + at < end && at + (is_last ? kRecordHeaderBytes : ahead) <= read.size();
         at += kRecordUnit) {
      if (with(begin + at, read.subspan(at))) return true;
    }
    if (is_last) break;
    begin += at;
  }
  return false;
}

// Whether the value and the padding of a record at `place`, of which `header` is the beginning, are
// those of a record. The key has been compared. Reads them from the file in pieces.
bool has_value(const DiskFile& file, std::span<const std::byte> header, const RecordPlace& place);

class RecordSearch {
 public:
  // How many bytes of values are hashed in vain, at most, for each byte of the file.
  static constexpr std::uint64_t kInVain = 64;

  // Of the file of a segment; `place`: any place in it.
  RecordSearch(const DiskFile& file, const RecordPlace& place) : file_(file), place_(place) {}

  struct Found {
    std::uint64_t offset = 0;
    std::uint64_t sequence = 0;
  };
  // The first valid record from `offset` on whose sequence number is not below `least`.
  std::optional<Found> find(std::uint64_t offset, std::uint64_t least);

 private:
  [[nodiscard]] bool is_record(std::uint64_t offset, std::span<const std::byte> bytes,
                               const RecordHeader& header, std::uint64_t size);

  const DiskFile& file_;
  RecordPlace place_;
  std::uint64_t in_vain_ = 0;
};

}  // namespace nestline

#endif  // NESTLINE_LIB_STORE_RECORD_SEARCH_H_
