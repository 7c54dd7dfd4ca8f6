// The two states of a folder, and how one becomes the other.
#include "tests/store/simulated_disk.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

#include "tests/store/mirror.h"
#include "tests/store/power_loss.h"

namespace nestline::test {
namespace {

[[noreturn]] void fail_with(const std::string& file, int error) {
  throw std::system_error(error, std::generic_category(), file);
}

}  // namespace

struct SimulatedMachine::Inode {
  // What a sync has made of a change. One that failed leaves it in memory, where reads find it, and
  // nothing will ever write it: later syncs write later changes only.
  enum class State : std::uint8_t { pending, synced, dropped };

  Bytes now;
  Bytes durable;
  std::vector<Change> changes;  // from durable to now
  std::vector<State> states;    // of each of them
  std::vector<std::weak_ptr<Mirror>> mirrors;

  void show(std::uint64_t from, std::uint64_t to) {
    for (const auto& weak : mirrors) {
      if (const auto mirror = weak.lock()) mirror->show(now, from, to);
    }
  }

  void change(Change change) {
    lay(now, change);
    show(change.offset, change.offset + change.bytes.size());
    changes.push_back(std::move(change));
    states.push_back(State::pending);
  }

  void sync() {
    std::ranges::replace(states, State::pending, State::synced);
    const auto first = std::ranges::find(states, State::dropped) - states.begin();
    for (auto i = decltype(first){0}; i < first; ++i) {
      lay(durable, changes[static_cast<std::size_t>(i)]);
    }
    changes.erase(changes.begin(), changes.begin() + first);
    states.erase(states.begin(), states.begin() + first);
  }

  void fail_sync() { std::ranges::replace(states, State::pending, State::dropped); }

  [[nodiscard]] Bytes after_power_loss(Fates& fates) const {
    Bytes content = durable;
    fates.next_file();
    for (std::size_t i = 0; i < changes.size(); ++i) {
      if (states[i] == State::synced) {
        lay(content, changes[i]);
      } else {
        fates.lay(content, changes[i]);
      }
    }
    return content;
  }
};

// `name` belongs to `inode` afterwards, or to nothing; `old_name`, if there is one, to nothing.
struct SimulatedMachine::NameChange {
  std::string name;
  std::shared_ptr<Inode> inode;
  std::string old_name;

  void apply(std::map<std::string, std::shared_ptr<Inode>>& names) const {
    if (!old_name.empty()) names.erase(old_name);
    if (inode != nullptr) {
      names[name] = inode;
    } else {
      names.erase(name);
    }
  }
};

class SimulatedFile final : public DiskFile {
 public:
  SimulatedFile(std::shared_ptr<SimulatedMachine> machine,
                std::shared_ptr<SimulatedMachine::Inode> inode, std::string name, bool writable)
      : machine_(std::move(machine)),
        inode_(std::move(inode)),
        name_(std::move(name)),
        writable_(writable) {}

  [[nodiscard]] std::uint64_t size() const override {
    const std::scoped_lock lock(machine_->mutex_);
    return inode_->now.size();
  }

  std::size_t read(std::uint64_t offset, std::span<std::byte> to) const override {
    const std::scoped_lock lock(machine_->mutex_);
    machine_->begin(Call::read, name_);
    if (offset >= inode_->now.size()) return 0;
    const std::size_t count = std::min<std::size_t>(to.size(), inode_->now.size() - offset);
    std::copy_n(inode_->now.begin() + static_cast<std::ptrdiff_t>(offset), count, to.begin());
    return count;
  }

  void write(std::uint64_t offset, std::span<const std::byte> from) override {
    const std::scoped_lock lock(machine_->mutex_);
    if (!writable_) fail_with(name_, EBADF);
    const SimulatedMachine::Begun begun = machine_->count(Call::write, name_);
    if (!machine_->has_room(*inode_, offset + from.size())) fail_with(name_, ENOSPC);
    machine_->write(*inode_, offset, from, begun.error == 0);
    if (begun.error != 0) fail_with(name_, begun.error);
    if (begun.power_goes) SimulatedMachine::power_is_off(name_);
  }

  void reserve(std::uint64_t bytes) override {
    const std::scoped_lock lock(machine_->mutex_);
    if (!machine_->has_room(*inode_, bytes)) fail_with(name_, ENOSPC);
    if (bytes <= inode_->now.size()) return;
    inode_->change({.truncation = true, .offset = bytes, .bytes = {}, .size = bytes});
  }

  void truncate(std::uint64_t size) override {
    const std::scoped_lock lock(machine_->mutex_);
    if (!writable_) fail_with(name_, EBADF);
    const bool off = machine_->begin(Call::truncate, name_);
    inode_->change({.truncation = true, .offset = size, .bytes = {}, .size = size});
    if (off) SimulatedMachine::power_is_off(name_);
  }

  void sync() override {
    try {
      const std::scoped_lock lock(machine_->mutex_);
      try {
        if (machine_->begin(Call::sync, name_)) SimulatedMachine::power_is_off(name_);
      } catch (...) {
        inode_->fail_sync();
        throw;
      }
      inode_->sync();
    } catch (...) {
      if (machine_->after_failed_sync) machine_->after_failed_sync();
      throw;
    }
  }

  const std::byte* map(std::uint64_t bytes) override {
    const std::scoped_lock lock(machine_->mutex_);
    if (mirror_ != nullptr) throw std::logic_error(name_ + ": mapped twice");
    mirror_ = std::make_shared<Mirror>(bytes);
    std::erase_if(inode_->mirrors, [](const auto& weak) { return weak.expired(); });
    inode_->mirrors.push_back(mirror_);
    mirror_->show(inode_->now, 0, inode_->now.size());
    return mirror_->address();
  }

 private:
  std::shared_ptr<SimulatedMachine> machine_;
  std::shared_ptr<SimulatedMachine::Inode> inode_;
  std::shared_ptr<Mirror> mirror_;
  std::string name_;
  bool writable_;
};

class SimulatedFolder final : public Disk {
 public:
  explicit SimulatedFolder(std::shared_ptr<SimulatedMachine> machine)
      : machine_(std::move(machine)) {}

  [[nodiscard]] std::vector<std::string> names() const override {
    const std::scoped_lock lock(machine_->mutex_);
    std::vector<std::string> all;
    for (const auto& [name, inode] : machine_->names_) all.push_back(name);
    std::shuffle(all.begin(), all.end(), machine_->random_);
    return all;
  }

  std::unique_ptr<DiskFile> open(std::string_view name, Mode mode) override {
    const std::scoped_lock lock(machine_->mutex_);
    std::string text(name);
    const auto found = machine_->names_.find(text);
    const bool is_there = found != machine_->names_.end();
    if (mode == Mode::create) {
      if (is_there) fail_with(text, EEXIST);
      auto inode = std::make_shared<SimulatedMachine::Inode>();
      change(Call::create, text, {text, inode, {}});
      return std::make_unique<SimulatedFile>(machine_, inode, text, true);
    }
    machine_->begin(Call::open, text);
    if (!is_there) fail_with(text, ENOENT);
    return std::make_unique<SimulatedFile>(machine_, found->second, text, mode == Mode::write);
  }

  void rename(std::string_view from, std::string_view to) override {
    const std::scoped_lock lock(machine_->mutex_);
    const std::string text(from);
    const auto found = machine_->names_.find(text);
    if (found == machine_->names_.end()) fail_with(text, ENOENT);
    change(Call::rename, text, {std::string(to), found->second, text});
  }

  void remove(std::string_view name) override {
    const std::scoped_lock lock(machine_->mutex_);
    const std::string text(name);
    if (!machine_->names_.contains(text)) fail_with(text, ENOENT);
    change(Call::remove, text, {text, nullptr, {}});
  }

  void sync_folder() override {
    const std::scoped_lock lock(machine_->mutex_);
    try {
      if (machine_->begin(Call::sync_folder, "folder")) SimulatedMachine::power_is_off("folder");
    } catch (...) {
      machine_->folder_sync_failed_ = true;
      throw;
    }
    if (machine_->folder_sync_failed_) return;
    for (const auto& change : machine_->name_changes_) change.apply(machine_->durable_names_);
    machine_->name_changes_.clear();
  }

  std::unique_ptr<Lock> lock() override {
    const std::scoped_lock lock(machine_->mutex_);
    if (machine_->locked_) return nullptr;
    return std::make_unique<FolderLock>(machine_);
  }

  [[nodiscard]] Room room() const override {
    const std::scoped_lock lock(machine_->mutex_);
    if (machine_->room_ == SimulatedMachine::kNever) return {};
    return {machine_->room_ - std::min(machine_->room_, machine_->used()), machine_->room_};
  }

  [[nodiscard]] std::filesystem::path path_of(std::string_view name) const override {
    return std::filesystem::path("simulated") / name;
  }

 private:
  class FolderLock final : public Lock {
   public:
    explicit FolderLock(std::shared_ptr<SimulatedMachine> machine) : machine_(std::move(machine)) {
      machine_->locked_ = true;
    }
    ~FolderLock() override {
      const std::scoped_lock lock(machine_->mutex_);
      machine_->locked_ = false;
    }

   private:
    std::shared_ptr<SimulatedMachine> machine_;
  };

  void change(Call call, const std::string& name, SimulatedMachine::NameChange change) {
    const bool off = machine_->begin(call, name);
    change.apply(machine_->names_);
    machine_->name_changes_.push_back(std::move(change));
    if (off) SimulatedMachine::power_is_off(name);
  }

  std::shared_ptr<SimulatedMachine> machine_;
};

SimulatedMachine::SimulatedMachine(std::uint64_t seed) : random_(seed) {}
SimulatedMachine::~SimulatedMachine() = default;

std::shared_ptr<SimulatedMachine> SimulatedMachine::make(std::uint64_t seed) {
  return std::shared_ptr<SimulatedMachine>(new SimulatedMachine(seed));
}

std::unique_ptr<Disk> SimulatedMachine::disk() {
  return std::make_unique<SimulatedFolder>(shared_from_this());
}

SimulatedMachine::Begun SimulatedMachine::count(Call call, const std::string& file) {
  if (changes_ > cut_off_at_) power_is_off(file);
  const std::uint64_t number = calls_[static_cast<std::size_t>(call)]++;
  const bool is_change = call != Call::read && call != Call::open;
  if (is_change) {
    if (before_change) before_change(*this);
    ++changes_;
  }
  const Failure& failure = failures_[static_cast<std::size_t>(call)];
  const bool fails = failure.from <= number && number <= failure.to;
  return {is_change && changes_ > cut_off_at_, fails ? failure.error : 0};
}

bool SimulatedMachine::begin(Call call, const std::string& file) {
  const Begun begun = count(call, file);
  if (begun.error != 0) fail_with(file, begun.error);
  return begun.power_goes;
}

void SimulatedMachine::power_is_off(const std::string& file) { fail_with(file, EIO); }

void SimulatedMachine::set_room(std::uint64_t bytes) {
  const std::scoped_lock lock(mutex_);
  room_ = bytes;
}

std::uint64_t SimulatedMachine::used() const {
  std::uint64_t bytes = 0;
  for (const auto& [name, inode] : names_) bytes += inode->now.size();
  return bytes;
}

bool SimulatedMachine::has_room(const Inode& inode, std::uint64_t end) const {
  if (room_ == kNever || end <= inode.now.size()) return true;
  return used() + end - inode.now.size() <= room_;
}

// Not `whole`: the part that a write has done that fails.
void SimulatedMachine::write(Inode& inode, std::uint64_t offset, std::span<const std::byte> from,
                             bool whole) {
  if (!whole) from = from.first(from.empty() ? 0 : random_() % from.size());
  if (from.empty()) return;
  const std::uint64_t end = offset + from.size();
  std::uint64_t size = std::max<std::uint64_t>(inode.now.size(), end);
  if (size > inode.now.size() && random_() % 4 != 0) {
    // A step ahead: within a sector, a page, or some pages.
    const std::uint64_t step = std::array{kSector, kPage, 5 * kPage}[random_() % 3];
    const std::uint64_t ahead = (size + step - 1) / step * step;
    if (has_room(inode, ahead)) size = ahead;
  }
  inode.change({.truncation = false,
                .offset = offset,
                .bytes = Bytes(from.begin(), from.end()),
                .size = size});
}

std::shared_ptr<SimulatedMachine> SimulatedMachine::after_power_loss(std::uint64_t seed) const {
  const std::scoped_lock lock(mutex_);
  Fates fates(seed);
  auto names = durable_names_;
  for (const NameChange& change : name_changes_) {
    if (fates.keeps_name()) change.apply(names);
  }
  auto machine = make(seed);
  for (const auto& [name, inode] : names) {
    machine->set_file(name, inode->after_power_loss(fates));
  }
  return machine;
}

std::shared_ptr<SimulatedMachine> SimulatedMachine::after_process_end() const {
  const std::scoped_lock lock(mutex_);
  auto machine = make(changes_);
  std::map<const Inode*, std::shared_ptr<Inode>> copies;
  const auto copy = [&](const std::shared_ptr<Inode>& inode) {
    if (inode == nullptr) return inode;
    auto& made = copies[inode.get()];
    if (made == nullptr) {
      made = std::make_shared<Inode>(*inode);
      made->mirrors.clear();
    }
    return made;
  };
  for (const auto& [name, inode] : names_) machine->names_[name] = copy(inode);
  for (const auto& [name, inode] : durable_names_) machine->durable_names_[name] = copy(inode);
  for (const NameChange& change : name_changes_) {
    machine->name_changes_.push_back({change.name, copy(change.inode), change.old_name});
  }
  machine->folder_sync_failed_ = folder_sync_failed_;
  return machine;
}

std::uint64_t SimulatedMachine::changes() const {
  const std::scoped_lock lock(mutex_);
  return changes_;
}

std::uint64_t SimulatedMachine::calls(Call call) const {
  const std::scoped_lock lock(mutex_);
  return calls_[static_cast<std::size_t>(call)];
}

void SimulatedMachine::cut_off_at(std::uint64_t change) {
  const std::scoped_lock lock(mutex_);
  cut_off_at_ = change;
}

void SimulatedMachine::fail(Call call, std::uint64_t number, int error, bool for_ever) {
  const std::scoped_lock lock(mutex_);
  const std::uint64_t from = calls_[static_cast<std::size_t>(call)] + number;
  failures_[static_cast<std::size_t>(call)] = {from, for_ever ? kNever : from, error};
}

void SimulatedMachine::heal() {
  const std::scoped_lock lock(mutex_);
  failures_ = {};
}

std::map<std::string, SimulatedMachine::Bytes> SimulatedMachine::files() const {
  const std::scoped_lock lock(mutex_);
  std::map<std::string, Bytes> all;
  for (const auto& [name, inode] : names_) all[name] = inode->now;
  return all;
}

void SimulatedMachine::set_file(const std::string& name, Bytes content) {
  const std::scoped_lock lock(mutex_);
  auto inode = std::make_shared<Inode>();
  inode->durable = content;
  inode->now = std::move(content);
  names_[name] = inode;
  durable_names_[name] = inode;
}

void SimulatedMachine::remove_file(const std::string& name) {
  const std::scoped_lock lock(mutex_);
  names_.erase(name);
  durable_names_.erase(name);
}

}  // namespace nestline::test
