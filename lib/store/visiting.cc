// All records as of one instant: a copy of the index says which of them count, and the log is read
// beside whatever changes meanwhile. Damaged records are reported when all others were visited.
#include <optional>
#include <utility>
#include <vector>

#include "lib/concurrent/reclaim.h"
#include "lib/store/answering.h"
#include "lib/store/state.h"

namespace nestline {

void Store::State::visit(Space space, const Visit& with) const {
  Answering::refuse();
  // Segments stay open while they are in this list, also when their files are gone.
  SegmentTable::List segments;
  std::vector<std::uint64_t> ends;
  std::optional<Index> index_then;
  // All of the content is read under the mutex: refresh() may free it afterwards.
  AddressFormat format;
  for (;;) {
    index_then.emplace([&] {
      const ReadSection section;
      return index().maplet.ready_for_snapshot();
    }());
    const std::lock_guard lock(writer_);
    if (!index().maplet.snapshot_into(index_then->maplet)) continue;  // it has grown meanwhile
    format = content().table.format();
    segments = content().table.list();
    for (const auto& segment : segments) ends.push_back(segment->end());
    for (const auto& [hash, address] : index().overflow.copy()) {
      index_then->reserve();
      index_then->overflow.insert(hash, address);
    }
    break;
  }
  Hurt hurt;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const Segment& segment = *segments[i];
    for (SegmentWalk walk(segment, kSegmentHeaderBytes, ends[i]); walk.next();) {
      const std::optional<Record>& record = walk.record();
      if (record &&
          (record->kind != put_in(space) ||
           !index_then->contains(record->hash, format.pack(segment.slot, walk.offset())))) {
        continue;
      }
      if (walk.is_damaged()) {
        hurt.note(segment, walk);
      } else {
        with(record->key, record->value);
      }
    }
  }
  hurt.report(*disk_, "all others were visited");
}

}  // namespace nestline
