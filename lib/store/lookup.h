// From a key to its record: the index gives candidates, the log shows which of them it is.
#ifndef NESTLINE_LIB_STORE_LOOKUP_H_
#define NESTLINE_LIB_STORE_LOOKUP_H_

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "lib/store/disk.h"
#include "lib/store/index.h"
#include "lib/store/log_format.h"
#include "lib/store/segment_reader.h"
#include "lib/store/segment_table.h"
#include "nestline/store.h"

namespace nestline {

struct Located {
  std::uint64_t address = 0;
  std::string_view value;
  std::uint64_t bytes = 0;  // of the record
};

// What a store holds: its segments, the index of their records, and how many keys there are.
//
// A store that writes has one Content all its life. One that only reads exchanges it when it cannot
// follow the log any more.
struct Content {
  Content(std::uint64_t id, AddressFormat format, std::unique_ptr<Index> first)
      : store_id(id), table(format), owned_index(std::move(first)), index(owned_index.get()) {}

  // The put or erase in the log at `address` counts from now on, in place of `old`: index and
  // counts follow. `next`: an index that is being made. There is memory for an insert
  // (Index::reserve). For one thread at a time.
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

// A key in its space, with its hash.
struct HashedKey {
  Space space = Space::keys;
  std::string_view key;
  std::uint64_t hash = 0;
};
// Of a Record or a Change.
template <typename Source>
HashedKey hashed_key(const Source& from) {
  return {space_of(from.kind), from.key, from.hash};
}

// What a key's record is looked for.
enum class Purpose : std::uint8_t {
  value,    // Its value is read, or it is kept.
  replace,  // It is replaced: its value may be damaged, and what is not known to be its own may
            // stay.
  erase,    // As replace, but nothing may stay.
};

class Lookup {
 public:
  // `verify`: whether the checksums of what is read are compared.
  Lookup(const Disk& disk, bool verify) : disk_(disk), verify_(verify) {}

  // The key's record, if it is there. `false_reads` is raised by the records of other keys that
  // were looked at. The caller keeps segments from being forgotten, by a ReadSection or by holding
  // the mutex of changes, and what this returns is good that long. Throws StoreError when
  // its record is damaged, or when there is none but one that is damaged may be it.
  [[nodiscard]] std::optional<Located> find(const Content& content, const Index& index,
                                            const HashedKey& wanted, std::uint64_t& false_reads,
                                            Purpose purpose = Purpose::value) const {
    std::optional<Located> found;
    std::exception_ptr damage;
    index.any(wanted.hash, [&](std::uint64_t address) {
      try {
        found = look(content, wanted, address, purpose);
      } catch (const StoreError&) {
        damage = std::current_exception();
      }
      if (!found) ++false_reads;
      return found.has_value();
    });
    if (!found && damage && purpose != Purpose::replace) std::rethrow_exception(damage);
    return found;
  }

  // The record at `address`, if it is the key's.
  [[nodiscard]] std::optional<Located> look(const Content& content, const HashedKey& wanted,
                                            std::uint64_t address,
                                            Purpose purpose = Purpose::value) const {
    const Segment* const segment = content.table.find(address);
    const std::uint64_t offset = content.table.format().offset(address);
    if (segment == nullptr) {
      throw StoreError(disk_.path_of("index.nest").string() + ": the index points to a file that " +
                       "is not there (address " + std::to_string(address) +
                       "): remove this file, and the store reads its log");
    }
    const std::byte* const at = segment->at(offset);
    __builtin_prefetch(at + 64);
    __builtin_prefetch(at + 128);
    const std::optional<Record> record = frame_record(segment->from(offset));
    if (!record || record->hash != wanted.hash || record->key != wanted.key ||
        record->kind != put_in(wanted.space)) {
      if (verify_ || !record) check_other(*segment, offset);
      return std::nullopt;
    }
    if (verify_ && purpose == Purpose::value &&
        !has_checksum(at, *record, segment->place(offset))) {
      throw_damaged(disk_, segment->header.number, offset, "the checksum is wrong");
    }
    return Located{address, record->value, bytes_of(*record)};
  }

 private:
  // Throws StoreError unless another key's record, or one that is dead, is there.
  void check_other(const Segment& segment, std::uint64_t offset) const {
    if (!read_record(segment.from(offset), segment.place(offset))) {
      throw_damaged(disk_, segment.header.number, offset, "there is no valid record");
    }
  }

  const Disk& disk_;
  const bool verify_;
};

}  // namespace nestline

#endif  // NESTLINE_LIB_STORE_LOOKUP_H_
