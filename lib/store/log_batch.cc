// A batch in the log: its changes between two frames. Without its end it does not count, so one
// that fails is cut off, also where it has gone on in later files.
#include <cstdint>
#include <exception>
#include <memory>
#include <string>

#include "lib/store/log.h"

namespace nestline { inline namespace v0_3 {

Log::Batch::Batch(Log& log, std::uint64_t changes, std::uint64_t bytes, AppendPriority what)
    : log_(log), what_(what) {
  log.syncs_.require_sound();
  const std::string value = encode_two_numbers({changes, bytes});
  const std::uint64_t own = record_bytes(0, value.size()) + record_bytes(0, 0);
  log.require_room(bytes + own, what);
  // In one file, if it fits into one.
  log.make_room(bytes + own < log.file_limit_ / 2 ? bytes + own : own, what);
  log.append_mark();
  begin_ = log.position();
  segment_ = log.newest_;
  frame_ = segment_->counts.frame.load();
  tombstones_ = segment_->counts.tombstones.load();
  log.write_frame(RecordKind::batch_begin, value);
  log.in_batch_ = true;
}

Log::Batch::~Batch() {
  log_.in_batch_ = false;
  if (done_) return;
  try {
    for (std::uint64_t number = log_.newest_->header.number; number > begin_.segment; --number) {
      if (const std::shared_ptr<Segment> later = log_.table_.get(number))
        log_.table_.forget(*later);
      // A later file, which lists this one, may have been given up and still be there.
      if (!log_.syncs_.is_broken()) log_.syncs_.sync_folder(log_.disk_);
      if (!log_.syncs_.is_broken()) log_.disk_.remove(segment_name(number));
    }
    if (log_.newest_->header.number != begin_.segment && !log_.syncs_.is_broken()) {
      log_.syncs_.sync_folder(log_.disk_);
    }
  } catch (const std::exception& error) {
    log_.syncs_.fail(error.what());
  }
  segment_->set_end(begin_.offset);
  segment_->sealed.store(false);
  log_.newest_ = segment_;
  log_.next_sequence_ = begin_.sequence;
  // After a sync that failed, a later file may still be there: this one keeps its seal then.
  if (!log_.syncs_.is_broken()) log_.cut_back(*segment_, begin_.offset);
  log_.syncs_.begin(log_.newest_, begin_, begin_.sequence);
  segment_->counts.frame.store(frame_);
  segment_->counts.tombstones.store(tombstones_);
}

void Log::Batch::commit() {
  log_.make_room(record_bytes(0, 0), what_);
  log_.write_frame(RecordKind::batch_end);
  log_.syncs_.appended(log_.position());
  done_ = true;
  log_.in_batch_ = false;
  log_.release_sealed();
}

}}  // namespace nestline
