#include "lib/store/replay.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace nestline { inline namespace v0_3 {

void Replay::apply(const Record& record, std::uint64_t address, std::uint64_t bytes) {
  Index& index = *content_.index.load();
  const std::optional<Located> old =
      lookup_.find(content_, index, hashed_key(record), purpose_of(record.kind)).record;
  if (!old) index.reserve();
  content_.settle(record.kind, record.hash, address, bytes, old);
}

bool Replay::take(const std::shared_ptr<Segment>& segment, std::uint64_t offset,
                  const Record& record) {
  if (record.kind != RecordKind::sync_mark) ++records_;
  const std::uint64_t bytes = bytes_of(record);
  if (record.kind == RecordKind::batch_begin) {
    const auto sizes = decode_two_numbers(record.value);
    if (batch_ || !sizes) return false;
    began_in_gap_ = false;
    batch_.emplace(Batch{{segment->header.number, offset, record.sequence},
                         segment,
                         segment->counts.frame.load(),
                         segment->counts.tombstones.load(),
                         sizes->first,
                         {},
                         list_});
  }
  if (!has_key(record.kind)) SegmentCounts::add(segment->counts.frame, bytes);
  if (is_erase(record.kind)) SegmentCounts::add(segment->counts.tombstones, bytes);
  if (has_key(record.kind)) {
    const std::uint64_t address = content_.table.address(*segment, offset);
    if (batch_) {
      batch_->steps.push_back({record.kind, record.hash, std::string(record.key), address, bytes});
    } else {
      apply(record, address, bytes);
    }
    return true;
  }
  if (record.kind == RecordKind::batch_end) {
    if (!batch_) return std::exchange(began_in_gap_, false);
    if (batch_->steps.size() != batch_->changes) return false;
    // A reader may have read the beginning of a batch that was cut off, and the end of another.
    if (!std::ranges::all_of(batch_->steps, [&](const Step& s) { return is_in_place(s); })) {
      return false;
    }
    finish_batch();
  } else if (record.kind == RecordKind::segments) {
    auto numbers = decode_segment_list(record.value);
    if (!numbers) return false;
    list_ = List{segment->header.number, *std::move(numbers)};
  } else if (const auto mark = mark_of_file_before(record, segment->header.number)) {
    renewed_.push_back({mark->first, mark->second, record.sequence});
  }
  return true;
}

bool Replay::is_in_place(const Step& step) const {
  const Segment& segment = *content_.table.find(step.address);
  const auto record = frame_record(segment.from(content_.table.format().offset(step.address)));
  return record && record->kind == step.kind && record->hash == step.hash &&
         bytes_of(*record) == step.bytes;
}

void Replay::finish_batch() {
  const std::vector<Step> steps = std::move(batch_->steps);
  batch_.reset();
  for (const Step& step : steps) {
    apply({step.kind, 0, step.hash, step.key, {}}, step.address, step.bytes);
  }
}

void Replay::pass_gap() {
  if (batch_) finish_batch();
  began_in_gap_ = true;
}

void Replay::drop_batch() {
  if (!batch_) return;
  batch_->segment->counts.frame.store(batch_->frame);
  batch_->segment->counts.tombstones.store(batch_->tombstones);
  list_ = std::move(batch_->list);
  batch_.reset();
}

}}  // namespace nestline
