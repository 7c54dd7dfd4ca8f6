// See stepped_disk.h.
#include "tests/store/stepped_disk.h"

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/store/checkpoint.h"

namespace nestline::test {
namespace {

// What calls are passed on to, after `before`.
template <typename Called>
class Stepped {
 public:
  Stepped(std::unique_ptr<Called> called, const BeforeCall& before)
      : before_(before), called_(std::move(called)) {}
  Called* operator->() const {
    if (before_) before_();
    return called_.get();
  }
  [[nodiscard]] Called& at_once() const { return *called_; }

  const BeforeCall& before_;

 private:
  const std::unique_ptr<Called> called_;
};

const BeforeCall kNothing;

class SteppedFile final : public DiskFile {
 public:
  // `before_sync`: besides.
  SteppedFile(std::unique_ptr<DiskFile> file, const BeforeCall& before,
              const BeforeCall& before_sync, bool tells_of_writes)
      : file_(std::move(file), before),
        before_sync_(before_sync),
        tells_of_writes_(tells_of_writes) {}

  [[nodiscard]] std::uint64_t size() const override { return file_->size(); }
  std::size_t read(std::uint64_t offset, std::span<std::byte> to) const override {
    return file_->read(offset, to);
  }
  void write(std::uint64_t offset, std::span<const std::byte> from) override {
    (tells_of_writes_ ? *file_.operator->() : file_.at_once()).write(offset, from);
  }
  void truncate(std::uint64_t size) override { file_->truncate(size); }
  void sync() override {
    if (before_sync_) before_sync_();
    file_->sync();
  }
  const std::byte* map(std::uint64_t bytes) override { return file_->map(bytes); }

 private:
  const Stepped<DiskFile> file_;
  const BeforeCall& before_sync_;
  const bool tells_of_writes_;
};

class SteppedDisk final : public Disk {
 public:
  SteppedDisk(std::unique_ptr<Disk> disk, const BeforeCall& before, const BeforeCall& before_sync)
      : disk_(std::move(disk), before), before_sync_(before_sync) {}

  [[nodiscard]] std::vector<std::string> names() const override { return disk_->names(); }
  std::unique_ptr<DiskFile> open(std::string_view name, Mode mode) override {
    return std::make_unique<SteppedFile>(disk_->open(name, mode), disk_.before_, before_sync_,
                                         name != kCheckpointNewName);
  }
  void rename(std::string_view from, std::string_view to) override { disk_->rename(from, to); }
  void remove(std::string_view name) override { disk_->remove(name); }
  void sync_folder() override { disk_->sync_folder(); }
  std::unique_ptr<Lock> lock() override { return disk_.at_once().lock(); }
  [[nodiscard]] std::filesystem::path path_of(std::string_view name) const override {
    return disk_.at_once().path_of(name);
  }

 private:
  const Stepped<Disk> disk_;
  const BeforeCall& before_sync_;
};

}  // namespace

std::unique_ptr<Disk> stepped_disk(std::unique_ptr<Disk> disk, const BeforeCall& before) {
  return std::make_unique<SteppedDisk>(std::move(disk), before, kNothing);
}
std::unique_ptr<Disk> disk_with_steps_at_syncs(std::unique_ptr<Disk> disk,
                                               const BeforeCall& before) {
  return std::make_unique<SteppedDisk>(std::move(disk), kNothing, before);
}

SteppedThread::SteppedThread(std::function<void(SteppedThread& thread)> work)
    : thread_([this, work = std::move(work)] {
        std::exception_ptr error;
        try {
          work(*this);
        } catch (...) {
          error = std::current_exception();
        }
        const std::lock_guard lock(mutex_);
        error_ = error;
        has_ended_ = true;
        changed_.notify_all();
      }) {}

SteppedThread::~SteppedThread() {
  try {
    go_on(kAll);
  } catch (...) {  // somebody has been told, or nobody wants to know
  }
  thread_.join();
}

void SteppedThread::go_on(std::uint64_t calls) {
  std::unique_lock lock(mutex_);
  calls_ = calls;
  changed_.notify_all();
  changed_.wait(lock, [&] { return has_ended_ || (stands_ && calls_ == 0); });
  if (error_) std::rethrow_exception(error_);
}

void SteppedThread::before_call() {
  std::unique_lock lock(mutex_);
  if (calls_ == 0) {
    stands_ = true;
    changed_.notify_all();
    changed_.wait(lock, [&] { return calls_ != 0; });
    stands_ = false;
  }
  if (calls_ != kAll) --calls_;
}

}  // namespace nestline::test
