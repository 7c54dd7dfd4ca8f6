// A copy of a store in another folder, made while others write and compact.
//
//   1. The folder gets the file copy.nest.new: as long as it is there, nothing opens the folder.
//   2. The checkpoint is linked first, so that the log does not end before its position. Where that
//      cannot be done, opening reads the log; also where a store that is open for reading is copied
//      and the writer has made a checkpoint since.
//   3. The copy is as of one instant, in which no batch is open. Segments stay open meanwhile, also
//      when compaction removes their names.
//   4. The newest segment is written on by the store, so its bytes are copied, and a mark behind
//      them says that they are on disk. It comes before the others: as it names them, versions that
//      do not know that file find that some are missing.
//   5. The others are sealed, and not written again: they are linked, or else copied. What an
//      earlier copy has left is taken as it is. Where recovery has to write in one all the same, it
//      makes a copy of that first (LinkedFile).
//   6. Segments that do not count any more go, and copy.nest.new becomes copy.nest.
//
// Opening the copy for writing removes that file: then it is a store of its own, and no copy takes
// its place. So what has the file has been written by nobody but this.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lib/filters/concurrent/reclaim.h"
#include "lib/store/checkpoint.h"
#include "lib/store/recovery.h"
#include "lib/store/state.h"

namespace nestline { inline namespace v0_3 {
namespace {

// Lays a synced file with the first `size` bytes of `from`, and then `end`, under the name.
void copy_file(const DiskFile& from, std::uint64_t size, std::span<const std::byte> end, Disk& to,
               const std::string& name) {
  const std::string made = name + std::string(kNewEnding);
  const std::unique_ptr<DiskFile> file = to.open(made, Disk::Mode::create);
  std::vector<std::byte> piece(std::size_t{1} << 20);
  for (std::uint64_t at = 0; at < size;) {
    const auto room = std::span(piece).first(std::min<std::uint64_t>(piece.size(), size - at));
    const std::size_t got = from.read(at, room);
    if (got == 0) throw StoreError(to.path_of(name).string() + ": the file to copy has been cut");
    file->write(at, room.first(got));
    at += got;
  }
  if (!end.empty()) file->write(size, end);
  file->truncate(size + end.size());  // a disk may lengthen files ahead
  file->sync();
  to.rename(made, name);
}

// Whether an earlier copy has left the whole segment: the checksums of its header and of its last
// record, a seal, tell it from others.
bool is_there(const Segment& segment, const DiskFile& file) {
  std::array<std::byte, kSealBytes> bytes;
  for (const std::uint64_t end : {std::uint64_t{kSegmentHeaderBytes}, segment.end()}) {
    const std::uint64_t at = end - bytes.size();
    if (file.read(at, bytes) != bytes.size() ||
        !std::ranges::equal(bytes, segment.from(at).first(bytes.size()))) {
      return false;
    }
  }
  return file.size() == segment.end();
}

// Throws StoreError unless the folder is empty or has an older copy.
void require_copy(Disk& to, const SegmentHeader& newest) {
  const std::string folder = to.path_of(kCopyName).parent_path().string();
  const std::vector<std::uint64_t> numbers = segment_numbers(to.names());
  if (!to.has(kCopyName) && !to.has(kCopyNewName)) {
    refuse_other_folder(to);
    if (numbers.empty() && !to.has(kCheckpointName)) return;
    throw StoreError(folder + ": this is no copy, or one that was written since it was made");
  }
  if (numbers.empty()) return;
  const auto file = to.open(segment_name(numbers.back()), Disk::Mode::read);
  const auto header = read_segment_header(to, *file, numbers.back());
  if (header && header->store_id != newest.store_id) {
    throw StoreError(folder + ": this is a copy of another store");
  }
  if (numbers.back() > newest.number) {
    throw StoreError(folder + ": this copy is newer than the store, and has what that has lost");
  }
}

}  // namespace

void refuse_unfinished_copy(const Disk& disk) {
  if (!disk.has(kCopyNewName)) return;
  throw StoreError(disk.path_of(kCopyNewName).parent_path().string() +
                   ": this is a copy of a store that is not finished; finish it with "
                   "Store::copy_to() or 'nestline store copy', or remove the folder");
}

void make_own(Disk& disk, const std::string& name) {
  const std::unique_ptr<DiskFile> file = disk.open(name, Disk::Mode::read);
  copy_file(*file, file->size(), {}, disk, name);
  disk.sync_folder();
}

void Store::State::copy(Disk& to) {
  refuse_in_section();
  const std::unique_ptr<Disk::Lock> lock = take_lock(to, "");
  const auto now = [&] {
    return std::pair(log_ ? log_->position() : position_, content().table.list());
  };
  require_copy(to, with_writer(now).second.back()->header);
  drop_unfinished(to);
  if (to.has(kCopyName)) {
    to.rename(kCopyName, kCopyNewName);
  } else if (!to.has(kCopyNewName)) {
    to.open(kCopyNewName, Disk::Mode::create)->sync();
  }
  to.sync_folder();
  to.remove_if_there(kCheckpointName);
  (void)to.link_from(*disk_, kCheckpointName);
  const auto [position, segments] = with_writer(now);
  if (options_.read_only) {
    const std::optional<LogPosition> linked = checkpoint_position(to);
    if (linked && position < *linked) to.remove(kCheckpointName);
  }
  if (log_) syncs_.wait_for(position.sequence);  // the copy has nothing that the store can lose
  const Segment& newest = *segments.back();
  std::vector<std::byte> mark;
  if (!newest.sealed.load()) {
    mark = encode_frame(RecordKind::sync_mark, position.sequence,
                        encode_two_numbers({position.segment, position.offset}),
                        newest.place(position.offset));
  }
  copy_file(*newest.file, position.offset, mark, to, segment_name(position.segment));
  to.sync_folder();
  std::vector<std::uint64_t> gone = segment_numbers(to.names());
  for (const std::shared_ptr<Segment>& segment : segments) {
    const std::string name = segment_name(segment->header.number);
    const bool has_name = std::erase(gone, segment->header.number) != 0;
    if (segment == segments.back() || to.link_from(*disk_, name)) continue;
    if (has_name && is_there(*segment, *to.open(name, Disk::Mode::read))) continue;
    copy_file(*segment->file, segment->end(), {}, to, name);
  }
  for (const std::uint64_t number : gone) to.remove(segment_name(number));
  to.sync_folder();
  to.rename(kCopyNewName, kCopyName);
  to.sync_folder();
}

void Store::copy_to(const std::filesystem::path& folder) const {
  namespace fs = std::filesystem;
  const fs::path own = fs::canonical(state_->folder());
  const fs::path to = fs::weakly_canonical(folder);
  if (std::ranges::mismatch(own, to).in1 == own.end()) {
    throw StoreError(folder.string() + ": this is in the folder of the store itself");
  }
  state_->copy(*open_system_disk(folder, true));
}

}}  // namespace nestline
