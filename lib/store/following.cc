// A store that only reads follows the log that another process writes.
//
// It stops before a record that is not valid: that may be one that is being written, or the end. It
// stops before the beginning of a batch whose end it does not find. So the writer's recovery never
// cuts off what a reader has taken. It leaves a segment when the log says that it does not count
// any more: all that was live in it has been copied, and the reader has read the copies by then.
#include <algorithm>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "lib/concurrent/reclaim.h"
#include "lib/store/answering.h"
#include "lib/store/recovery.h"
#include "lib/store/replay.h"
#include "lib/store/segment_files.h"
#include "lib/store/segment_reader.h"
#include "lib/store/state.h"

namespace nestline {
namespace {

// The segment with the next number, once it has a header and a first record; null before that.
std::shared_ptr<Segment> open_next(Disk& disk, std::uint64_t number, std::uint64_t sequence) {
  std::shared_ptr<Segment> segment;
  try {
    segment = open_segment(disk, number, false);
  } catch (const StoreError&) {  // it is being made
    return nullptr;
  }
  if (segment->header.first_sequence != sequence) return nullptr;
  SegmentReader reader(*segment->file, segment->place(kSegmentHeaderBytes), sequence);
  return reader.next() ? segment : nullptr;
}

}  // namespace

Store::State::Followed Store::State::follow() {
  Content& here = content();
  Replay replay(here, index(), lookup_, Replay::Counts::yes);
  const LogPosition before = position_;
  for (;;) {
    const std::shared_ptr<Segment> segment = here.table.get(position_.segment);
    SegmentReader reader(*segment->file, segment->place(position_.offset), position_.sequence);
    for (std::uint64_t suspect = 0; !segment->sealed.load();) {
      while (!segment->sealed.load() && reader.next()) {
        if (reader.end() > segment->room()) return Followed::lost;
        segment->set_end(reader.end());
        if (!replay.take(segment, reader.offset(), reader.record())) {
          throw_damaged(*disk_, position_.segment, reader.offset(),
                        "the record does not belong here");
        }
        segment->sealed.store(reader.record().kind == RecordKind::seal);
        position_.offset = reader.end();
        position_.sequence = reader.sequence();
      }
      if (segment->sealed.load() || reader.is_at_zeros()) break;
      if (!was_synced(*segment, position_.offset, reader.rest())) break;
      // The writer may have written the record between the two looks. Then it is there now.
      if (suspect == position_.offset) {
        throw_damaged(*disk_, position_.segment, suspect, "there is no valid record");
      }
      suspect = position_.offset;
    }
    if (!segment->sealed.load()) break;
    const std::vector<std::uint64_t> numbers = segment_numbers(disk_->names());
    const std::uint64_t number = position_.segment + 1;
    if (!std::binary_search(numbers.begin(), numbers.end(), number)) {
      if (!numbers.empty() && numbers.back() > number) return Followed::lost;
      break;
    }
    std::shared_ptr<Segment> next = open_next(*disk_, number, position_.sequence);
    if (next == nullptr) break;
    if (!here.table.format().fits(next->header.limit)) return Followed::lost;
    here.table.add(std::move(next));
    // A batch that has no end is read again.
    if (!replay.open_batch()) here.table.release_before(number);
    position_ = {number, kSegmentHeaderBytes, position_.sequence};
  }
  if (const std::optional<LogPosition> begin = replay.open_batch()) {
    replay.drop_batch();
    for (; position_.segment > begin->segment; --position_.segment) {
      here.table.forget(*here.table.get(position_.segment));
    }
    position_ = *begin;
    const std::shared_ptr<Segment> segment = here.table.get(begin->segment);
    segment->set_end(begin->offset);
    segment->sealed.store(false);
  }
  if (replay.list()) {
    const auto& [written_in, listed] = *replay.list();
    for (const std::shared_ptr<Segment>& segment : here.table.list()) {
      const std::uint64_t number = segment->header.number;
      if (number >= written_in || std::binary_search(listed.begin(), listed.end(), number)) {
        continue;
      }
      here.table.retire(*segment);
      wait_for_readers();
      here.table.forget(*segment);
    }
  }
  replayed_records_.fetch_add(replay.records());
  return position_.sequence == before.sequence ? Followed::nothing_new : Followed::moved_on;
}

bool Store::State::refresh() {
  Answering::refuse();
  if (!options_.read_only) return false;
  const std::lock_guard lock(writer_);
  Followed followed = Followed::lost;
  // After its first record, a file may still be given up by a writer that fails, and made again.
  const std::shared_ptr<Segment> newest = content().table.get(position_.segment);
  if (follows_ && position_.sequence > newest->header.first_sequence + 1) {
    follows_ = false;  // if follow() throws, it has stopped halfway
    try {
      followed = follow();
      follows_ = followed != Followed::lost;
    } catch (const StoreError&) {  // opening finds damage too, if it is damage
    } catch (const std::system_error& error) {
      // A file that was listed is gone already.
      if (error.code() != std::errc::no_such_file_or_directory) throw;
    }
  }
  if (followed != Followed::lost) return followed == Followed::moved_on;
  const std::uint64_t before = position_.sequence;
  open_for_reading();
  return position_.sequence != before;
}

}  // namespace nestline
