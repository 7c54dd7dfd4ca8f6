// Opening and closing.
#include <algorithm>
#include <random>
#include <string>
#include <system_error>
#include <utility>

#include "lib/concurrent/reclaim.h"
#include "lib/store/checkpoint.h"
#include "lib/store/folder.h"
#include "lib/store/recovery.h"
#include "lib/store/state.h"

namespace nestline {
namespace {

StoreOptions checked(const StoreOptions& options) {
  if (options.segment_bytes < 1024 || options.segment_bytes > kMostSegmentBytes) {
    throw std::invalid_argument("segment_bytes must be from 64 KiB to 64 GiB");
  }
  if (!(options.compact_above >= 0 && options.compact_above <= 1)) {
    throw std::invalid_argument("compact_above must be from 0 to 1");
  }
  return options;
}

std::uint64_t random_id() {
  std::random_device random;
  return std::uint64_t{random()} << 32 | random();
}

}  // namespace

Store::State::State(std::unique_ptr<Disk> disk, const StoreOptions& options, const OpenOn& how)
    : disk_(std::move(disk)),
      options_(checked(options)),
      lookup_(*disk_, options.verify_reads),
      checkpoint_bytes_(how.log_bytes_per_checkpoint) {
  if (options_.read_only) {
    open_for_reading();
    return;
  }
  open_for_writing();
  if (how.threads) start_threads();
}

Store::State::~State() { close(); }

void Store::State::open_for_writing() {
  refuse_other_folder(*disk_);  // and leave no lock there
  lock_ = take_lock(*disk_, ", or open the store read_only");
  Recovered found = recover(*disk_, options_, lookup_);
  const bool is_new = found.content == nullptr;
  if (is_new) {
    require_empty(*disk_);
    found.content =
        std::make_unique<Content>(random_id(), AddressFormat::for_limit(options_.segment_bytes),
                                  std::make_unique<Index>(options_.expected_records));
  }
  own_content_ = std::move(found.content);
  content_.store(own_content_.get());
  log_.emplace(*disk_, own_content_->table, syncs_, own_content_->store_id, options_.segment_bytes);
  if (is_new) {
    log_->create_first();
  } else {
    log_->resume(found.newest, found.position, found.position.sequence);
    if (found.cut_bytes != 0) syncs_.sync(*found.newest->file);
    for (const auto& [segment, from, sequence] : found.renewed) {
      log_->lay_again(*segment, from, sequence);
    }
    if (found.proven < found.position.offset) renew_end(*found.newest, found.proven);
  }
  leftover_ = std::move(found.leftover);
  saved_ = found.saved;
  saved_newest_ = log_->position().segment;
  newest_.store(saved_newest_);
  replayed_records_.store(found.replayed_records);
  cut_bytes_ = found.cut_bytes;
}

void Store::State::renew_end(const Segment& newest, std::uint64_t proven) {
  const std::vector<std::string> names = disk_->names();
  if (std::find(names.begin(), names.end(), kNewEndName) != names.end()) {
    disk_->remove(kNewEndName);
  }
  const std::uint64_t end = newest.end();
  std::uint64_t from = proven;
  if (from != 0 && !read_record(newest.from(from), newest.place(from))) {
    // A mark that somebody made, or that repair has kept, names no record: the last one before.
    from = kSegmentHeaderBytes;
    for (SegmentWalk walk(newest, from, end); walk.next() && walk.offset() <= proven;) {
      from = walk.offset();
    }
  }
  log_->renew_end(from, [&] {
    for (std::uint64_t offset = from; offset < end;) {
      const auto record = read_record(newest.from(offset), newest.place(offset));
      if (!record) {
        throw_damaged(*disk_, newest.header.number, offset, "there is no valid record");
      }
      (void)copy_record(newest, offset, *record);
      offset += bytes_of(*record);
    }
  });
}

// A writer may change the files between any two looks at them, and a writer that was killed may be
// followed by another. Then the looks can contradict each other, as if the log were damaged. Damage
// is still the same when everything is looked at again.
void Store::State::open_for_reading() {
  constexpr int kMostTries = 100;
  Recovered found;
  std::string damage;
  for (int tries = 1;; ++tries) {
    try {
      found = recover(*disk_, options_, lookup_);
      break;
    } catch (const StoreError& error) {
      if (damage == error.what() || tries == kMostTries) throw;
      damage = error.what();
    } catch (const std::system_error& error) {
      // The writer has compacted a file away meanwhile.
      const bool is_gone = error.code() == std::errc::no_such_file_or_directory;
      if (!is_gone || tries == kMostTries) throw;
      (void)disk_->names();  // throws if the folder itself is gone
    }
  }
  if (found.content == nullptr) {
    throw StoreError(folder_name(*disk_) + ": there is no store in this folder");
  }
  content_.store(found.content.get());
  own_content_.swap(found.content);
  if (found.content != nullptr) wait_for_readers();
  position_ = found.position;
  follows_ = true;
  replayed_records_.fetch_add(found.replayed_records);
}

void Store::State::close() noexcept {
  {
    const std::lock_guard lock(waking_);
    ending_ = true;
  }
  woken_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  if (!log_ || syncs_.is_broken()) return;
  const std::lock_guard lock(upkeep_);
  try {
    if (log_->position().sequence != saved_.sequence || !leftover_.empty()) save_index();
  } catch (const std::exception&) {  // the log has it all
  }
  log_->close();
}

Store Store::State::open(std::unique_ptr<Disk> disk, const StoreOptions& options,
                         const OpenOn& how) {
  return Store(std::make_unique<State>(std::move(disk), options, how));
}

void Store::State::keep_up_on(Store& store) { store.state_->keep_up(); }

void keep_up_on(Store& store) { Store::State::keep_up_on(store); }

Store open_on(std::unique_ptr<Disk> disk, const StoreOptions& options, const OpenOn& how) {
  return Store::State::open(std::move(disk), options, how);
}

}  // namespace nestline
