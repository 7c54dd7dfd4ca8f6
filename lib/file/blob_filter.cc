#include "lib/file/blob_filter.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "lib/file/file_format.h"
#include "lib/file/filter_bytes.h"
#include "lib/file/sources.h"
#include "lib/kernels/kernels.h"
#include "lib/place/geometry.h"
#include "lib/place/layout.h"

namespace nestline {

BlobFilter::BlobFilter(std::span<const std::byte> bytes) : bytes_(bytes) {
  const MemorySource source("bytes", bytes);
  const FileHeader header = read_header(source);
  // Checks need aligned blocks.
  std::vector<Block> aligned(header.section_bytes(0) / kBlockBytes);
  check_content(
      source.name(), header,
      source.at(header.checksums_offset(), static_cast<std::size_t>(header.checksums_bytes())),
      [&](std::uint64_t i) {
        const auto section =
            std::as_writable_bytes(std::span(aligned)).first(header.section_bytes(i));
        source.read(FileHeader::section_offset(i), section);
        return section;
      });
  geometry_ = header.geometry;
  seed_ = header.seed;
  bits_ = header.bits;
  kernels_ = &kernels_for(bits_);
  mark_ = mark_of(bytes);
}

BlobFilter::Mark BlobFilter::mark_of(std::span<const std::byte> bytes) noexcept {
  Mark mark;
  const auto end = std::copy_n(bytes.begin(), kFieldBytes, mark.begin());
  std::copy_n(bytes.end() - kChecksumBytes, kChecksumBytes, end);
  return mark;
}

bool BlobFilter::is_same(std::span<const std::byte> bytes) const noexcept {
  return bytes.data() == bytes_.data() && bytes.size() == bytes_.size() && mark_of(bytes) == mark_;
}

unsigned BlobFilter::copies(Key key, Question question) const noexcept {
  const std::uint64_t hash = hash_key(key, seed_).value;
  const Place home =
      visit_layout(bits_, [&](auto layout) { return home_of<decltype(layout)>(geometry_, hash); });
  Block block;
  const auto matches = [&](const Place& place) {
    std::memcpy(&block, bytes_.data() + kHeaderBytes + place.block * kBlockBytes, kBlockBytes);
    return static_cast<unsigned>(
        std::popcount(kernels_->match(block, place.fingerprint) & place.bucket));
  };
  const unsigned at_home = matches(home);
  const bool settled = at_home != 0 && question == Question::any;
  if (settled || spill_class(home.fingerprint) >= block.mark()) return at_home;
  const Place away = moved(geometry_, home);
  return away.block == home.block ? at_home : at_home + matches(away);
}

}  // namespace nestline
