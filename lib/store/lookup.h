// From a key to its record: the index gives candidates, the log shows which of them it is. Lookups
// of readers, changes, replay and repair all come through here. The caller holds a ReadSection or
// the mutex of changes, and what it gets is good that long.
#ifndef NESTLINE_LIB_STORE_LOOKUP_H_
#define NESTLINE_LIB_STORE_LOOKUP_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "lib/store/index.h"
#include "lib/store/segment_reader.h"

namespace nestline { inline namespace v0_3 {

struct Located {
  std::uint64_t address = 0;
  std::string_view value;
  std::uint64_t bytes = 0;  // of the record
};

// What a store holds: its segments, the index of their records, and how many keys there are. A
// store that writes has one Content all its life; one that reads exchanges it to begin again.
struct Content {
  Content(std::uint64_t id, AddressFormat format, std::unique_ptr<Index> first)
      : store_id(id), table(format), owned_index(std::move(first)), index(owned_index.get()) {}

  // The put or erase at `address` counts from now on, in place of `old`, in the indexes (`next`:
  // one that is being made) and counts. There is memory (Index::reserve). For one thread at a time.
  void settle(RecordKind kind, std::uint64_t hash, std::uint64_t address, std::uint64_t bytes,
              const std::optional<Located>& old, Index* next = nullptr) noexcept {
    const std::uint64_t key = space_of(kind) == Space::keys ? 1 : 0;
    for (Index* const each : {index.load(), next}) {
      if (each == nullptr) continue;
      if (!is_put(kind)) {
        if (old) (void)each->erase(hash, old->address);
      } else if (!old || !each->replace(hash, old->address, address)) {
        each->insert(hash, address);
      }
    }
    if (is_put(kind)) {
      SegmentCounts::add(table.find(address)->counts.live, bytes);
      SegmentCounts::add(keys, key);
    }
    if (!old) return;
    SegmentCounts::subtract(table.find(old->address)->counts.live, old->bytes);
    SegmentCounts::subtract(keys, key);
  }

  const std::uint64_t store_id;
  SegmentTable table;
  std::shared_ptr<Index> owned_index;  // exchanged when it is worn
  std::atomic<Index*> index;           // the same, for readers
  std::atomic<std::uint64_t> keys{0};
};

struct HashedKey {
  Space space = Space::keys;
  std::string_view key;
  std::uint64_t hash = 0;
};
// Of a Record or a Change.
HashedKey hashed_key(const auto& from) { return {space_of(from.kind), from.key, from.hash}; }

// Fetches a record's beginning from memory. Inlined: g++ drops calls of what only prefetches.
NESTLINE_INLINE void prefetch_record(const std::byte* at) noexcept {
  constexpr std::size_t kFetched = 192;
  for (std::size_t i = 0; i < kFetched; i += 64) __builtin_prefetch(at + i);
  __builtin_prefetch(at + kFetched - 1);  // it does not begin where a line does
}

// Whether the key at `here` is `key`, whose length it has.
NESTLINE_INLINE bool are_equal(const char* here, std::string_view key) noexcept {
  const std::size_t size = key.size();
  if (size < 8 || size > 16) [[unlikely]]
    return std::string_view(here, size) == key;  // an empty one may have no address
  const auto word = [](const char* at) {
    std::uint64_t bytes;
    std::memcpy(&bytes, at, sizeof bytes);
    return bytes;
  };
  return ((word(here) ^ word(key.data())) |
          (word(here + size - 8) ^ word(key.data() + size - 8))) == 0;
}

// What a key's record is looked for.
enum class Purpose : std::uint8_t {
  value,    // Its value is read, or it is kept.
  replace,  // It may be damaged, and what is not known to be its own may stay.
  erase,    // As replace, but nothing may stay.
};

constexpr Purpose purpose_of(RecordKind change) {
  return is_put(change) ? Purpose::replace : Purpose::erase;
}

class Lookup {
 public:
  Lookup(const Disk& disk, bool verify) : disk_(disk), verify_(verify) {}  // whether checksums are

  struct Found {
    std::optional<Located> record;  // the key's, if it is there
    std::uint64_t false_reads = 0;  // of records of other keys
  };

  // Looks a key up. The caller holds a ReadSection or the mutex of changes: this is good that long.
  // Throws StoreError when its record is damaged, or none is found but a damaged one. Lookups wait
  // for memory one by one, unless the processor begins the next one meanwhile, within 500
  // instructions. Hence the inlining: nearly always the first candidate is the one, or none.
  [[nodiscard]] NESTLINE_INLINE Found find(const Content& content, const Index& index,
                                           const HashedKey& wanted,
                                           Purpose purpose = Purpose::value) const {
    std::array<std::uint64_t, Maplet::kMaxCandidates> addresses;
    const std::size_t count = index.maplet.find(Hash{wanted.hash}, addresses);
    if (count == 0 && index.overflow.is_empty()) return {};
    Located found;
    if (count != 0 && is_at(content, wanted, addresses[0], purpose, found)) [[likely]]
      return {found};
    return find_slowly(content, index, wanted, purpose);
  }

  // The record at `address`, if it is the key's.
  [[nodiscard]] std::optional<Located> look(const Content& content, const HashedKey& wanted,
                                            std::uint64_t address,
                                            Purpose purpose = Purpose::value) const {
    Located found;
    if (is_at(content, wanted, address, purpose, found)) [[likely]]
      return found;
    check_other(content, wanted, address);
    return std::nullopt;
  }

 private:
  // Whether the record at `address` is the key's, and sound as far as that is looked at.
  [[nodiscard]] NESTLINE_INLINE bool is_at(const Content& content, const HashedKey& wanted,
                                           std::uint64_t address, Purpose purpose,
                                           Located& found) const noexcept {
    const Segment* const segment = content.table.find(address);
    if (segment == nullptr) return false;
    const std::uint64_t offset = content.table.format().offset(address);
    const std::byte* const at = segment->at(offset);
    prefetch_record(at);
    const std::uint64_t rest = segment->from(offset).size();
    if (rest < kRecordHeaderBytes) return false;
    const RecordHeader header = read_record_header(at);
    const auto* const key = reinterpret_cast<const char*>(at) + kRecordHeaderBytes;
    if (header.hash != wanted.hash || header.key_bytes != wanted.key.size() ||
        header.kind != static_cast<std::uint8_t>(put_in(wanted.space)) || header.bytes() > rest ||
        !are_equal(key, wanted.key)) {
      return false;
    }
    found = {address, {key + header.key_bytes, header.value_bytes}, header.bytes()};
    return !verify_ || purpose != Purpose::value ||
           has_checksum(at, value_digest(found.value, content.store_id), segment->place(offset));
  }

  // As find(), whatever the candidates are.
  [[nodiscard, gnu::cold, gnu::noinline]] Found find_slowly(const Content& content,
                                                            const Index& index,
                                                            const HashedKey& wanted,
                                                            Purpose purpose) const {
    Found found;
    std::exception_ptr damage;
    index.any(wanted.hash, [&](std::uint64_t address) {
      try {
        found.record = look(content, wanted, address, purpose);
      } catch (const StoreError&) {
        damage = std::current_exception();
      }
      if (!found.record) ++found.false_reads;
      return found.record.has_value();
    });
    if (!found.record && damage && purpose != Purpose::replace) std::rethrow_exception(damage);
    return found;
  }

  // Throws StoreError unless another key's record, or one that is dead, is at `address`.
  [[gnu::cold, gnu::noinline]] void check_other(const Content& content, const HashedKey& wanted,
                                                std::uint64_t address) const {
    const Segment* const segment = content.table.find(address);
    const std::uint64_t offset = content.table.format().offset(address);
    if (segment == nullptr) {
      throw StoreError(disk_.path_of("index.nest").string() + ": the index points to a file that " +
                       "is not there (address " + std::to_string(address) +
                       "): remove this file, and the store reads its log");
    }
    const std::span<const std::byte> rest = segment->from(offset);
    const std::optional<Record> record = frame_record(rest);
    const bool is_own = record && record->hash == wanted.hash && record->key == wanted.key &&
                        record->kind == put_in(wanted.space);
    if (is_own) {
      throw_damaged(disk_, segment->header.number, offset, "the checksum is wrong");
    }
    if (verify_ ? !read_record(rest, segment->place(offset)) : !record) {
      throw_damaged(disk_, segment->header.number, offset, "there is no valid record");
    }
  }

  const Disk& disk_;
  const bool verify_;
};

}}  // namespace nestline

#endif  // NESTLINE_LIB_STORE_LOOKUP_H_
