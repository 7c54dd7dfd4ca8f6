#include "lib/store/record_search.h"

#include "lib/store/digest.h"
#include "lib/store/segment_format.h"

namespace nestline {
namespace {

// A list of segments has at most so many bytes.
constexpr std::uint64_t kMostListBytes = std::uint64_t{16} << 20;
// Values up to this length are compared even when too much has been hashed in vain.
constexpr std::uint64_t kShort = 4096;

// Whether a store writes records with such a header.
bool is_likely(const RecordHeader& header) {
  switch (static_cast<RecordKind>(header.kind)) {
    case RecordKind::put:
    case RecordKind::manifest_put:
      return header.key_bytes <= kMostKeyBytes;
    case RecordKind::erase:
    case RecordKind::manifest_erase:
      return header.key_bytes <= kMostKeyBytes && header.value_bytes == 0;
    case RecordKind::batch_begin:
    case RecordKind::sync_mark:
      return header.key_bytes == 0 && header.value_bytes == 16;
    case RecordKind::batch_end:
    case RecordKind::seal:
      return header.key_bytes == 0 && header.value_bytes == 0;
    case RecordKind::segments:
      return header.key_bytes == 0 && header.value_bytes <= kMostListBytes;
  }
  return false;
}

// Whether `bytes` may begin a list of segments: what looks like a list cannot have headers inside.
bool is_list(std::span<const std::byte> bytes) {
  std::uint64_t next = 0;
  for (; bytes.size() >= 16; bytes = bytes.subspan(16)) {
    const auto first = load_number<std::uint64_t>(bytes.data());
    const auto count = load_number<std::uint64_t>(bytes.data() + 8);
    if (first < next || count == 0 || count > kMostListBytes) return false;
    next = first + count;
  }
  return true;
}

}  // namespace

bool has_value(const DiskFile& file, std::span<const std::byte> header, const RecordPlace& place) {
  constexpr std::uint64_t kPiece = std::uint64_t{256} << 10;
  const RecordHeader head = read_record_header(header.data());
  LongDigest digest(place.store_id);
  std::vector<std::byte> piece(std::min<std::uint64_t>(kPiece, head.bytes()));
  std::uint64_t at = place.offset + kRecordHeaderBytes + head.key_bytes;
  for (std::uint64_t left = head.value_bytes; left > 0;) {
    const auto part = std::span(piece).first(std::min<std::uint64_t>(left, piece.size()));
    if (file.read(at, part) < part.size()) return false;
    digest.add(part);
    at += part.size();
    left -= part.size();
  }
  const auto padding = std::span(piece).first(place.offset + head.bytes() - at);
  return file.read(at, padding) == padding.size() && is_zero(padding) &&
         has_checksum(header.data(), digest.get(), place);
}

bool RecordSearch::is_record(std::uint64_t offset, std::span<const std::byte> bytes,
                             const RecordHeader& header, std::uint64_t size) {
  if (!is_likely(header) || header.bytes() > size - offset) return false;
  const std::uint64_t begin = kRecordHeaderBytes + header.key_bytes;
  if (begin > bytes.size()) return false;
  const auto* const key = reinterpret_cast<const char*>(bytes.data()) + kRecordHeaderBytes;
  if (!has_hash(header, {key, header.key_bytes}, place_.store_id)) return false;
  if (static_cast<RecordKind>(header.kind) == RecordKind::segments &&
      !is_list(
          bytes.subspan(begin, std::min<std::size_t>(header.value_bytes, bytes.size() - begin)))) {
    return false;
  }
  if (header.value_bytes > kShort && in_vain_ / kInVain > size) return false;
  const RecordPlace place = {place_.store_id, place_.segment, offset};
  const bool is_right = header.bytes() <= bytes.size() ? read_record(bytes, place).has_value()
                                                       : has_value(file_, bytes, place);
  if (!is_right) in_vain_ += header.value_bytes;
  return is_right;
}

std::optional<RecordSearch::Found> RecordSearch::find(std::uint64_t offset, std::uint64_t least) {
  std::optional<Found> found;
  const std::uint64_t size = file_.size();
  search_file(file_, offset, size, kRecordHeaderBytes + kMostKeyBytes,
              [&](std::uint64_t at, std::span<const std::byte> bytes) {
                const RecordHeader header = read_record_header(bytes.data());
                if (header.sequence >= least && is_record(at, bytes, header, size)) {
                  found = {at, header.sequence};
                }
                return found.has_value();
              });
  return found;
}

}  // namespace nestline
