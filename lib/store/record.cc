#include "lib/store/record.h"

#include <array>
#include <cstring>

#include "lib/store/digest.h"

namespace nestline {
namespace {

// Makes the hashes of manifests other than those of keys.
constexpr std::uint64_t kManifestSeed = 0x6d616e6966657374;

void store(std::byte* to, std::uint64_t number) noexcept {
  for (std::size_t i = 0; i < sizeof number; ++i) to[i] = static_cast<std::byte>(number >> (8 * i));
}

// `header`: bytes 8 to 31.
std::uint64_t checksum(const std::byte* header, std::uint64_t digest,
                       const RecordPlace& place) noexcept {
  std::array<std::byte, kRecordHeaderBytes - 8 + 24> all;
  std::memcpy(all.data(), header, kRecordHeaderBytes - 8);
  store(all.data() + 24, digest);
  store(all.data() + 32, place.segment);
  store(all.data() + 40, place.offset);
  return digest_of(all, place.store_id);
}

}  // namespace

std::uint64_t hash_in(Space space, std::string_view key, std::uint64_t store_id) noexcept {
  return digest_of(key, space == Space::keys ? store_id : store_id ^ kManifestSeed);
}

std::uint64_t value_digest(std::string_view value, std::uint64_t store_id) noexcept {
  return digest_of(value, store_id);
}

void encode_record_header(std::span<std::byte, kRecordHeaderBytes> to, const Record& record,
                          std::uint64_t value_digest, const RecordPlace& place) noexcept {
  store(to.data() + 8, static_cast<std::uint64_t>(record.kind) | record.key.size() << 8 |
                           static_cast<std::uint64_t>(record.value.size()) << 32);
  store(to.data() + 16, record.sequence);
  store(to.data() + 24, record.hash);
  store(to.data(), checksum(to.data() + 8, value_digest, place));
}

bool has_checksum(const std::byte* from, std::uint64_t value_digest,
                  const RecordPlace& place) noexcept {
  return load_number<std::uint64_t>(from) == checksum(from + 8, value_digest, place);
}

bool has_hash(const RecordHeader& header, std::string_view key, std::uint64_t store_id) noexcept {
  const auto kind = static_cast<RecordKind>(header.kind);
  return has_key(kind) ? header.hash == hash_in(space_of(kind), key, store_id)
                       : header.hash == 0 && key.empty();
}

std::optional<Record> read_record(std::span<const std::byte> rest,
                                  const RecordPlace& place) noexcept {
  const std::optional<Record> record = frame_record(rest);
  // What is short comes first: a value may be long, and be made to look like records.
  if (!record || !has_hash(read_record_header(rest.data()), record->key, place.store_id) ||
      !has_checksum(rest.data(), *record, place)) {
    return std::nullopt;
  }
  const std::size_t end = bytes_of(*record);
  for (std::size_t at = kRecordHeaderBytes + record->key.size() + record->value.size(); at < end;
       ++at) {
    if (rest[at] != std::byte{0}) return std::nullopt;
  }
  return record;
}

}  // namespace nestline
