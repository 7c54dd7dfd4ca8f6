// Compaction: what is live in a segment is copied to the end of the log, and the segment goes.
//
//   1. A few records at a time, under the mutex: a put that the index points to is copied, and the
//      index made to point to the copy; a tombstone if its key is not there and an older segment
//      may still hold a record of it: compact() begins with the oldest. A file with a damaged
//      record that may count stays until that record's key is put or erased.
//   2. A list of segments without this one goes into the log, which is synced: it counts no more.
//   3. When no reader can have an address in it, its slot is free. Readers keep it open till done.
//   4. The file goes after the next checkpoint, so that none points to a missing file. When a copy
//      finds no room, the checkpoint comes at once, or the old one goes. So one file's room is
//      enough for any number of files; one that needs more waits for those that need less.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include "lib/filters/concurrent/reclaim.h"
#include "lib/store/checkpoint.h"
#include "lib/store/state.h"
#include "lib/store/test_switches.h"

namespace nestline { inline namespace v0_3 {
namespace {

// How much is read, and then copied with the other writers waiting, before they have their turn.
constexpr std::size_t kRecordsAtOnce = 256;
constexpr std::uint64_t kBytesAtOnce = std::uint64_t{32} << 10;
constexpr std::uint64_t kFileBytes = std::uint64_t{4} << 10;  // what a file takes at least
constexpr std::size_t kMaxSmall = 16;  // more small files than this are put together one by one

}  // namespace

bool Store::State::copy_record(const Segment& segment, std::uint64_t offset, const Record& record) {
  const Content& here = content();
  const std::uint64_t address = here.table.address(segment, offset);
  const bool puts = is_put(record.kind);
  if (puts ? !index().contains(record.hash, address)
           : !is_erase(record.kind) || locate(hashed_key(record), Purpose::value).has_value()) {
    return false;
  }
  const Change copy = {record.kind, record.hash, record.key, record.value,
                       value_digest(record.value, here.store_id)};
  reserve(1);
  const std::uint64_t copied_to = log_->append(copy, Log::AppendPriority::upkeep);
  if (puts) settle(copy, copied_to, Located{address, {}, bytes_of(record)});
  return true;
}

void Store::State::read_in_groups(const Segment& segment, std::uint64_t end,
                                  const WithRecords& with) {
  std::vector<SegmentWalk> some;
  for (SegmentWalk at(segment, end);;) {
    some.clear();
    const std::uint64_t begin = at.following();
    while (some.size() < kRecordsAtOnce && at.following() - begin < kBytesAtOnce && at.next()) {
      some.push_back(at);
    }
    if (some.empty()) return;
    with(some);
  }
}

bool Store::State::copy_live(const std::shared_ptr<Segment>& segment) {
  const Content& here = content();
  const bool keeps_tombstones =
      here.table.list().front()->header.number != segment->header.number &&
      !store_faults::drop_tombstones_early;
  Hurt hurt;
  std::uint64_t unsynced = 0;
  bool may_go = true;
  read_in_groups(*segment, segment->end(), [&](std::span<const SegmentWalk> some) {
    if (unsynced >= kSyncAhead) {
      syncs_.sync_ahead();
      unsynced = 0;
    }
    const std::lock_guard lock(writer_);
    syncs_.require_sound();
    for (const SegmentWalk& walk : some) {
      std::optional<Record> record = walk.record();
      if (walk.is_damaged()) {
        if (!record ||
            index().contains(record->hash, here.table.address(*segment, walk.offset()))) {
          hurt.note(*segment, walk);
          continue;
        }
        // Nothing points to it, but it may have been a tombstone.
        if (has_key(record->kind)) record->kind = erase_in(space_of(record->kind));
        record->value = {};
      }
      if (is_erase(record->kind) && !keeps_tombstones) continue;
      try {
        if (copy_record(*segment, walk.offset(), *record)) {
          unsynced += bytes_of(*record);
        } else if (record->kind == RecordKind::manifest_put) {
          may_go = may_go && !names_dying_piece(record->key, record->value);
        }
      } catch (const OutOfSlots&) {
        throw;
      } catch (const StoreError&) {
        syncs_.require_sound();
        hurt.note(*segment, walk);  // a tombstone of a key that has a damaged record
      }
    }
    (void)note_appended();
  });
  hurt.report(*disk_, "the others that live in this file were copied, and it stays");
  return may_go;
}

void Store::State::compact_segment(const std::shared_ptr<Segment>& segment) {
  try {
    if (!drop_pieces(*segment) || !copy_live(segment)) return segment->damaged.store(true);
  } catch (const OutOfSlots&) {
    throw;
  } catch (const StoreError&) {
    segment->damaged.store(true);
    throw;
  }
  Content& here = content();
  const std::uint64_t number = segment->header.number;
  std::uint64_t sequence = 0;
  {
    const std::lock_guard lock(writer_);
    leftover_.reserve(leftover_.size() + 1);
    log_->append_segments({&number, 1});
    here.table.retire(*segment);
    leftover_.push_back(number);
    leftover_bytes_ += segment->end();
    sequence = note_appended();
  }
  syncs_.wait_for(sequence);
  if (!store_faults::forget_under_readers) wait_for_readers();
  const std::lock_guard lock(writer_);
  here.table.forget(*segment);
}

void Store::State::compact_and_free(const std::shared_ptr<Segment>& segment) {
  try {
    require_room(*segment);
    compact_segment(segment);
  } catch (const std::system_error&) {
    // No room, perhaps, and files that are empty already have it. What was copied stays copied.
    if (leftover_.empty()) throw;
    free_leftovers();
    require_room(*segment);
    compact_segment(segment);
  }
}

void Store::State::require_room(const Segment& segment) {
  const std::uint64_t needed = segment.room_to_compact();
  std::uint64_t free = disk_->room().free;
  if (free < needed && needed - free <= index().maplet.memory_bytes()) {
    const std::lock_guard lock(writer_);
    if (log_->drop_checkpoint()) free = disk_->room().free;
  }
  if (free >= needed) return;
  throw_no_room(disk_->path_of(segment_name(segment.header.number)), needed - free);
}

std::shared_ptr<Segment> Store::State::worst_segment() const {
  const SegmentTable::List segments = content().table.list();
  const Disk::Room room = disk_->room();
  std::shared_ptr<Segment> worst;
  double most = options_.compact_above;
  std::uint64_t bytes = 0;
  std::uint64_t tombstones = 0;
  std::size_t small_ones = 0;  // as openings after crashes leave them
  std::shared_ptr<Segment> first_small;
  for (const std::shared_ptr<Segment>& segment : segments) {
    const std::uint64_t own = segment->counts.tombstones.load(std::memory_order_relaxed);
    bytes += segment->end();
    tombstones += own;
    if (!segment->sealed.load() || segment->damaged.load()) continue;
    if (room.free < segment->room_to_compact()) continue;
    if (segment->end() < segment->header.limit / 16 && ++small_ones == 1) first_small = segment;
    // Tombstones cannot go from where they are, except from the oldest segment.
    const std::uint64_t kept = segment == segments.front() ? 0 : own;
    const std::uint64_t dead = segment->dead() - std::min(kept, segment->dead());
    const double share = static_cast<double>(dead) / static_cast<double>(segment->end());
    const bool is_empty = segment->counts.live.load() == 0 && kept == 0;
    if (share > most || (is_empty && worst == nullptr)) {
      most = std::max(share, most);
      worst = segment;
    }
  }
  // Too many tombstones: the oldest segments keep them from going.
  const std::shared_ptr<Segment>& oldest = segments.front();
  if (worst == nullptr && segments.size() > 1 && oldest->sealed.load() && !oldest->damaged.load() &&
      static_cast<double>(tombstones) > options_.compact_above * static_cast<double>(bytes)) {
    worst = oldest;
  }
  if (worst == nullptr && small_ones > kMaxSmall) worst = first_small;
  return worst;
}

// Each doubling of the maplet costs tags a bit. An index made anew from the hashes in the log has
// all bits. It is filled beside the old one, with its pairs up to here; later changes go to both.
void Store::State::renew_index() {
  const Index& old = index();
  auto next = std::make_shared<Index>(old.maplet.capacity());
  std::shared_ptr<Index> worn;  // freed when no reader has it
  LogPosition position;
  SegmentTable::List segments;
  {
    const std::lock_guard lock(writer_);
    position = log_->position();
    segments = content().table.list();
    next_index_ = std::move(next);
  }
  const auto fill = [&](const Segment& segment, std::span<const SegmentWalk> some) {
    const std::lock_guard lock(writer_);
    for (const SegmentWalk& walk : some) {
      const std::optional<Record>& record = walk.record();
      // The pair of a record whose key is not known cannot be found: the old index serves on.
      if (!record) {
        throw_damaged(*disk_, segment.header.number, walk.offset(), "there is no valid record");
      }
      const std::uint64_t address = content().table.address(segment, walk.offset());
      if (!is_put(record->kind) || !old.contains(record->hash, address)) continue;
      next_index_->reserve();
      next_index_->insert(record->hash, address);
    }
  };
  try {
    for (const std::shared_ptr<Segment>& segment : segments) {
      const bool is_last = segment->header.number == position.segment;
      read_in_groups(*segment, is_last ? position.offset : segment->end(),
                     [&](std::span<const SegmentWalk> some) { fill(*segment, some); });
    }
  } catch (...) {
    const std::lock_guard lock(writer_);
    next_index_.reset();
    throw;
  }
  {
    const std::lock_guard lock(writer_);
    content().index.store(next_index_.get());
    worn = std::exchange(content().owned_index, std::move(next_index_));
  }
  wait_for_readers();
}

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

void Store::State::compact() {
  require_writable();
  const std::lock_guard upkeep(upkeep_);
  free_leftovers();  // of a call that failed
  renew_worn_index();
  const Keeping keeping{*this};
  try {
    for (const auto& segment : content().table.list()) (void)drop_pieces(*segment);
  } catch (const std::exception&) {  // which comes again with the segment
    syncs_.require_sound();
  }
  std::exception_ptr damage;  // thrown when the other files have been compacted
  std::uint64_t last = 0;
  {
    const std::lock_guard lock(writer_);
    const std::shared_ptr<Segment> newest = log_->newest();
    // Without room for another file, this one has some for the list of those that stay.
    const bool has_room = disk_->room().free >= kFileBytes;
    last = newest->sealed.load() || (newest->dead() != 0 && has_room) ? log_->seal()
                                                                      : newest->header.number - 1;
    (void)note_appended();
  }
  std::vector<std::uint64_t> numbers;  // not the files themselves: an emptied one is to be closed
  for (const std::shared_ptr<Segment>& segment : content().table.list()) {
    if (segment->header.number <= last) numbers.push_back(segment->header.number);
  }
  std::exception_ptr no_room;
  const auto is_done = [&](std::uint64_t number) {
    const std::shared_ptr<Segment> segment = content().table.get(number);
    if (segment->dead() == 0 && segment->counts.live.load() != 0) return true;
    try {
      compact_and_free(segment);
    } catch (const StoreError&) {
      syncs_.require_sound();
      if (!damage) damage = std::current_exception();
    } catch (const std::system_error& error) {
      if (!is_no_room(error)) throw;
      if (!no_room) no_room = std::current_exception();
      return false;
    }
    return true;
  };
  do {
    no_room = nullptr;
  } while (std::erase_if(numbers, is_done) != 0 && no_room);
  free_leftovers();
  if (no_room) std::rethrow_exception(no_room);
  if (damage) std::rethrow_exception(damage);
}

void Store::State::free_leftovers() {
  if (leftover_.empty()) return;
  try {
    save_index();
  } catch (const std::system_error&) {
    // No room, perhaps, and these files have it. Without a checkpoint they may go at once.
    const std::vector<std::uint64_t> numbers = with_writer([&] { return leftover_; });
    syncs_.require_sound();
    disk_->remove_if_there(kCheckpointNewName);
    disk_->remove_if_there(kCheckpointName);
    syncs_.sync_folder(*disk_);
    saved_ = {};
    remove_leftovers(numbers);
  }
}

void Store::State::remove_leftovers(const std::vector<std::uint64_t>& numbers) {
  for (const std::uint64_t number : numbers) {
    disk_->remove(segment_name(number));
    const std::lock_guard lock(writer_);
    std::erase(leftover_, number);
    leftover_bytes_ = 0;
  }
}

void Store::compact() { state_->compact(); }

}}  // namespace nestline
