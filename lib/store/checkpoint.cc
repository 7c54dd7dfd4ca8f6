#include "lib/store/checkpoint.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include "lib/store/digest.h"
#include "lib/store/test_switches.h"

namespace nestline { inline namespace v0_3 {
namespace {

constexpr std::array<char, 8> kCheckpointMagic = {'n', 'e', 's', 't', 'i', 'd', 'x', '\n'};
constexpr std::size_t kFixed = 80;
constexpr std::size_t kPerSegment = 56;
constexpr std::size_t kPerPair = 16;
constexpr std::size_t kCheckpointPage = 4096;

std::vector<std::byte> encode(const CheckpointHead& head) {
  std::vector<std::uint64_t> numbers = {head.store_id,        head.position.segment,
                                        head.position.offset, head.position.sequence,
                                        head.offset_bits,     head.keys,
                                        head.segments.size(), head.overflow.size()};
  for (const CheckpointSegment& s : head.segments) {
    numbers.insert(numbers.end(),
                   {s.number, s.slot, s.end, s.sealed, s.live, s.tombstones, s.frame});
  }
  for (const auto& [hash, address] : head.overflow) {
    numbers.insert(numbers.end(), {hash, address});
  }
  std::size_t at = 16;
  std::vector<std::byte> bytes(round_up(at + 8 * numbers.size() + 8, kCheckpointPage));
  const std::span<std::byte> to(bytes);
  std::memcpy(bytes.data(), kCheckpointMagic.data(), kCheckpointMagic.size());
  put<std::uint32_t>(to, 8, kStoreFormatVersion);
  for (const std::uint64_t number : numbers) {
    put(to, at, number);
    at += 8;
  }
  put(to, at, digest_of(to.first(at), head.store_id));
  return bytes;
}

}  // namespace

std::optional<CheckpointHead> decode_checkpoint(std::span<const std::byte> file,
                                                std::size_t& pairs_at) {
  if (file.size() < kFixed + 8 ||
      std::memcmp(file.data(), kCheckpointMagic.data(), kCheckpointMagic.size()) != 0 ||
      get<std::uint32_t>(file, 8) != kStoreFormatVersion) {
    return std::nullopt;
  }
  std::size_t at = 16;
  const auto next = [&] {
    at += 8;
    return get<std::uint64_t>(file, at - 8);
  };
  CheckpointHead head;
  head.store_id = next();
  head.position = {next(), next(), next()};
  head.offset_bits = next();
  head.keys = next();
  const std::uint64_t segments = next();
  const std::uint64_t overflow = next();
  const std::uint64_t room = file.size() - kFixed - 8;
  if (segments > room / kPerSegment || overflow > (room - segments * kPerSegment) / kPerPair) {
    return std::nullopt;
  }
  const std::size_t checksum_at = kFixed + segments * kPerSegment + overflow * kPerPair;
  if (get<std::uint64_t>(file, checksum_at) != digest_of(file.first(checksum_at), head.store_id) &&
      !store_faults::trust_checkpoint) {
    return std::nullopt;
  }
  for (std::uint64_t i = 0; i < segments; ++i) {
    head.segments.push_back({next(), next(), next(), next(), next(), next(), next()});
  }
  for (std::uint64_t i = 0; i < overflow; ++i) {
    const std::uint64_t hash = next();
    head.overflow.emplace_back(hash, next());
  }
  pairs_at = std::min(round_up(checksum_at + 8, kCheckpointPage), file.size());
  if (!is_zero(file.subspan(checksum_at + 8, pairs_at - checksum_at - 8))) return std::nullopt;
  return head;
}

void write_checkpoint(Disk& disk, const CheckpointHead& head, Maplet pairs) {
  disk.remove_if_there(kCheckpointNewName);
  // Before others miss the room that it would have taken in vain.
  const std::uint64_t free = disk.room().free;
  if (free != 0 && free < pairs.memory_bytes()) {
    throw_no_room(disk.path_of(kCheckpointNewName), pairs.memory_bytes());
  }
  try {
    const std::unique_ptr<DiskFile> file = disk.open(kCheckpointNewName, Disk::Mode::create);
    const std::vector<std::byte> start = encode(head);
    file->write(0, start);
    std::uint64_t at = start.size();
    save(std::move(pairs), ByteSink([&](std::span<const std::byte> bytes) {
           file->write(at, bytes);
           at += bytes.size();
         }));
    file->truncate(at);  // a disk may lengthen files ahead
    file->sync();
    disk.rename(kCheckpointNewName, kCheckpointName);
  } catch (...) {
    disk.try_to_remove(kCheckpointNewName);  // or the next one does it, or the next opening
    throw;
  }
}

namespace {

// The file, mapped as long as `file` lives; no bytes if it is not there or cannot be read.
struct MappedCheckpoint {
  std::unique_ptr<DiskFile> file;
  std::span<const std::byte> bytes;
};
MappedCheckpoint map_checkpoint(Disk& disk) {
  try {
    auto file = disk.open(kCheckpointName, Disk::Mode::read);
    const std::uint64_t size = file->size();
    if (size < kFixed + 8) return {};
    const std::byte* const bytes = file->map(size);
    return {std::move(file), {bytes, static_cast<std::size_t>(size)}};
  } catch (const std::system_error&) {
    return {};
  }
}

}  // namespace

std::optional<LogPosition> checkpoint_position(Disk& disk) {
  const MappedCheckpoint mapped = map_checkpoint(disk);
  std::size_t pairs_at = 0;
  const auto head = decode_checkpoint(mapped.bytes, pairs_at);
  return head ? std::optional(head->position) : std::nullopt;
}

std::optional<Checkpoint> read_checkpoint(Disk& disk) {
  const MappedCheckpoint mapped = map_checkpoint(disk);
  std::size_t pairs_at = 0;
  std::optional<CheckpointHead> head = decode_checkpoint(mapped.bytes, pairs_at);
  if (!head) return std::nullopt;
  Checkpoint checkpoint = {*std::move(head), std::nullopt};
  try {
    checkpoint.pairs.emplace(Maplet::load(mapped.bytes.subspan(pairs_at)));
  } catch (const FormatError&) {  // the log has it all
  }
  return checkpoint;
}

}}  // namespace nestline
