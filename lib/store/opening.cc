// Opening, following the log, and closing; the folder: whether it is a store, and which process may
// write. What the files hold is for recovery.h to find out; here its result becomes a State.
#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <memory>
#include <mutex>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "lib/filters/concurrent/reclaim.h"
#include "lib/store/checkpoint.h"
#include "lib/store/recovery.h"
#include "lib/store/state.h"
#include "lib/store/test_switches.h"

namespace nestline { inline namespace v0_3 {
namespace {

StoreOptions checked(const StoreOptions& options) {
  if (options.segment_bytes < 1024 || options.segment_bytes > kMaxSegmentBytes) {
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

// Which process has the lock (the file's first line, on a real disk), and what to do about it.
std::string holder_of(Disk& disk) {
  constexpr std::string_view kAsOther = " has the store open for writing; wait for it or end it";
  try {
    std::array<std::byte, 20> digits;
    const std::size_t count = disk.open("lock", Disk::Mode::read)->read(0, digits);
    const std::string_view text(reinterpret_cast<const char*>(digits.data()), count);
    if (const std::size_t end = text.find('\n'); end != std::string_view::npos && end != 0) {
      const std::string number(text.substr(0, end));
      if (number == disk.this_holder()) {
        return "this process has the store open for writing already; use or close that Store";
      }
      return "process " + number + std::string(kAsOther);
    }
  } catch (const std::system_error&) {  // then it is not known
  }
  return "a process" + std::string(kAsOther);
}

std::string folder_name(const Disk& disk) { return disk.path_of("lock").parent_path().string(); }

// Of a file that is being written.
bool is_unfinished(std::string_view name) {
  if (name == kNewEndName || name == kCheckpointNewName) return true;
  if (!name.ends_with(kNewEnding)) return false;
  name.remove_suffix(kNewEnding.size());
  return segment_number(name).has_value();
}

void require_empty(const Disk& disk) {
  for (const std::string& name : disk.names()) {
    if (name != "lock" && name != kCopyName && !is_unfinished(name) && !is_put_away(name)) {
      throw StoreError(folder_name(disk) +
                       ": there is no store in this folder, and it is not empty");
    }
  }
}

}  // namespace

bool is_put_away(std::string_view name) {
  const std::size_t at = name.find(kDamagedEnding);
  if (at == std::string_view::npos) return false;
  const std::string_view times = name.substr(at + kDamagedEnding.size());
  name = name.substr(0, at);
  if (name != kCheckpointName && !segment_number(name)) return false;
  return times.empty() || (times.front() == '.' && times.size() > 1 &&
                           times.find_first_not_of("0123456789", 1) == std::string_view::npos);
}

void drop_unfinished(Disk& disk) {
  for (const std::string& name : disk.names()) {
    if (is_unfinished(name)) disk.remove_if_there(name);
  }
}

void refuse_other_folder(const Disk& disk) {
  refuse_unfinished_copy(disk);
  if (!disk.has(kCheckpointName) && segment_numbers(disk.names()).empty()) require_empty(disk);
}

void throw_no_store(const Disk& disk) {
  throw StoreError(folder_name(disk) + ": there is no store in this folder");
}

std::unique_ptr<Disk::Lock> take_lock(Disk& disk, std::string_view advice) {
  std::unique_ptr<Disk::Lock> lock = disk.lock();
  if (lock == nullptr) {
    throw StoreBusy(folder_name(disk) + ": " + holder_of(disk) + std::string(advice));
  }
  // Before anything is read or changed: whether the file that grows may be written.
  if (const auto numbers = segment_numbers(disk.names()); !numbers.empty()) {
    (void)disk.open(segment_name(numbers.back()), Disk::Mode::write);
  }
  return lock;
}

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

void Store::State::open_for_writing() {
  refuse_other_folder(*disk_);  // and leave no lock there
  lock_ = take_lock(*disk_, ", or open the store read_only");
  disk_->remove_if_there(kCopyName);  // it is a store of its own from now on
  // A killed process may have changed it unsynced: names here, the newest file's end below.
  if (!store_faults::trust_names_at_opening) syncs_.sync_folder(*disk_);
  drop_unfinished(*disk_);
  for (Renewal renewal = Renewal::anew;;) {
    try {
      return begin_to_write(renewal);
    } catch (const LinkedFile& file) {
      make_own(*disk_, file.name);
    } catch (const std::system_error& error) {
      // Some file systems find out last, when a file is to be synced, or to get its name.
      if (!is_no_room(error) || syncs_.is_broken() || renewal == Renewal::in_place) throw;
      renewal = Renewal::in_place;
    }
  }
}

void Store::State::begin_to_write(Renewal renewal) {
  Recovered found = recover(*disk_, options_, lookup_);
  cut_bytes_ += found.cut_bytes;
  cut_records_.fetch_add(found.cut_records);
  const bool is_new = found.content == nullptr;
  if (is_new) {
    require_empty(*disk_);
    found.content =
        std::make_unique<Content>(random_id(), AddressFormat::for_limit(options_.segment_bytes),
                                  std::make_unique<Index>(options_.expected_records));
  }
  log_.reset();
  own_content_ = std::move(found.content);
  content_.store(own_content_.get());
  log_.emplace(*disk_, own_content_->table, syncs_, own_content_->store_id, options_.segment_bytes);
  if (is_new) {
    log_->create_first();
  } else {
    log_->resume(found.newest, found.position, found.position.sequence);
    if (!store_faults::no_sync_at_opening) syncs_.sync(*found.newest->file);
    for (const auto& [segment, from, sequence] : found.renewed) {
      log_->rewrite_range(*segment, from, sequence);
    }
    if (found.proven >= found.position.offset) {
      log_->note_synced();
    } else if (renewal == Renewal::in_place) {
      log_->rewrite_in_place(found.proven);
    } else {
      rewrite_tail(*found.newest, found.proven);
    }
  }
  leftover_ = std::move(found.leftover);
  saved_ = found.saved;
  saved_newest_ = log_->position().segment;
  newest_.store(saved_newest_);
  replayed_records_.store(found.replayed_records);
}

void Store::State::rewrite_tail(const Segment& newest, std::uint64_t proven) {
  const std::uint64_t end = newest.end();
  std::uint64_t from = proven;
  if (from != 0 && !read_record(newest.from(from), newest.place(from))) {
    // A mark that was forged, or that repair has kept, names no record: the last one before.
    from = kSegmentHeaderBytes;
    for (SegmentWalk walk(newest, end); walk.next() && walk.offset() <= proven;) {
      from = walk.offset();
    }
  }
  const auto copy = [&] {
    for (std::uint64_t offset = from; offset < end;) {
      const auto record = read_record(newest.from(offset), newest.place(offset));
      if (!record) {
        throw_damaged(*disk_, newest.header.number, offset, "there is no valid record");
      }
      (void)copy_record(newest, offset, *record);
      offset += bytes_of(*record);
    }
  };
  for (;;) {
    try {
      return log_->rewrite_tail(from, copy);
    } catch (const std::system_error& error) {
      if (!is_no_room(error) || log_->newest().get() != &newest) throw;
      if (!log_->drop_checkpoint()) return log_->rewrite_in_place(from);
    }
  }
}

// A writer may change files between two looks, which then contradict each other like damage. Real
// damage is still the same when all is looked at again, and without the checkpoint.
void Store::State::open_for_reading() {
  refuse_unfinished_copy(*disk_);
  constexpr int kMaxTries = 100;
  Recovered found;
  std::string damage;
  RecoverFrom trust = RecoverFrom::checkpoint;
  for (int tries = 1;; ++tries) {
    try {
      found = recover(*disk_, options_, lookup_, trust);
      break;
    } catch (const StoreError& error) {
      const bool is_same = damage == error.what();
      if ((is_same && trust == RecoverFrom::log) || tries == kMaxTries) throw;
      if (is_same) trust = RecoverFrom::log;
      damage = is_same ? "" : error.what();
    } catch (const std::system_error& error) {
      // The writer has compacted a file away meanwhile.
      const bool is_gone = error.code() == std::errc::no_such_file_or_directory;
      if (!is_gone || tries == kMaxTries) throw;
      (void)disk_->names();  // throws if the folder itself is gone
    }
  }
  if (found.content == nullptr) throw_no_store(*disk_);
  content_.store(found.content.get());
  own_content_.swap(found.content);
  if (found.content != nullptr) wait_for_readers();
  position_ = found.position;
  follows_ = true;
  replayed_records_.fetch_add(found.replayed_records);
  cut_records_.store(found.cut_records);
}

bool Store::State::refresh() {
  refuse_in_section();
  if (!options_.read_only) return false;
  const std::lock_guard lock(writer_);
  const std::uint64_t before = position_.sequence;
  // After its first record, a file may still be given up by a writer that fails, and made again.
  const std::shared_ptr<Segment> newest = content().table.get(position_.segment);
  if (follows_ && before > newest->header.first_sequence + 1) {
    follows_ = false;  // if follow() throws, it has stopped halfway
    try {
      const Recovered found = follow(*disk_, options_, lookup_, content(), position_);
      position_ = found.position;
      replayed_records_.fetch_add(found.replayed_records);
      follows_ = true;
      return position_.sequence != before;
    } catch (const StoreError&) {  // opening finds damage too, if it is damage
    } catch (const std::system_error& error) {
      // A file that was listed is gone already.
      if (error.code() != std::errc::no_such_file_or_directory) throw;
    }
  }
  open_for_reading();
  return position_.sequence != before;
}

Store::State::~State() {
  end_threads();
  if (!log_ || syncs_.is_broken()) return;
  const std::lock_guard lock(upkeep_);
  try {
    // First, since a checkpoint may fail before it comes to that.
    syncs_.wait_for(log_->position().sequence);
    if (log_->position().sequence != saved_.sequence || !leftover_.empty()) save_index();
  } catch (const std::exception&) {  // the log has it all
  }
}

Store Store::State::open(std::unique_ptr<Disk> disk, const StoreOptions& options,
                         const OpenOn& how) {
  return Store(std::make_unique<State>(std::move(disk), options, how));
}

Store Store::open(const std::filesystem::path& folder, const StoreOptions& options) {
  if (options.segment_bytes < std::uint64_t{64} << 10) {
    throw std::invalid_argument("segment_bytes must be from 64 KiB to 64 GiB");
  }
  return State::open(open_system_disk(folder, options.create && !options.read_only), options, {});
}

Store::Store(internal::OwnedState<State> state) : state_(std::move(state)) {}
Store::Store(Store&& other) noexcept = default;
Store& Store::operator=(Store&& other) noexcept = default;
Store::~Store() = default;
bool Store::refresh() { return state_->refresh(); }

}}  // namespace nestline
