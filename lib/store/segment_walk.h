// Goes through the records of a file of the log that is open, and past damaged ones: what one
// damaged record hurts is its own key.
//
//   for (SegmentWalk walk(segment, from, end); walk.next();) ... walk.offset(), walk.record() ...
//
// Where a record is damaged, the next one is where its lengths say, if a valid record or the end is
// there; else the next valid one is searched for. The record is known all the same if its header
// and key agree, which a hash of 64 bits says: then only its value is hurt.
#ifndef NESTLINE_LIB_STORE_SEGMENT_WALK_H_
#define NESTLINE_LIB_STORE_SEGMENT_WALK_H_

#include <cstdint>
#include <optional>
#include <string>

#include "lib/store/disk.h"
#include "lib/store/record.h"
#include "lib/store/segment.h"

namespace nestline {

// Throws the StoreError of damage in a file.
[[noreturn]] void throw_damaged(const Disk& disk, std::uint64_t segment, std::uint64_t offset,
                                const std::string& what);

class SegmentWalk {
 public:
  // From a record on, up to where one ends.
  SegmentWalk(const Segment& segment, std::uint64_t begin, std::uint64_t end)
      : segment_(segment), following_(begin), end_(end) {}

  // Goes to the first or the next record; false at the end. Throws std::system_error when it has to
  // search the file.
  bool next();

  [[nodiscard]] std::uint64_t offset() const { return offset_; }
  [[nodiscard]] std::uint64_t following() const { return following_; }
  [[nodiscard]] bool is_damaged() const { return is_damaged_; }
  // Empty where it is not known what was there. Of a damaged one, the value is as it stands there.
  [[nodiscard]] const std::optional<Record>& record() const { return record_; }

 private:
  void pass_damage();

  const Segment& segment_;
  std::uint64_t offset_ = 0;
  std::uint64_t following_;
  std::uint64_t end_;
  std::uint64_t sequence_ = 0;  // of the last valid record
  bool is_damaged_ = false;
  std::optional<Record> record_;
};

// Damage that was passed, for one error at the end.
class Hurt {
 public:
  void note(const Segment& segment, const SegmentWalk& walk);
  // Throws StoreError if there was any: where the first was, whose key it was if that is known, and
  // how many there are. `done`: what was done with the others.
  void report(const Disk& disk, const std::string& done) const;

 private:
  std::uint64_t count_ = 0;
  std::uint64_t segment_ = 0;
  std::uint64_t offset_ = 0;
  std::string key_;
};

}  // namespace nestline

#endif  // NESTLINE_LIB_STORE_SEGMENT_WALK_H_
