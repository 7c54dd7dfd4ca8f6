#include "lib/store/cold_reads.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace nestline { inline namespace v0_3 {
namespace {

constexpr std::uint32_t kColdPiece = 16384;  // reads are cut into pieces of this size
constexpr std::size_t kDepth = 256;          // reads that are under way at once

using Range = ColdReads::Range;

void wait_for(const Range& range) noexcept {
  std::byte nowhere[kColdPiece];
  for (std::uint32_t done = 0; done < range.bytes;) {
    const ::ssize_t got =
        ::pread(range.descriptor, nowhere, std::min(range.bytes - done, kColdPiece),
                static_cast<::off_t>(range.offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return;
    done += static_cast<std::uint32_t>(got);
  }
}

}  // namespace

void ColdReads::read_ahead(std::span<const Range> ranges) noexcept {
  while (!ranges.empty()) {
    const std::span<const Range> some = ranges.first(std::min(ranges.size(), kDepth));
    for (const Range& range : some) {
      ::readahead(range.descriptor, static_cast<::off64_t>(range.offset), range.bytes);
    }
    for (const Range& range : some) wait_for(range);
    ranges = ranges.subspan(some.size());
  }
}

bool ColdReads::is_cold(const Range& range) noexcept {
  std::byte first{};
  const ::iovec piece{&first, 1};
  return ::preadv2(range.descriptor, &piece, 1, static_cast<::off_t>(range.offset), RWF_NOWAIT) <
             0 &&
         errno == EAGAIN;
}

}}  // namespace nestline
