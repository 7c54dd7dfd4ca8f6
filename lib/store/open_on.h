// The public functions on a disk of the caller's: for tests, whose disks lose their power.
#ifndef NESTLINE_LIB_STORE_OPEN_ON_H_
#define NESTLINE_LIB_STORE_OPEN_ON_H_

#include <cstdint>
#include <memory>

#include "lib/store/disk.h"
#include "nestline/store.h"

namespace nestline {

struct OpenOn {
  // Whether the store has a thread of its own for what it does by itself: syncing after an
  // interval, checkpoints, compaction, a new index. Without it, compaction and a new index wait for
  // compact(), and checkpoints for compact(), checkpoint() and the end.
  bool threads = true;
  // Bytes of log between checkpoints; 0: as Store::open has it.
  std::uint64_t log_bytes_per_checkpoint = 0;
};

// As Store::open; segments may be smaller than its options allow, down to 1 KiB.
Store open_on(std::unique_ptr<Disk> disk, const StoreOptions& options, const OpenOn& how = {});

// What the store's own thread does in one round, for a store without threads: a compaction, a
// checkpoint or a new index, if one is due.
void keep_up_on(Store& store);

StoreReport verify_on(Disk& disk);
StoreReport repair_on(Disk& disk);

}  // namespace nestline

#endif  // NESTLINE_LIB_STORE_OPEN_ON_H_
