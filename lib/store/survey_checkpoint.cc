// What a survey says about the checkpoint: whether it can be read, and whether its index is that of
// the log up to its position.
#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "lib/store/segment_reader.h"
#include "lib/store/survey.h"

namespace nestline {

void Survey::problem_of_checkpoint(const std::string& what) {
  report.problems.push_back(disk_.path_of(kCheckpointName).string() + ": " + what);
  checkpoint_is_damaged = true;
}

void Survey::read_checkpoint_file() {
  const std::vector<std::string> names = disk_.names();
  if (std::find(names.begin(), names.end(), kCheckpointName) == names.end()) return;
  checkpoint_ = read_checkpoint(disk_);
  if (!checkpoint_ || !checkpoint_->pairs) {
    problem_of_checkpoint("it is damaged; the store opens without it, by reading the whole log");
  }
}

// When the survey has come to its position: whether the checkpoint's index is that of the log.
void Survey::compare_checkpoint() {
  if (compared_ || !checkpoint_ || !checkpoint_->pairs || !report.ok()) return;
  const CheckpointHead& head = checkpoint_->head;
  if (head.store_id != content->store_id || position < head.position) return;
  compared_ = true;
  for (const CheckpointSegment& segment : head.segments) {
    // Files that have been compacted since: the store does not use this checkpoint.
    if (!content->table.get(segment.number)) return;
  }
  if (position.segment != head.position.segment || position.offset != head.position.offset ||
      position.sequence != head.position.sequence) {
    return problem_of_checkpoint("its position is not behind a record of the log");
  }
  compare_pairs(head);
}

void Survey::compare_pairs(const CheckpointHead& head) {
  const AddressFormat format(static_cast<unsigned>(head.offset_bits));
  Index saved(*std::move(checkpoint_->pairs));
  checkpoint_->pairs.reset();
  std::uint64_t pairs = saved.maplet.size() + head.overflow.size();
  for (const auto& [hash, address] : head.overflow) {
    saved.overflow.reserve(1);
    saved.overflow.insert(hash, address);
  }
  std::map<std::uint64_t, std::uint64_t> slots;
  for (const CheckpointSegment& segment : head.segments) slots[segment.number] = segment.slot;
  const Index& index = *content->index.load();
  for (const std::shared_ptr<Segment>& segment : content->table.list()) {
    const std::uint64_t number = segment->header.number;
    SegmentReader reader(*segment->file, segment->place(kSegmentHeaderBytes),
                         segment->header.first_sequence);
    while (reader.offset() < segment->end() && reader.next() && reader.end() <= segment->end()) {
      const Record& record = reader.record();
      if (!is_put(record.kind)) continue;
      if (!index.contains(record.hash, content->table.address(*segment, reader.offset()))) continue;
      if (slots.contains(number) &&
          saved.contains(record.hash, format.pack(slots.at(number), reader.offset()))) {
        --pairs;
        continue;
      }
      return problem_of_checkpoint("it misses the record at offset " +
                                   std::to_string(reader.offset()) + " of " + segment_name(number));
    }
  }
  if (pairs != 0 || head.keys != content->keys.load()) {
    problem_of_checkpoint("it has records that the log does not have");
  }
}

}  // namespace nestline
