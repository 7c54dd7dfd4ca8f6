// The checkpoint: the index in index.nest, to read less log at opening (docs/STORE.md, 6.4). It is
// a cache: one that is missing, damaged, or another store's only costs time. But the log is on disk
// up to its position before it gets its name: a log that ends before has lost something.
#ifndef NESTLINE_LIB_STORE_CHECKPOINT_H_
#define NESTLINE_LIB_STORE_CHECKPOINT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/store/disk.h"
#include "lib/store/log_format.h"
#include "nestline/maplet.h"

namespace nestline { inline namespace v0_3 {

inline constexpr std::string_view kCheckpointName = "index.nest";
inline constexpr std::string_view kCheckpointNewName = "index.nest.new";

struct CheckpointSegment {
  std::uint64_t number = 0;
  std::uint64_t slot = 0;
  std::uint64_t end = 0;
  std::uint64_t sealed = 0;
  std::uint64_t live = 0;
  std::uint64_t tombstones = 0;
  std::uint64_t frame = 0;
};

struct CheckpointHead {
  std::uint64_t store_id = 0;
  LogPosition position;
  std::uint64_t offset_bits = 0;
  std::uint64_t keys = 0;
  std::vector<CheckpointSegment> segments;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> overflow;
};

struct Checkpoint {
  CheckpointHead head;
  std::optional<Maplet> pairs;  // empty if only the head is whole
};

// Replaces the file; it is on disk when the folder has been synced after this.
void write_checkpoint(Disk& disk, const CheckpointHead& head, Maplet pairs);
// Empty unless there is a file whose head is whole. Throws std::bad_alloc.
std::optional<Checkpoint> read_checkpoint(Disk& disk);
// Its position alone, of the same files, without the memory that the pairs take.
std::optional<LogPosition> checkpoint_position(Disk& disk);
// The head alone, of the bytes of a file. `pairs_at` is where the maplet begins.
std::optional<CheckpointHead> decode_checkpoint(std::span<const std::byte> file,
                                                std::size_t& pairs_at);

}}  // namespace nestline

#endif  // NESTLINE_LIB_STORE_CHECKPOINT_H_
