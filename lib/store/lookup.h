// From a key to its record: the index gives candidates, the log says which of them it is.
#ifndef NESTLINE_LIB_STORE_LOOKUP_H_
#define NESTLINE_LIB_STORE_LOOKUP_H_

#include <cstdint>
#include <exception>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "lib/store/content.h"
#include "lib/store/disk.h"
#include "lib/store/record.h"
#include "lib/store/segment_walk.h"
#include "nestline/store.h"

namespace nestline {

// A key in its space, with its hash.
struct Question {
  Space space = Space::keys;
  std::string_view key;
  std::uint64_t hash = 0;
};
inline Question ask(Space space, std::string_view key, std::uint64_t store_id) {
  return {space, key, hash_in(space, key, store_id)};
}
inline Question ask(const Record& record) {
  return {space_of(record.kind), record.key, record.hash};
}

struct Located {
  std::uint64_t address = 0;
  std::string_view value;
  std::uint64_t bytes = 0;  // of the record
};

// What a key's record is looked for.
enum class Purpose : std::uint8_t {
  value,    // Its value is wanted.
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
                                            const Question& question, std::uint64_t& false_reads,
                                            Purpose purpose = Purpose::value) const {
    std::optional<Located> found;
    std::exception_ptr damage;
    index.any(question.hash, [&](std::uint64_t address) {
      try {
        found = look(content, question, address, purpose);
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
  [[nodiscard]] std::optional<Located> look(const Content& content, const Question& question,
                                            std::uint64_t address,
                                            Purpose purpose = Purpose::value) const {
    const Segment* const segment = content.table.find(address);
    const std::uint64_t offset = content.table.format().offset(address);
    if (segment == nullptr) throw_lost(address);
    const std::byte* const at = segment->at(offset);
    __builtin_prefetch(at + 64);
    __builtin_prefetch(at + 128);
    const std::optional<Record> record = frame_record(segment->from(offset));
    if (!record || record->hash != question.hash || record->key != question.key ||
        record->kind != put_in(question.space)) {
      if (verify_ || !record) check_other(*segment, offset);
      return std::nullopt;
    }
    if (verify_ && purpose == Purpose::value &&
        !has_checksum(at, *record, segment->place(offset))) {
      throw_damaged(disk_, segment->header.number, offset, "the checksum is wrong");
    }
    return Located{address, record->value, bytes_of(*record)};
  }

  [[nodiscard]] const Disk& disk() const { return disk_; }

 private:
  // Throws StoreError unless another key's record, or one that is dead, is there.
  void check_other(const Segment& segment, std::uint64_t offset) const;
  [[noreturn]] void throw_lost(std::uint64_t address) const;

  const Disk& disk_;
  const bool verify_;
};

}  // namespace nestline

#endif  // NESTLINE_LIB_STORE_LOOKUP_H_
