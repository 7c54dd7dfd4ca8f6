// Fuzz target: for any pieces, ImageReader, from_head and load_chunk refuse them or make a value
// that works: lookups and changes succeed, and its image can be read again.
//
// A fuzzer cannot find checksums, so they are made right here. The input is cut into parts: a u16
// with the length, a byte that says how the part is used, and that many bytes. The first part is a
// head without checksum (the fields of image.h, including the magic), the others are the contents
// of the pieces in order. If the byte is odd, the part is used as it is. A first part of 112 bytes
// that begins as the head of a value with a window is taken for one, by WindowedReader.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "lib/engine/place/hash.h"
#include "lib/engine/place/little_endian.h"
#include "lib/faces/embed/value/value.h"
#include "lib/faces/embed/value/windowed_value.h"

namespace {

using namespace nestline::redis;
using nestline::Outcome;
using Bytes = std::vector<std::byte>;
// Memory that the fuzzer may use: values that need more are not filled.
constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 22;

void check(bool good) {
  if (!good) std::abort();
}

struct Part {
  bool is_raw;
  Bytes bytes;
};

std::vector<Part> parts_of(std::span<const std::byte> input) {
  std::vector<Part> parts;
  while (input.size() >= 3 && parts.size() < 64) {
    const std::size_t wanted = nestline::get<std::uint16_t>(input, 0);
    const bool is_raw = (input[2] & std::byte{1}) != std::byte{0};
    const auto content = input.subspan(3, std::min(wanted, input.size() - 3));
    parts.push_back({is_raw, {content.begin(), content.end()}});
    input = input.subspan(3 + content.size());
  }
  return parts;
}

// The head with magic, version, count of sub_filters and checksum as they should be.
Bytes repaired_head(const Part& part) {
  if (part.is_raw) return part.bytes;
  Bytes head = part.bytes;
  const std::size_t sub_filters = head.size() > 128 ? (head.size() - 128) / 32 : 0;
  head.resize(128 + 32 * sub_filters + 8);
  const Bytes magic = encode_head({});
  std::copy_n(magic.begin(), 12, head.begin());
  nestline::put(head, 12, static_cast<std::uint32_t>(sub_filters));
  nestline::put(head, head.size() - 8, nestline::checksum_bytes(head.data(), head.size() - 8));
  return head;
}

std::uint64_t bytes_of(const ImageHead& head) {
  std::uint64_t bytes = 0;
  for (const ImageSubFilter& each : head.sub_filters) {
    if (each.shape.base_blocks > kMaxBytes || bytes > kMaxBytes) return kMaxBytes + 1;
    bytes += (each.shape.base_blocks << each.shape.growth) * 64;
  }
  for (std::uint64_t i = 0; i < head.redisbloom.tables && bytes <= kMaxBytes; ++i) {
    bytes += std::min(*head.redisbloom.buckets_of(i), kMaxBytes) * head.redisbloom.bucket_size;
  }
  return bytes;
}

// A further sub_filter may be large, which costs nothing until it is read.
bool is_small(const CuckooValue& value) { return value.memory_bytes() <= 2 * kMaxBytes; }

void use(CuckooValue& value) {
  // Entries of a ledger may hide added items; without entries, added items are found.
  const bool is_plain = value.info().ledger_entries == 0;
  for (int i = 0; i < 40; ++i) {
    const std::string item = std::to_string(i % 25);
    (void)value.exists(item);
    const Outcome added = value.insert(item, value.sub_filters() + 1);
    check(!is_plain || added != Outcome::stored || (value.exists(item) && value.count(item) != 0));
    (void)value.insert(item, value.sub_filters(), Unless::present);
    (void)value.update(item, "other", value.sub_filters());
    (void)value.erase(item);
  }
  const std::vector<std::string_view> items = {"1", "2", "3", "other"};
  std::vector<std::uint8_t> found(items.size());
  value.exists(items, found);
  for (std::size_t i = 0; i < items.size(); ++i) check(value.exists(items[i]) == (found[i] != 0));
  const Info info = value.info();
  check(info.expected_fpr >= 0 && info.expected_fpr <= 1);
  value.compact();
  if (is_small(value)) (void)value.digest();
}

void use(WindowedValue& value) {
  if (!value.is_complete()) return;
  for (unsigned i = 0; i < 60; ++i) {
    const std::string item = std::to_string(i % 25);
    check(value.insert(item, 1 + i % 14) == Outcome::full || value.exists(item));
    if (i % 8 == 0) value.sweep(i);
    if (i % 20 == 0) check(value.advance(value.tick() + 1, i));
  }
  value.advance(value.tick() + 20, 0);
  check(value.filter().size() == 0 && !value.exists("1"));
}

void try_windowed(const std::vector<Part>& parts) {
  Bytes head_bytes = parts[0].bytes;
  head_bytes.resize(120);
  nestline::put(head_bytes, 112, nestline::checksum_bytes(head_bytes.data(), 112));
  WindowedReader reader;
  const auto head = WindowedValue::decode_head(head_bytes);
  check(reader.add(head_bytes) == head.has_value());
  if (!head || head->shape.stored_bytes() > kMaxBytes) return;
  const auto loaded = WindowedValue::from_head(head_bytes);
  bool is_read = true;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    Bytes piece = parts[i].bytes;
    if (!parts[i].is_raw && i <= head->pieces()) {
      const PiecePlace place{AreaKind::blocks, 0, (i - 1) * kPieceBytes,
                             head->shape.stored_bytes()};
      piece.resize(place.content_bytes());
      piece = encode_piece(place, piece);
    }
    is_read = is_read && reader.add(piece);
    (void)loaded->load_chunk(i + 1, piece);
  }
  if (const auto value = is_read ? reader.finish() : nullptr) {
    check(value->digest() == value->copy()->digest());
    WindowedReader again;
    check(again.add(value->dump_chunk(0).bytes));
    for (std::uint64_t i = 0; i < value->pieces(); ++i) check(again.add(value->piece(i)));
    check(again.finish()->digest() == value->digest());
    use(*value);
  }
  use(*loaded);
}

// Gives the pieces' contents to the reader and a value that is loaded; whether the reader took all.
bool feed(const std::vector<Part>& parts, const std::optional<ImageHead>& head, bool has_header,
          ImageReader& reader, CuckooValue& loaded) {
  bool is_read = head.has_value();
  const ImageHead known = head.value_or(ImageHead{});
  const Areas areas(known);
  PiecePlace next = areas.first();
  for (std::size_t i = 1; i < parts.size(); ++i) {
    Bytes piece = parts[i].bytes;
    std::uint64_t iterator = i + 1;
    if (head && !parts[i].is_raw) {
      PiecePlace place = next;
      if (place.kind != AreaKind::ledger) {
        piece.resize(place.content_bytes());
        next = areas.after(place);
      } else {
        place.area_bytes = kStretches;  // nothing may follow
        next.offset = kStretches - 1;
      }
      iterator = areas.iterator_after(place);
      piece = encode_piece(place, piece);
    } else if (has_header && piece.size() >= 8) {
      iterator = nestline::get<std::uint64_t>(piece, 0);
    }
    is_read = is_read && reader.add(piece);
    (void)loaded.load_chunk(iterator, piece);
  }
  return is_read;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto parts = parts_of(std::as_bytes(std::span(data, size)));
  if (parts.empty()) return 0;
  if (parts[0].bytes.size() == 112 && WindowedValue::is_head(parts[0].bytes)) {
    try_windowed(parts);
    return 0;
  }
  const Bytes head_bytes = repaired_head(parts[0]);
  ImageReader reader;
  if (!reader.add(head_bytes)) {
    check(reader.finish() == nullptr);
    if (head_bytes.size() != kRedisBloomHeaderBytes) return 0;
  }
  const auto head = decode_head(head_bytes);
  const auto header = parse_header(head_bytes);
  ImageHead sizes = head ? *head : ImageHead{};
  if (header) sizes.redisbloom = *header;
  if (bytes_of(sizes) > kMaxBytes) return 0;
  std::unique_ptr<CuckooValue> loaded;
  try {
    loaded = CuckooValue::from_head(head_bytes, 1);
  } catch (const std::invalid_argument&) {
    check(!head && !header);
    return 0;
  }
  check(head || header);
  if (feed(parts, head, header.has_value(), reader, *loaded)) {
    if (const auto value = reader.finish()) {
      check(value->digest() == value->copy()->digest());
      use(*value);
      if (!is_small(*value)) return 0;
      const bool is_ours = !value->is_redisbloom();
      ImageReader again;
      value->for_each_chunk([&](const Chunk& chunk) { check(!is_ours || again.add(chunk.bytes)); });
      if (is_ours) check(again.finish()->digest() == value->digest());
    }
  }
  use(*loaded);
  return 0;
}
