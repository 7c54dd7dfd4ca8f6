// A new index. Doubling a maplet costs each tag a bit; after a few doublings, an index made from
// the hashes in the log, with all bits again, has fewer false candidates.
//
// It is filled while the old one serves: first with every pair of the old one, found by reading the
// log up to a noted position. What happens meanwhile is in the log behind that position: it is
// replayed, as opening does, in rounds that get shorter, the last one with the writers waiting.
#include <exception>
#include <memory>
#include <utility>

#include "lib/concurrent/reclaim.h"
#include "lib/store/replay.h"
#include "lib/store/state.h"

namespace nestline {
namespace {

// A round that leaves less than this is followed by the last one.
constexpr std::uint64_t kLastRound = std::uint64_t{256} << 10;
constexpr int kMostRounds = 16;

}  // namespace

void Store::State::renew_worn_index() {
  const std::uint64_t keys = content().keys.load();
  if (!index().is_worn() || keys < refused_keys_ + refused_keys_ / 8) return;
  try {
    renew_index();
  } catch (const std::exception& error) {
    note_error(error);
    refused_keys_ = keys;  // the old one serves on
  }
}

void Store::State::renew_index() {
  Content& here = content();
  const Index& old = index();
  auto next = std::make_unique<Index>(old.maplet.capacity());
  LogPosition position;
  SegmentTable::List segments;
  {
    const std::lock_guard lock(writer_);
    position = log_->position();
    segments = here.table.list();
  }
  for (const std::shared_ptr<Segment>& segment : segments) {
    const bool is_last = segment->header.number == position.segment;
    const std::uint64_t end = is_last ? position.offset : segment->end();
    for (SegmentWalk walk(*segment, kSegmentHeaderBytes, end); walk.next();) {
      const std::optional<Record>& record = walk.record();
      // The pair of a record whose key is not known cannot be found: the old index serves on.
      if (!record) {
        throw_damaged(*disk_, segment->header.number, walk.offset(), "there is no valid record");
      }
      const std::uint64_t address = here.table.address(*segment, walk.offset());
      if (is_put(record->kind) && old.contains(record->hash, address)) {
        next->reserve();
        next->insert(record->hash, address);
      }
    }
  }

  Replay replay(here, *next, lookup_, Replay::Counts::no);
  const auto catch_up = [&](const LogPosition& end) {
    while (position < end) {
      const std::shared_ptr<Segment> segment = here.table.get(position.segment);
      const std::uint64_t last = position.segment == end.segment ? end.offset : segment->end();
      while (position.offset < last) {
        const auto record =
            read_record(segment->from(position.offset), segment->place(position.offset));
        if (!record || !replay.take(segment, position.offset, *record)) {
          throw_damaged(*disk_, position.segment, position.offset, "there is no valid record");
        }
        position.offset += bytes_of(*record);
      }
      if (position.segment == end.segment) break;
      position = {position.segment + 1, kSegmentHeaderBytes, 0};
    }
  };
  for (int round = 0; round < kMostRounds; ++round) {
    LogPosition end;
    {
      const std::lock_guard lock(writer_);
      end = log_->position();
    }
    if (position.segment == end.segment && end.offset - position.offset < kLastRound) break;
    catch_up(end);
  }
  {
    const std::lock_guard lock(writer_);
    catch_up(log_->position());
    next.reset(here.index.exchange(next.release()));
  }
  wait_for_readers();
}

}  // namespace nestline
