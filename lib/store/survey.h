// Reads a whole log, damaged or not, for verify_store() and repair_store(). Opening a store stops
// at the first damage; a survey goes on with the next valid record. Problems become sentences with
// file and offset. A torn end (recovery.h) is none. Half a batch is kept.
#ifndef NESTLINE_LIB_STORE_SURVEY_H_
#define NESTLINE_LIB_STORE_SURVEY_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lib/store/checkpoint.h"
#include "lib/store/replay.h"

namespace nestline { inline namespace v0_3 {

class Survey {
 public:
  // Reads everything, changes nothing. Throws StoreError for an unknown format version and where
  // there is no store, std::system_error. `keeps_all`: a torn end before good records is damage.
  explicit Survey(Disk& disk, bool keeps_all = false);
  StoreReport report;
  // What the valid records make. Null: there are none.
  std::unique_ptr<Content> content;
  std::shared_ptr<Segment> newest;
  LogPosition position;              // behind the last record that counts
  std::set<std::uint64_t> damaged;   // files of the log that do not open as they are
  std::set<std::uint64_t> missing;   // that should be there
  std::set<std::uint64_t> leftover;  // that do not count
  std::uint64_t last_number = 0;     // of all files that are there, or that the checkpoint names
  bool checkpoint_is_damaged = false;

  // Calls with(offset, record) for a segment's valid records, up to the first gap that ends_at().
  using WithRecord = std::function<void(std::uint64_t offset, const Record& record)>;
  using EndsAt = std::function<bool(SegmentReader& reader)>;
  static void for_each_record(const Segment& segment, const WithRecord& with,
                              const EndsAt& ends_at = nullptr);

 private:
  struct File {
    std::uint64_t number = 0;
    std::shared_ptr<Segment> segment;  // null: nothing in it is valid
    bool has_header = false;
  };
  struct Piece {
    std::shared_ptr<Segment> segment;
    std::uint64_t offset = 0;
  };

  void problem(std::uint64_t number, std::uint64_t offset, const std::string& what);
  void damage(std::uint64_t number, std::uint64_t offset, const std::string& what) {
    problem(number, offset, what);
    damaged.insert(number);
  }
  void problem_of_checkpoint(const std::string& what);
  void open_files();
  [[nodiscard]] File open_file(std::uint64_t number);
  void choose_files();
  void scan(const File& file, bool is_newest);
  void note_gap(const LogPosition& at, std::uint64_t bytes, bool is_end);
  void take(const std::shared_ptr<Segment>& segment, std::uint64_t offset, const Record& record);
  void keep_parts_of_batch();
  void end_log();
  [[nodiscard]] bool is_renewed(const LogPosition& from) const;
  [[nodiscard]] bool was_synced(const SegmentReader& reader, const Segment& segment,
                                std::uint64_t rest);
  [[nodiscard]] bool is_kept(const SegmentReader& reader, const Segment& segment);
  void compare_checkpoint();
  void compare_pairs(const CheckpointHead& head);
  Disk& disk_;
  Lookup lookup_;
  const bool keeps_all_;
  std::optional<Checkpoint> checkpoint_;
  bool compared_ = false;
  std::vector<std::uint64_t> ids_;  // of stores that the files may belong to, likely ones first
  std::vector<File> files_;
  std::optional<Replay> replay_;
  std::vector<Piece> batch_;          // whose end has not been read
  std::vector<LogPosition> excused_;  // torn ends of files that the next one holds anew
  LogPosition proved_;                // up to where what is not valid in its file is damage
  LogPosition kept_;                  // or is taken for damage
};

// verify_store() and repair_store() on a disk of the caller's.
StoreReport verify_on(Disk& disk);
StoreReport repair_on(Disk& disk);

}}  // namespace nestline

#endif  // NESTLINE_LIB_STORE_SURVEY_H_
