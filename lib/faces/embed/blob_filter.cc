#include "lib/faces/embed/blob_filter.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "lib/filters/file/filter_bytes.h"

namespace nestline { inline namespace v0_3 {

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
  kernels_ = &engine_for(bits_).block;
  identity_ = identity_of(bytes);
}

BlobFilter::Identity BlobFilter::identity_of(std::span<const std::byte> bytes) noexcept {
  Identity identity;
  const auto end = std::copy_n(bytes.begin(), kFieldBytes, identity.begin());
  std::copy_n(bytes.end() - kChecksumBytes, kChecksumBytes, end);
  return identity;
}

bool BlobFilter::is_same(std::span<const std::byte> bytes) const noexcept {
  return bytes.data() == bytes_.data() && bytes.size() == bytes_.size() &&
         identity_of(bytes) == identity_;
}

unsigned BlobFilter::copies(Key key, bool any) const noexcept {
  const Place home = home_of(bits_, geometry_, hash_key(key, seed_).value);
  Block block;
  return count_copies(*kernels_, geometry_, home, any, [&](std::uint64_t number) -> const Block& {
    std::memcpy(&block, bytes_.data() + kHeaderBytes + number * kBlockBytes, kBlockBytes);
    return block;
  });
}

}}  // namespace nestline
