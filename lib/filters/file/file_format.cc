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

// Where the fields are. There are only zeros between the last one and the checksum.
constexpr std::size_t kByteOrderAt = 8;
constexpr std::size_t kFormatVersionAt = 12;
constexpr std::size_t kHashVersionAt = 16;
constexpr std::size_t kBitsAt = 20;
constexpr std::size_t kBaseBlocksAt = 24;
constexpr std::size_t kGrowthAt = 32;
constexpr std::size_t kKeyKindsAt = 36;
constexpr std::size_t kSeedAt = 40;
constexpr std::size_t kKeysAt = 48;
constexpr std::size_t kCapacityAt = 56;
constexpr std::size_t kMaxCapacityAt = 64;
constexpr std::size_t kFileBytesAt = 72;
constexpr std::size_t kFieldsEnd = 80;  // except in an expiring filter's
constexpr std::size_t kLifeAt = 80;
constexpr std::size_t kWaitingAt = 84;
constexpr std::size_t kExchangedAt = 88;
constexpr std::size_t kSweptAt = 96;
constexpr std::size_t kExpiringFieldsEnd = 104;
// Where the head of the blocks has it (lib/engine/place/aging.h), so that a mapping is enough to
// look up.
constexpr std::size_t kTickAt = kHeaderBytes - kHeadBlocks * kBlockBytes;
constexpr std::size_t kHeaderChecksumAt = kHeaderBytes - kChecksumBytes;

// Between width and length.
constexpr auto kFields = [](auto& at, auto& header) {
  at(kBaseBlocksAt, 8, header.geometry.base_blocks);
  at(kGrowthAt, 4, header.geometry.growth, header.key_kinds);
  at(kSeedAt, 8, header.seed, header.keys, header.capacity, header.max_capacity);
};
constexpr auto kExpiringFields = [](auto& at, auto& header) {
  at(kLifeAt, 4, header.life, header.waiting);
  at(kExchangedAt, 8, header.exchanged, header.swept);
  at(kTickAt, 8, header.tick);
};

constexpr std::uint32_t kByteOrder = 0x01020304;
constexpr std::uint32_t kSwappedByteOrder = 0x04030201;

Flaw copy_again(std::uint64_t offset, std::string cause) {
  return {offset, std::move(cause) + "; copy the file again or restore it"};
}

Flaw not_ours(std::uint64_t offset, std::string cause) {
  return {offset, std::move(cause) + "; the file was not written by nestline, build it again"};
}

Flaw cut_off(std::uint64_t file_bytes) {
  return copy_again(file_bytes, "the file ends within its header, after " + to_string(file_bytes) +
                                    " of 4096 bytes");
}

// Whether the file begins with the magic, or, if it is shorter, with the start of it.
std::optional<Flaw> judge_magic(std::span<const std::byte> start) {
  if (start.empty()) return Flaw{0, "it is empty, but a filter has at least 4176 bytes"};
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
  if (version != kFormatVersion) {
    return Flaw{kFormatVersionAt, "the format version is " + to_string(version) +
                                      ", but this library reads version " +
                                      to_string(kFormatVersion) +
                                      (version > kFormatVersion ? "; use a newer nestline" : "")};
  }
  if (start.size() < kHeaderBytes) return cut_off(start.size());
  return std::nullopt;
}

std::optional<Flaw> judge_hash_version(std::uint32_t version) {
  if (version == kHashVersion || version == kGuestLanesHashVersion) return std::nullopt;
  return Flaw{kHashVersionAt,
              "its keys are placed by hash version " + to_string(version) +
                  ", but this library knows versions " + to_string(kHashVersion) + " and " +
                  to_string(kGuestLanesHashVersion) +
                  (version > kGuestLanesHashVersion ? "; use a newer nestline" : "")};
}

// How errors name what a file holds. In the order of Kind.
constexpr std::array<const char*, 3> kNames = {"a filter", "a maplet", "an expiring filter"};

std::optional<Flaw> judge_length(const FileHeader& header, std::uint64_t stated,
                                 std::optional<std::uint64_t> file_bytes) {
  const std::uint64_t wanted = header.file_bytes();
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
  if (kind_of(header.bits) != kind || (kind == Kind::filter && !is_width(header.bits))) {
    return Flaw{kBitsAt, "the fingerprint width is not 8, 9, 10, 12 or 16 bits"};
  }
  if (kind != Kind::filter && has_guest_lanes(geometry)) {
    return Flaw{kHashVersionAt, "its keys are placed by hash version " +
                                    to_string(kGuestLanesHashVersion) +
                                    ", as those of filters alone can be"};
  }
  if (geometry.growth > max_growth(header.bits)) {
    return Flaw{kGrowthAt, "the filter has grown " + to_string(geometry.growth) +
                               " times, but this library reads at most " +
                               to_string(max_growth(header.bits)) + " at " +
                               to_string(fingerprint_bits(header.bits)) + " bits"};
  }
  // The order matters: a shift is safe only for numbers that have passed.
  if (geometry.base_blocks == 0 || geometry.base_blocks > kMaxBlocks >> geometry.growth) {
    return Flaw{kBaseBlocksAt, "the number of base blocks, " + to_string(geometry.base_blocks) +
                                   ", is not in 1 to " + to_string(kMaxBlocks >> geometry.growth)};
  }
  if (has_guest_lanes(geometry) && geometry.base_blocks < kLeastLaneBlocks) {
    return Flaw{kBaseBlocksAt, "the number of base blocks, " + to_string(geometry.base_blocks) +
                                   ", is below " + to_string(kLeastLaneBlocks) +
                                   ", the least in hash version " +
                                   to_string(kGuestLanesHashVersion)};
  }
  const std::uint64_t slots = geometry.blocks() * slots_of(header.bits);
  if (header.keys > slots) {
    return Flaw{kKeysAt, "it says it holds " + to_string(header.keys) + " keys, but has only " +
                             to_string(slots) + " slots"};
  }
  if (header.capacity == 0 || header.capacity > slots) {
    return Flaw{kCapacityAt, "the capacity, " + to_string(header.capacity) + ", is not in 1 to " +
                                 to_string(slots) + ", the number of slots"};
  }
  // One insert doubles a filter until its capacity is enough for its keys, or at its maximum.
  if (header.max_capacity > header.capacity) {
    const std::uint64_t least = least_capacity(header.bits, geometry);
    const std::uint64_t most = std::min(slots << (max_growth(header.bits) - geometry.growth),
                                        kMaxBlocks * slots_of(header.bits));
    if (header.capacity < least) {
      return Flaw{kCapacityAt, "the capacity, " + to_string(header.capacity) + ", is below " +
                                   to_string(least) +
                                   ", the least of a filter that grows by itself"};
    }
    if (header.max_capacity > most) {
      return Flaw{kMaxCapacityAt, "the maximal capacity, " + to_string(header.max_capacity) +
                                      ", is above " + to_string(most) +
                                      ", the number of slots after all doublings"};
    }
  }
  if (kind == Kind::expiring) {
    if (header.life == 0 || header.life > kMaxLife) {
      return Flaw{kLifeAt, "the life, " + to_string(header.life) + ", is not in 1 to 14 ticks"};
    }
    if (header.waiting >= kSlice) {
      return Flaw{kWaitingAt, "the number of inserts since the last slice of the sweep is above " +
                                  to_string(kSlice - 1)};
    }
    if (header.tick - header.exchanged >=
        kOverflowMarkTicks) {  // also where the tick was 2^64 - 1 since
      return Flaw{kExchangedAt, "the last exchange of marks is not in the last 16 ticks"};
    }
    if (header.swept > geometry.blocks()) {
      return Flaw{kSweptAt, "more blocks are swept than there are"};
    }
  }
  return std::nullopt;
}

HeaderBytes encode_header(const FileHeader& header) {
  HeaderBytes bytes{};
  std::memcpy(bytes.data(), kMagic.data(), kMagic.size());
  put(bytes, kByteOrderAt, kByteOrder);
  put(bytes, kFormatVersionAt, kFormatVersion);
  put(bytes, kHashVersionAt, hash_version(header.geometry.placement));
  put(bytes, kBitsAt, static_cast<std::uint32_t>(header.bits));
  put(bytes, kFileBytesAt, header.file_bytes());
  put_fields(bytes, kFields, header);
  put_fields(bytes, kExpiringFields, header);
  const ChecksumBytes checksum = encode_checksum(std::span(bytes).first(kHeaderChecksumAt));
  std::ranges::copy(checksum, bytes.begin() + kHeaderChecksumAt);
  return bytes;
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

  const auto version = get<std::uint32_t>(start, kHashVersionAt);
  if (auto flaw = judge_hash_version(version)) return flaw;
  if (!matches_checksum(start.first(kHeaderChecksumAt), start.subspan(kHeaderChecksumAt))) {
    return copy_again(kHeaderChecksumAt, "the header does not match its checksum");
  }

  // A width that does not fit an int is as wrong as 0.
  const auto bits = get<std::uint32_t>(start, kBitsAt);
  header.bits =
      bits <= static_cast<std::uint32_t>(Maplet16And16::kNumber) ? static_cast<int>(bits) : 0;
  if (const Kind found = kind_of(header.bits); found != kind) {
    const std::string name = kNames[static_cast<std::size_t>(found)];
    return Flaw{kBitsAt, "this is " + name + " and not " + kNames[static_cast<std::size_t>(kind)] +
                             ": load it as " + name};
  }
  header.geometry.placement =
      version == kGuestLanesHashVersion ? Placement::guest_lanes : Placement::anywhere;
  (void)get_fields(start, kFields, header);
  if (kind == Kind::expiring) (void)get_fields(start, kExpiringFields, header);
  if (auto flaw = check_fields(header, kind)) {
    return not_ours(flaw->offset, std::move(flaw->cause));
  }
  std::array<std::array<std::size_t, 2>, 3> unused = {
      {{kKeyKindsAt, kSeedAt}, {kFieldsEnd, kHeaderChecksumAt}, {0, 0}}};
  if (kind == Kind::filter) unused[0] = {};
  if (kind == Kind::expiring) {
    unused[1] = {kExpiringFieldsEnd, kTickAt};
    unused[2] = {kTickAt + sizeof(header.tick), kHeaderChecksumAt};
  }
  for (const auto& [from, to] : unused) {
    if (!is_zero(start.subspan(from, to - from))) {
      return not_ours(from, "reserved bytes of the header are not 0");
    }
  }
  if ((header.key_kinds & ~kKnownKeyKinds) != 0) {
    return Flaw{kKeyKindsAt,
                "it names kinds of keys that this library does not know; use a newer nestline"};
  }
  return judge_length(header, get<std::uint64_t>(start, kFileBytesAt), file_bytes);
}

bool matches_checksum(std::span<const std::byte> bytes,
                      std::span<const std::byte> checksum) noexcept {
  return get<std::uint64_t>(checksum, 0) == checksum_bytes(bytes.data(), bytes.size());
}

Flaw damaged_section(const FileHeader& header, std::uint64_t i) {
  const std::uint64_t first = FileHeader::section_offset(i);
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
  return not_ours(kHeaderBytes + index * kBlockBytes + used,
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
      kHeaderOverflowMark | (has_guest_lanes(geometry) ? kHeaderGuestLevel : 0);
  if ((header & ~stored) != 0) {
    return BlockFlaw{kOverflowMarkByte + 1, "lock and version are not 0"};
  }
  if (Block::guest_level_of(header) > kMaxGuestLevel) {
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
  return not_ours(kHeaderBytes + index * kBlockBytes + flaw->byte,
                  "in block " + to_string(index) + " " + flaw->what);
}

std::optional<Flaw> ContentCheck::keys() const {
  if (counted_ == header_.keys) return std::nullopt;
  return not_ours(kKeysAt, "it says it holds " + to_string(header_.keys) +
                               " keys, but its blocks hold " + to_string(counted_));
}

}}  // namespace nestline
