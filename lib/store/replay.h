// Makes the index from the records of the log, in their order. A batch's changes are kept until its
// end has been read. No segment may be forgotten meanwhile.
#ifndef NESTLINE_LIB_STORE_REPLAY_H_
#define NESTLINE_LIB_STORE_REPLAY_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/store/lookup.h"

namespace nestline { inline namespace v0_3 {

class Replay {
 public:
  Replay(Content& content, const Lookup& lookup) : content_(content), lookup_(lookup) {}
  // Takes the next record; segment.end() must be behind it. False if it cannot be there.
  [[nodiscard]] bool take(const std::shared_ptr<Segment>& segment, std::uint64_t offset,
                          const Record& record);
  // Files between the last record and the next are gone: they have been compacted. So a batch that
  // is open has ended there, and the next end may be that of one that began there.
  void pass_gap();

  // Where the batch begins whose end has not been read.
  [[nodiscard]] std::optional<LogPosition> open_batch() const {
    if (!batch_) return std::nullopt;
    return batch_->begin;
  }
  // How many of its changes have been.
  [[nodiscard]] std::uint64_t open_changes() const { return batch_ ? batch_->steps.size() : 0; }
  void drop_batch();  // forgets that batch, as if none of it had been read

  // The segments that count, as of the last such record since the beginning.
  struct List {
    std::uint64_t segment = 0;  // in which the record is
    std::vector<std::uint64_t> numbers;
  };
  [[nodiscard]] const std::optional<List>& list() const { return list_; }

  // Which files have been written anew from which offset on, by the file after each. `mark`: the
  // number of the record that says so. When another follows it, the file before is on disk too.
  struct Renewed {
    std::uint64_t segment = 0;
    std::uint64_t from = 0;
    std::uint64_t mark = 0;
  };
  [[nodiscard]] const std::vector<Renewed>& renewed() const { return renewed_; }
  [[nodiscard]] std::uint64_t records() const { return records_; }

 private:
  struct Step {
    RecordKind kind;
    std::uint64_t hash;
    std::string key;
    std::uint64_t address;
    std::uint64_t bytes;
  };
  struct Batch {
    LogPosition begin;
    std::shared_ptr<Segment> segment;
    std::uint64_t frame = 0;  // what its counts were
    std::uint64_t tombstones = 0;
    std::uint64_t changes = 0;
    std::vector<Step> steps;
    std::optional<List> list;  // as of before
  };

  void apply(const Record& record, std::uint64_t address, std::uint64_t bytes);
  Content& content_;
  const Lookup& lookup_;
  // Whether the record is still there that was taken.
  [[nodiscard]] bool is_in_place(const Step& step) const;
  void finish_batch();
  std::optional<Batch> batch_;
  bool began_in_gap_ = false;  // whether a batch may have
  std::optional<List> list_;
  std::vector<Renewed> renewed_;
  std::uint64_t records_ = 0;
};

}}  // namespace nestline

#endif  // NESTLINE_LIB_STORE_REPLAY_H_
