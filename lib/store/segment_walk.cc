#include "lib/store/segment_walk.h"

#include <algorithm>

#include "lib/store/record_search.h"

namespace nestline {
namespace {

// The beginning of a key, so that a message can show it.
std::string shown(std::string_view key) {
  constexpr std::size_t kMost = 64;
  std::string text(key.substr(0, kMost));
  const auto is_hidden = [](char each) { return each < ' ' || each > '~'; };
  std::replace_if(text.begin(), text.end(), is_hidden, '?');
  return "'" + text + (key.size() > kMost ? "...'" : "'");
}

}  // namespace

bool SegmentWalk::next() {
  offset_ = following_;
  if (offset_ >= end_) return false;
  record_ = read_record(segment_.from(offset_), segment_.place(offset_));
  is_damaged_ = !record_;
  if (is_damaged_) {
    pass_damage();
  } else {
    sequence_ = record_->sequence;
    following_ = offset_ + bytes_of(*record_);
  }
  return true;
}

void SegmentWalk::pass_damage() {
  const auto framed = frame_record(segment_.from(offset_));
  if (framed) {
    following_ = offset_ + bytes_of(*framed);
    const bool is_whole =
        following_ == end_ || read_record(segment_.from(following_), segment_.place(following_));
    if (following_ <= end_ && is_whole) {
      const RecordHeader header = read_record_header(segment_.at(offset_));
      if (has_hash(header, framed->key, segment_.header.store_id)) record_ = framed;
      return;
    }
  }
  RecordSearch search(*segment_.file, segment_.place(offset_));
  const auto found = search.find(offset_ + kRecordUnit, sequence_ + 1);
  following_ = found ? std::min(found->offset, end_) : end_;
}

void Hurt::note(const Segment& segment, const SegmentWalk& walk) {
  if (count_++ != 0) return;
  segment_ = segment.header.number;
  offset_ = walk.offset();
  if (walk.record()) key_ = shown(walk.record()->key);
}

void Hurt::report(const Disk& disk, const std::string& done) const {
  if (count_ == 0) return;
  throw_damaged(disk, segment_, offset_,
                (key_.empty() ? "there is no valid record" : "the record of the key " + key_) +
                    (count_ > 1 ? ", and " + std::to_string(count_ - 1) + " more" : "") + "; " +
                    done);
}

}  // namespace nestline
