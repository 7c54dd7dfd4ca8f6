#include "lib/filters/file/file_format.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "lib/engine/place/fields.h"
#include "lib/engine/place/little_endian.h"
#include "lib/filters/filter/sizing.h"
#include "nestline/format_error.h"

namespace nestline { inline namespace v0_3 {
namespace {

using std::to_string;

// The first byte is not ASCII and cannot begin UTF-8 text. The last four change when line ends are
// converted, and stop the output when the file is typed on an old system.
constexpr std::array<std::uint8_t, 8> kMagic = {0x8e, 'N', 'S', 'T', '\r', '\n', 0x1a, '\n'};
constexpr std::size_t kNameBytes = 4;  // of the magic, before its line ends

// Where all versions have the same.
constexpr std::size_t kByteOrderAt = 8;
constexpr std::size_t kFormatVersionAt = 12;
constexpr std::size_t kHashVersionAt = 16;

// Where a version has its fields, and in how many bytes. Before the checksum there are zeros.
struct Places {
  std::size_t hash_version_bytes;
  std::size_t bits, bits_bytes;
  std::size_t growth, growth_bytes;
  std::size_t key_kinds;
  std::size_t seed;
  std::size_t base_blocks;
  std::size_t keys, count_bytes;  // two capacities follow
  std::size_t fields_end;         // except in an expiring filter's
  std::size_t life;               // the inserts that wait follow
  std::size_t exchanged;          // the blocks that are swept follow
  [[nodiscard]] std::size_t capacity() const { return keys + count_bytes; }
  [[nodiscard]] std::size_t max_capacity() const { return capacity() + count_bytes; }
  [[nodiscard]] std::size_t swept() const { return exchanged + 8; }
};
constexpr Places kPage = {4, 20, 4, 32, 4, 36, 40, 24, 48, 8, 80, 80, 88};
constexpr Places kSmall = {1, 18, 2, 17, 1, 20, 24, 32, 38, 6, 56, 56, 72};
constexpr std::size_t kFileBytesAt = 72;  // of version 1 alone

// Of a header, or what is known of one.
const Places& places_of(const auto& header) {
  return header.version == kPageVersion ? kPage : kSmall;
}
// What tells how to read the rest.
struct Start {
  std::uint32_t version;
  std::uint32_t hash_version = 0;
  std::uint32_t bits = 0;
};
constexpr auto kStart = [](auto& at, auto& head) {
  const Places& p = places_of(head);
  at(kHashVersionAt, p.hash_version_bytes, head.hash_version);
  at(p.bits, p.bits_bytes, head.bits);
};
Start start_of(std::span<const std::byte> start) {
  Start head{get<std::uint32_t>(start, kFormatVersionAt)};
  (void)get_fields(start, kStart, head);
  return head;
}

// Where the head of the blocks has it (lib/engine/place/aging.h), so that a mapping is enough to
// look up.
std::size_t tick_at(const FileHeader& header) {
  return header.header_bytes() - kHeadBlocks * kBlockBytes;
}

constexpr auto kFields = [](auto& at, auto& header) {
  const Places& p = places_of(header);
  at(p.growth, p.growth_bytes, header.geometry.growth);
  at(p.key_kinds, 4, header.key_kinds);
  at(p.seed, 8, header.seed);
  at(p.base_blocks, p.count_bytes, header.geometry.base_blocks);
  at(p.keys, p.count_bytes, header.keys, header.capacity, header.max_capacity);
};
constexpr auto kTimes = [](auto& at, auto& header) {
  const Places& p = places_of(header);
  at(p.life, 4, header.life, header.waiting);
  at(p.exchanged, 8, header.exchanged, header.swept);
  at(tick_at(header), 8, header.tick);
};

constexpr std::uint32_t kByteOrder = 0x01020304;
constexpr std::uint32_t kSwappedByteOrder = 0x04030201;

// Apart: inline, g++ 12 with AVX-512 sees an overrun in the moves of these strings that is none.
[[gnu::cold, gnu::noinline]] Flaw copy_again(std::uint64_t offset, std::string cause) {
  cause += "; copy the file again or restore it";
  return {offset, std::move(cause)};
}

[[gnu::cold, gnu::noinline]] Flaw not_ours(std::uint64_t offset, std::string cause) {
  cause += "; the file was not written by nestline, build it again";
  return {offset, std::move(cause)};
}

Flaw cut_off(std::uint64_t file_bytes) {
  return copy_again(file_bytes,
                    "the file ends within its header, after " + to_string(file_bytes) + " bytes");
}

// Whether the file begins with the magic, or, if it is shorter, with the start of it.
std::optional<Flaw> judge_magic(std::span<const std::byte> start) {
  if (start.empty()) return Flaw{0, "it is empty, but a filter has at least 144 bytes"};
  const auto magic = std::as_bytes(std::span(kMagic));
  const auto begin = start.first(std::min(start.size(), magic.size()));
  const auto differs = std::mismatch(begin.begin(), begin.end(), magic.begin()).first;
  if (differs == begin.end()) return std::nullopt;
  if (std::equal(begin.begin(), begin.end(), magic.rbegin(), magic.rend())) {
    return Flaw{0,
                "its bytes are in reverse order, but a filter file is the same on every machine; "
                "use the file as nestline wrote it"};
  }
  const auto same = static_cast<std::size_t>(differs - begin.begin());
  if (same < kNameBytes)
    return Flaw{0, "this is not a nestline filter, it begins with other bytes"};
  return Flaw{same,
              "the file was changed on its way, as a transfer as text does; transfer it again "
              "in binary mode"};
}

// Whether this is a nestline file of a version that this library reads, in the right byte order.
// All later versions have the same first 16 bytes, so that this works for them too.
std::optional<Flaw> identify(std::span<const std::byte> start) {
  if (auto flaw = judge_magic(start)) return flaw;
  if (start.size() < kFormatVersionAt) return cut_off(start.size());
  const auto order = get<std::uint32_t>(start, kByteOrderAt);
  if (order == kSwappedByteOrder) {
    return Flaw{kByteOrderAt,
                "its numbers are big-endian, but a filter file is little-endian on "
                "every machine; use the file as nestline wrote it"};
  }
  if (order != kByteOrder) {
    return copy_again(kByteOrderAt, "the byte-order mark is damaged");
  }
  if (start.size() < kHashVersionAt) return cut_off(start.size());
  const auto version = get<std::uint32_t>(start, kFormatVersionAt);
  if (version != kPageVersion && version != kSmallVersion) {
    return Flaw{kFormatVersionAt, "the format version is " + to_string(version) +
                                      ", but this library reads versions 1 and 2" +
                                      (version > kSmallVersion ? "; use a newer nestline" : "")};
  }
  if (start.size() < kLeastHeaderBytes || start.size() < header_bytes_of(start)) {
    return cut_off(start.size());
  }
  return std::nullopt;
}

std::optional<Flaw> judge_hash_version(std::uint32_t version) {
  if (version >= kHashVersion && version <= kGuestLanesHashVersion) return std::nullopt;
  static_assert(kHashVersion == 2 && kGuestLanesHashVersion == 4);
  return Flaw{kHashVersionAt,
              "its keys are placed by hash version " + to_string(version) +
                  ", but this library knows versions 2 to 4" +
                  (version > kGuestLanesHashVersion ? "; use a newer nestline" : "")};
}

// How errors name what a file holds. In the order of Kind.
constexpr std::array<const char*, 3> kNames = {"a filter", "a maplet", "an expiring filter"};

std::optional<Flaw> judge_length(const FileHeader& header, std::span<const std::byte> start,
                                 std::optional<std::uint64_t> file_bytes) {
  const std::uint64_t wanted = header.file_bytes();
  const auto stated =
      header.version == kPageVersion ? get<std::uint64_t>(start, kFileBytesAt) : wanted;
  if (stated != wanted) {
    return not_ours(kFileBytesAt, "it says it is " + to_string(stated) + " bytes long, but " +
                                      to_string(header.geometry.blocks()) + " blocks make " +
                                      to_string(wanted));
  }
  if (!file_bytes) return std::nullopt;
  if (*file_bytes < wanted) return ends_too_early(*file_bytes, wanted);
  if (*file_bytes > wanted) {
    return Flaw{wanted, to_string(*file_bytes - wanted) +
                            " bytes follow behind the end of the filter; remove them or copy the "
                            "file again"};
  }
  return std::nullopt;
}

}  // namespace

ChecksumBytes encode_checksum(std::span<const std::byte> bytes) {
  ChecksumBytes checksum;
  put(checksum, 0, checksum_bytes(bytes.data(), bytes.size()));
  return checksum;
}

std::optional<Flaw> check_fields(const FileHeader& header, Kind kind) {
  const Geometry& geometry = header.geometry;
  const Places& p = places_of(header);
  if (kind_of(header.bits) != kind || (kind == Kind::filter && !is_width(header.bits))) {
    return Flaw{p.bits, "the fingerprint width is not 8, 9, 10, 12 or 16 bits"};
  }
  const bool has_lanes = geometry.placement != Placement::anywhere;
  if (kind != Kind::filter && has_lanes) {
    return Flaw{kHashVersionAt, "only filters have this hash version"};
  }
  if (geometry.growth > max_growth(header.bits)) {
    return Flaw{p.growth, "the filter has grown " + to_string(geometry.growth) +
                              " times, but this library reads at most " +
                              to_string(max_growth(header.bits)) + " at " +
                              to_string(fingerprint_bits(header.bits)) + " bits"};
  }
  // The order matters: a shift is safe only for numbers that have passed.
  if (geometry.base_blocks == 0 || geometry.base_blocks > kMaxBlocks >> geometry.growth) {
    return Flaw{p.base_blocks, "the number of base blocks, " + to_string(geometry.base_blocks) +
                                   ", is not in 1 to " + to_string(kMaxBlocks >> geometry.growth)};
  }
  if (has_lanes && geometry.base_blocks < kLeastLaneBlocks) {
    return Flaw{p.base_blocks, "the number of base blocks, " + to_string(geometry.base_blocks) +
                                   ", is below " + to_string(kLeastLaneBlocks) +
                                   ", the least of filters that turn over"};
  }
  const std::uint64_t slots = geometry.blocks() * slots_of(header.bits);
  if (header.keys > slots) {
    return Flaw{p.keys, "it says it holds " + to_string(header.keys) + " keys, but has only " +
                            to_string(slots) + " slots"};
  }
  if (header.capacity == 0 || header.capacity > slots) {
    return Flaw{p.capacity(), "the capacity, " + to_string(header.capacity) + ", is not in 1 to " +
                                  to_string(slots) + ", the number of slots"};
  }
  // One insert doubles a filter until its capacity is enough for its keys, or at its maximum.
  if (header.max_capacity > header.capacity) {
    const std::uint64_t least = least_capacity(header.bits, geometry);
    const std::uint64_t most = std::min(slots << (max_growth(header.bits) - geometry.growth),
                                        kMaxBlocks * slots_of(header.bits));
    if (header.capacity < least) {
      return Flaw{p.capacity(), "the capacity, " + to_string(header.capacity) + ", is below " +
                                    to_string(least) +
                                    ", the least of a filter that grows by itself"};
    }
    if (header.max_capacity > most) {
      return Flaw{p.max_capacity(), "the maximal capacity, " + to_string(header.max_capacity) +
                                        ", is above " + to_string(most) +
                                        ", the number of slots after all doublings"};
    }
  }
  if (kind == Kind::expiring) {
    if (header.life == 0 || header.life > kMaxLife) {
      return Flaw{p.life, "the life, " + to_string(header.life) + ", is not in 1 to 14 ticks"};
    }
    if (header.waiting >= kSlice) {
      return Flaw{p.life + 4, "the number of inserts since the last slice of the sweep is above " +
                                  to_string(kSlice - 1)};
    }
    if (header.tick - header.exchanged >=
        kOverflowMarkTicks) {  // also where the tick was 2^64 - 1 since
      return Flaw{p.exchanged, "the last exchange of marks is not in the last 16 ticks"};
    }
    if (header.swept > geometry.blocks()) {
      return Flaw{p.swept(), "more blocks are swept than there are"};
    }
  }
  return std::nullopt;
}

std::span<const std::byte> encode_header(const FileHeader& header, HeaderBytes& room) {
  const std::span<std::byte> bytes = std::span(room).first(header.header_bytes());
  std::ranges::fill(bytes, std::byte{0});
  std::memcpy(bytes.data(), kMagic.data(), kMagic.size());
  put(bytes, kByteOrderAt, kByteOrder);
  put(bytes, kFormatVersionAt, header.version);
  const Start head{header.version, hash_version(header.geometry.placement),
                   static_cast<std::uint32_t>(header.bits)};
  put_fields(bytes, kStart, head);
  put_fields(bytes, kFields, header);
  if (is_expiring(header.bits)) put_fields(bytes, kTimes, header);
  if (header.version == kPageVersion) put(bytes, kFileBytesAt, header.file_bytes());
  const std::size_t end = bytes.size() - kChecksumBytes;
  std::ranges::copy(encode_checksum(bytes.first(end)), bytes.last(kChecksumBytes).begin());
  return bytes;
}

std::size_t header_bytes_of(std::span<const std::byte> start) {
  const Start head = start_of(start);
  FileHeader header;
  header.version = head.version;
  header.bits = static_cast<int>(head.bits);
  return header.header_bytes();
}

Flaw ends_too_early(std::uint64_t file_bytes, std::uint64_t wanted) {
  return copy_again(file_bytes,
                    "the file ends here, " + to_string(wanted - file_bytes) + " bytes too early");
}

std::optional<Flaw> decode_header(std::span<const std::byte> start,
                                  std::optional<std::uint64_t> file_bytes, FileHeader& header,
                                  const KindOfFilter& wanted) {
  if (auto flaw = identify(start)) return flaw;
  const Kind kind = wanted.kind;
  header.kind = &wanted;

  const Start head = start_of(start);
  if (auto flaw = judge_hash_version(head.hash_version)) return flaw;
  const std::size_t end = header_bytes_of(start) - kChecksumBytes;
  if (!matches_checksum(start.first(end), start.subspan(end, kChecksumBytes))) {
    return copy_again(end, "the header does not match its checksum");
  }

  header.version = head.version;
  const Places& p = places_of(header);
  // A width that does not fit an int is as wrong as 0.
  header.bits = head.bits <= static_cast<std::uint32_t>(Maplet16And16::kNumber)
                    ? static_cast<int>(head.bits)
                    : 0;
  if (const Kind found = kind_of(header.bits); found != kind) {
    const std::string name = kNames[static_cast<std::size_t>(found)];
    return Flaw{p.bits, "this is " + name + " and not " + kNames[static_cast<std::size_t>(kind)] +
                            ": load it as " + name};
  }
  header.geometry.placement = head.hash_version == kHashVersion ? Placement::anywhere
                              : head.hash_version == kOlderLanesHashVersion
                                  ? Placement::older_lanes
                                  : Placement::guest_lanes;
  (void)get_fields(start, kFields, header);
  if (kind == Kind::expiring) (void)get_fields(start, kTimes, header);
  if (auto flaw = check_fields(header, kind)) {
    return not_ours(flaw->offset, std::move(flaw->cause));
  }
  std::array<std::array<std::size_t, 2>, 3> unused = {
      {{p.key_kinds, p.seed}, {p.fields_end, end}, {0, 0}}};
  if (kind == Kind::filter) unused[0] = {};
  if (kind == Kind::expiring) {
    const std::size_t times_end = p.swept() + sizeof(header.swept), tick = tick_at(header);
    unused[1] = {times_end, std::max(times_end, tick)};
    unused[2] = {std::max(times_end, tick + sizeof(header.tick)), end};
  }
  for (const auto& [from, to] : unused) {
    if (!is_zero(start.subspan(from, to - from))) {
      return not_ours(from, "reserved bytes of the header are not 0");
    }
  }
  if ((header.key_kinds & ~kKnownKeyKinds) != 0) {
    return Flaw{p.key_kinds,
                "it names kinds of keys that this library does not know; use a newer nestline"};
  }
  return judge_length(header, start, file_bytes);
}

bool matches_checksum(std::span<const std::byte> bytes,
                      std::span<const std::byte> checksum) noexcept {
  return get<std::uint64_t>(checksum, 0) == checksum_bytes(bytes.data(), bytes.size());
}

Flaw damaged_section(const FileHeader& header, std::uint64_t i) {
  const std::uint64_t first = header.section_offset(i);
  return copy_again(first, "the blocks from here to byte " +
                               to_string(first + header.section_bytes(i) - 1) + ", section " +
                               to_string(i + 1) + " of " + to_string(header.sections()) +
                               ", do not match their checksum");
}

ContentCheck::ContentCheck(const FileHeader& header, std::span<const std::byte> checksums)
    : header_(header), engine_(header.engine()), checksums_(checksums) {}

std::optional<Flaw> ContentCheck::checksums() const {
  const std::size_t covered = checksums_.size() - kChecksumBytes;
  if (matches_checksum(checksums_.first(covered), checksums_.subspan(covered))) {
    return std::nullopt;
  }
  return copy_again(header_.checksums_offset(),
                    "the checksums of the blocks do not match their own checksum");
}

std::optional<Flaw> ContentCheck::section(std::uint64_t i, std::span<const std::byte> bytes) {
  const auto at = static_cast<std::size_t>(i) * kChecksumBytes;
  if (!matches_checksum(bytes, checksums_.subspan(at, kChecksumBytes))) {
    return damaged_section(header_, i);
  }
  return blocks(i * (kSectionBytes / kBlockBytes),
                {reinterpret_cast<const Block*>(bytes.data()), bytes.size() / kBlockBytes});
}

std::optional<Flaw> ContentCheck::blocks(std::uint64_t first, std::span<const Block> blocks) {
  for (const Block& each : blocks) {
    if (auto flaw = block(first++, each)) return flaw;
  }
  return std::nullopt;
}

std::optional<Flaw> ContentCheck::next_marks(std::uint64_t index, const Block& block) const {
  const std::uint64_t first = (index - header_.geometry.blocks()) * kBlockBytes;
  const std::uint64_t used =
      std::min<std::uint64_t>(header_.geometry.blocks() - first, kBlockBytes);
  const auto rest = std::as_bytes(std::span(block.bytes)).subspan(static_cast<std::size_t>(used));
  if (is_zero(rest)) return std::nullopt;
  return not_ours(header_.header_bytes() + index * kBlockBytes + used,
                  "bytes after the next marks are not 0");
}

namespace {

// What is wrong in a block, and at which of its bytes.
struct BlockFlaw {
  std::size_t byte;
  const char* what;
};

// The first of these slots that is wrong.
template <typename IsWrong, typename ByteOf>
std::optional<BlockFlaw> flaw_in(std::uint64_t slots, const char* what, IsWrong&& is_wrong,
                                 ByteOf&& byte_of) {
  for (; slots != 0; slots &= slots - 1) {
    const std::uint32_t s = first_slot(slots);
    if (is_wrong(s)) return BlockFlaw{byte_of(s), what};
  }
  return std::nullopt;
}

template <class L>
inline constexpr bool kTwoBytes = L::kForm == Form::halfwords || L::kForm == Form::maplet;
template <class L>
constexpr std::size_t byte_of_slot(std::uint32_t s) {
  return kTwoBytes<L> ? 2 * s : s;
}

// Of lock, version and guest level nothing but the level is stored, where there are guest lanes.
std::optional<BlockFlaw> header_flaw(const Geometry& geometry, const Block& block) {
  const std::uint32_t header = Block::to_header(block.header_word());
  const std::uint32_t stored =
      kHeaderOverflowMark | (geometry.placement == Placement::anywhere ? 0 : kHeaderGuestLevel);
  if ((header & ~stored) != 0) {
    return BlockFlaw{kOverflowMarkByte + 1, "lock and version are not 0"};
  }
  constexpr std::uint32_t kMaxOlderLevel = 12;
  if (geometry.placement == Placement::older_lanes &&
      Block::guest_level_of(header) > kMaxOlderLevel) {
    return BlockFlaw{kOverflowMarkByte + 1, "the guest level is too high"};
  }
  return std::nullopt;
}

template <class L>
std::optional<BlockFlaw> free_slot_flaw(const Block& block, std::uint64_t free) {
  static constexpr char kWhat[] = "a free slot is not all 0";
  if constexpr (L::kPlanes > 0) {
    // Nor are there bits behind an only plane.
    const std::uint64_t mask = L::kPlanes == 1 ? ~std::uint64_t{0} : L::kAllSlots;
    const auto planes = L::planes(block);
    for (std::uint32_t p = 0; p < L::kPlanes; ++p) {
      const std::uint64_t wrong = planes[p] & mask & (free | ~L::kAllSlots);
      if (wrong != 0) return BlockFlaw{L::plane_byte(p, first_slot(wrong)), kWhat};
    }
  } else if constexpr (L::kForm == Form::bytes_and_nibbles) {
    return flaw_in(
        free, kWhat, [&](std::uint32_t s) { return L::get(block, s) != 0; },
        [](std::uint32_t s) { return L::kNibbleByte + s % L::kNibbleRun; });
  } else if constexpr (L::kHasValues) {
    return flaw_in(
        free, kWhat,
        [&](std::uint32_t s) { return L::get(block, s) != 0 || L::value(block, s) != 0; },
        byte_of_slot<L>);
  }
  return std::nullopt;
}

// A slot that is dead may wait for the sweep, unless that has passed.
template <class L>
std::optional<BlockFlaw> life_flaw(const FileHeader& header, std::uint64_t index,
                                   const Block& block, std::uint64_t taken) {
  const std::uint32_t least = index < header.swept ? 1 : 0;
  const auto is_wrong = [&](std::uint32_t s) {
    const std::uint32_t left = (L::value(block, s) - static_cast<std::uint32_t>(header.tick)) & 15;
    return left < least || left > header.life + 1;
  };
  return flaw_in(taken, "a life is over or too long", is_wrong, byte_of_slot<L>);
}

template <class L>
std::optional<BlockFlaw> low_byte_flaw(const Block& block, std::uint64_t free) {
  std::uint32_t zeros = 0;
  for (std::uint32_t s = 0; s < L::kSlots; ++s) zeros += block.bytes[2 * s] == 0;
  if (zeros == static_cast<std::uint32_t>(std::popcount(free))) return std::nullopt;
  return flaw_in(
      L::kAllSlots & ~free, "a fingerprint's low byte is 0",
      [&](std::uint32_t s) { return block.bytes[2 * s] == 0; }, byte_of_slot<L>);
}

// After growth the highest bits of a fingerprint are those of its block.
template <class L>
std::optional<BlockFlaw> child_flaw(std::uint32_t growth, std::uint64_t index, const Block& block,
                                    std::uint64_t taken) {
  if (growth == 0) return std::nullopt;
  const std::uint64_t child = index & ((std::uint64_t{1} << growth) - 1);
  const std::uint32_t shift = static_cast<std::uint32_t>(L::kBits) - growth;
  return flaw_in(
      taken, "a fingerprint belongs to another block",
      [&](std::uint32_t s) { return L::get(block, s) >> shift != child; }, byte_of_slot<L>);
}

template <class L>
std::optional<BlockFlaw> slots_flaw(const FileHeader& header, std::uint64_t index,
                                    const Block& block, std::uint64_t free) {
  const std::uint64_t taken = L::kAllSlots & ~free;
  if (auto flaw = free_slot_flaw<L>(block, free)) return flaw;
  if constexpr (L::kExpires) {
    if (auto flaw = life_flaw<L>(header, index, block, taken)) return flaw;
  }
  if constexpr (kTwoBytes<L>) {
    if (auto flaw = low_byte_flaw<L>(block, free)) return flaw;
  }
  return child_flaw<L>(header.geometry.growth, index, block, taken);
}

}  // namespace

std::optional<Flaw> ContentCheck::block(std::uint64_t index, const Block& block) {
  if (index >= header_.geometry.blocks()) return next_marks(index, block);
  std::optional<BlockFlaw> flaw = header_flaw(header_.geometry, block);
  if (!flaw) {
    flaw = visit_any_layout(header_.bits, [&](auto layout) {
      using L = decltype(layout);
      const std::uint64_t free = engine_.block.free_slots(block);
      counted_ += static_cast<std::uint64_t>(std::popcount(L::kAllSlots & ~free));
      return slots_flaw<L>(header_, index, block, free);
    });
  }
  if (!flaw) return std::nullopt;
  return not_ours(header_.header_bytes() + index * kBlockBytes + flaw->byte,
                  "in block " + to_string(index) + " " + flaw->what);
}

std::optional<Flaw> ContentCheck::keys() const {
  if (counted_ == header_.keys) return std::nullopt;
  return not_ours(places_of(header_).keys, "it says it holds " + to_string(header_.keys) +
                                               " keys, but its blocks hold " + to_string(counted_));
}

}}  // namespace nestline
