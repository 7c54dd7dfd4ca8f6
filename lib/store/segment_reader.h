// Reading the records of a file of the log in their order. SegmentReader reads a file that another
// process may write, with calls and not through memory: the writer may cut zeros off at any time,
// and memory behind a file's end must not be touched. It also finds records where nothing proves
// that one begins: at every multiple of 8.
//
// Bytes that are no record may look like one there, because a value was made of them, or a
// file. So what is short is compared first: kind, lengths, sequence number, then the key's hash,
// which needs the store's id; only then the value is hashed, in pieces. Files made with the id are
// hashed at most kInVain times in vain: time is linear in their length, memory is one window.
// SegmentWalk goes through the part of an open file that was valid once, in memory.
#ifndef NESTLINE_LIB_STORE_SEGMENT_READER_H_
#define NESTLINE_LIB_STORE_SEGMENT_READER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/store/segment_table.h"

namespace nestline { inline namespace v0_3 {

[[noreturn]] void throw_damaged(const Disk& disk, std::uint64_t segment, std::uint64_t offset,
                                const std::string& what);

class SegmentReader {
 public:
  // From `begin` on, where the record with this sequence number should be.
  SegmentReader(const DiskFile& file, const RecordPlace& begin, std::uint64_t sequence)
      : file_(file), place_(begin), sequence_(sequence) {}
  // All records of a segment.
  explicit SegmentReader(const Segment& segment)
      : SegmentReader(*segment.file, segment.place(kSegmentHeaderBytes),
                      segment.header.first_sequence) {}

  bool next();  // false if none follows that is valid and has the next number
  // Goes before the first valid record from `offset` on, numbered `least` or higher; false: none.
  bool find(std::uint64_t offset, std::uint64_t least);
  // The record, until the next call of next(). Of one longer than 32 MiB the value was checked and
  // is not here: memory is bounded, whatever lengths a file claims.
  [[nodiscard]] const Record& record() const { return record_; }
  [[nodiscard]] std::uint64_t offset() const { return offset_; }
  // Behind the last record, and the number that the next one would have.
  [[nodiscard]] std::uint64_t end() const { return place_.offset; }
  [[nodiscard]] std::uint64_t sequence() const { return sequence_; }
  [[nodiscard]] bool is_at_zeros();    // whether only zeros or the file's end are at end()
  [[nodiscard]] std::uint64_t rest();  // bytes from end() on, without the zeros at the file's end
  // Up to where something in the `rest` bytes from end() on proves that it was on disk; 0: nothing.
  [[nodiscard]] std::uint64_t synced_up_to(std::uint64_t rest) const;
  // What reads well behind end(): how many have a key, and where the last one or batch end begins.
  struct Behind {
    std::uint64_t changes = 0;
    std::uint64_t last = 0;
    // How many a cut at end() loses, so many of a batch before it. A crash may leave these alone.
    [[nodiscard]] std::uint64_t cut_with(std::uint64_t in_batch) const {
      return last == 0 ? 0 : changes + in_batch;
    }
  };
  [[nodiscard]] Behind behind() const;

 private:
  static constexpr std::uint64_t kInVain = 64;  // of values in vain, at most, for each byte of it
  std::span<const std::byte> look(std::uint64_t bytes);  // at least that many, if the file has them
  // The record at `place`, if it is valid. `bytes`: from there on; the file has the rest.
  [[nodiscard]] std::optional<Record> read(std::span<const std::byte> bytes,
                                           const RecordPlace& place) const;
  [[nodiscard]] bool has_value(std::span<const std::byte> header, const RecordPlace& place) const;
  [[nodiscard]] bool is_record(std::uint64_t offset, std::span<const std::byte> bytes,
                               const RecordHeader& header, std::uint64_t size);
  const DiskFile& file_;
  RecordPlace place_;
  std::uint64_t sequence_;
  std::uint64_t offset_ = 0;
  Record record_;
  std::vector<std::byte> buffer_;
  std::uint64_t buffer_at_ = 0;  // of the file
  std::size_t buffered_ = 0;
  std::uint64_t in_vain_ = 0;
};

// The header of segment `number`; empty if not valid. StoreError for an unknown format version.
std::optional<SegmentHeader> read_segment_header(const Disk& disk, const DiskFile& file,
                                                 std::uint64_t number);
// Opens a segment that exists. Throws StoreError if its header is damaged.
std::shared_ptr<Segment> open_segment(Disk& disk, std::uint64_t number, bool writable);
// Opens a segment of the table once more, in place of the other, to be cut at `end` and written on.
std::shared_ptr<Segment> reopen_for_writing(Disk& disk, SegmentTable& table, const Segment& other,
                                            std::uint64_t end);
// Whether there is nothing behind header and list, which come before anything counts.
bool is_zero_behind_list(const Disk& disk, const DiskFile& file);
// Whether the file was being made when the power went: nothing in it counts, any may be missing.
// Throws StoreError if not, and its beginning is damaged. `before`: the header of the last file.
bool is_half_made(const Disk& disk, const DiskFile& file, std::uint64_t number,
                  const std::optional<SegmentHeader>& before);
bool is_renewed(Disk& disk, const LogPosition& from);  // by the file after it, from there on

// The list of segments that counts in the newest file: the last outside a batch without an end.
class LastList {
 public:
  using Numbers = std::optional<std::vector<std::uint64_t>>;

  bool take(const Record& record);  // in the file's order; false: it is a list that is not valid
  // After all records: the numbers, or nothing if there is no list.
  [[nodiscard]] const Numbers& get() const { return before_batch_ ? *before_batch_ : last_; }

 private:
  Numbers last_;
  std::optional<Numbers> before_batch_;
};

// Goes through the records of an open file, past damaged ones: one hurts its own key only. A
// damaged record's lengths are believed if the next but one number is where they point; else the
// next valid record is searched for. If header and key agree in the hash, only its value is hurt.
class SegmentWalk {
 public:
  // From the first record on, up to where one ends.
  SegmentWalk(const Segment& segment, std::uint64_t end)
      : segment_(segment), end_(end), sequence_(segment.header.first_sequence - 1) {}

  bool next();  // false at the end. Throws std::system_error when it has to search.
  [[nodiscard]] std::uint64_t offset() const { return offset_; }
  [[nodiscard]] std::uint64_t following() const { return following_; }
  [[nodiscard]] bool is_damaged() const { return is_damaged_; }
  // Empty where it is not known what was there. Of a damaged one, the value is as it stands there.
  [[nodiscard]] const std::optional<Record>& record() const { return record_; }

 private:
  void pass_damage();
  const Segment& segment_;
  std::uint64_t offset_ = 0;
  std::uint64_t following_ = kSegmentHeaderBytes;
  std::uint64_t end_;
  std::uint64_t sequence_;  // of the last record, as far as that is known
  bool is_damaged_ = false;
  std::optional<Record> record_;
};

// Damage that was passed, for one error at the end.
class Hurt {
 public:
  void note(const Segment& segment, const SegmentWalk& walk);
  // Throws StoreError if there was any: the first, its key if known, how many. `done`: with others.
  void report(const Disk& disk, const std::string& done) const;

 private:
  std::uint64_t count_ = 0;
  std::uint64_t segment_ = 0;
  std::uint64_t offset_ = 0;
  std::string key_;
};

}}  // namespace nestline

#endif  // NESTLINE_LIB_STORE_SEGMENT_READER_H_
