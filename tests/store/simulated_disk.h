// A Disk in memory that loses its power whenever a test wants.
//
// A SimulatedMachine holds a folder twice: as a process sees it, and as it would be found after the
// power was lost, that is, as of the last sync() of each file and the last sync_folder(). Between
// the two are lists of changes that were not synced. A power loss gives each of these changes its
// fate, drawn from a seed: it is there, it is missing, or it is torn. Of a torn write there is a
// front part, or some sectors of 512 bytes, or all but a page, which is zeros. The file is as long
// as the write made it, or as it was before, or something between. Names and truncations are there
// or not. So everything that lib/store/disk.h allows can happen, and nothing else.
//
// A test takes a power loss as a picture: after_power_loss() makes another machine. before_change
// is called before every call that changes something, where pictures can be taken.
// after_process_end() is the same for kill -9: nothing is lost, and what was not synced still is
// not. cut_off_at() makes all calls fail from one on, as the process itself would see it.
#ifndef NESTLINE_TESTS_STORE_SIMULATED_DISK_H_
#define NESTLINE_TESTS_STORE_SIMULATED_DISK_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "lib/store/disk.h"

namespace nestline::test {

// The first two change nothing.
enum class Call { read, open, create, write, truncate, sync, rename, remove, sync_folder };
inline constexpr std::size_t kCalls = 9;

class SimulatedMachine : public std::enable_shared_from_this<SimulatedMachine> {
 public:
  using Bytes = std::vector<std::byte>;
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};

  // With an empty folder. The seed decides how far writes lengthen files ahead, and how much a
  // write that fails has written.
  static std::shared_ptr<SimulatedMachine> make(std::uint64_t seed);
  // With these files, synced, as if they had always been there.
  static std::shared_ptr<SimulatedMachine> with_files(const std::map<std::string, Bytes>& files) {
    auto machine = make(1);
    for (const auto& [name, content] : files) machine->set_file(name, content);
    return machine;
  }
  ~SimulatedMachine();
  std::unique_ptr<Disk> disk();  // the folder, for a store. It keeps the machine alive.

  // The machine after its power was lost at this moment and came back.
  [[nodiscard]] std::shared_ptr<SimulatedMachine> after_power_loss(std::uint64_t seed) const;
  // The machine after the process was killed at this moment.
  [[nodiscard]] std::shared_ptr<SimulatedMachine> after_process_end() const;

  // Called before each change, with the machine as it is then. It must not change this machine.
  std::function<void(const SimulatedMachine&)> before_change;

  // Called after each sync of a file that failed, before its caller learns of it.
  std::function<void()> after_failed_sync;
  [[nodiscard]] std::uint64_t changes() const;         // changes so far
  [[nodiscard]] std::uint64_t calls(Call call) const;  // calls of one kind so far

  // The change with this number (the first is 0) and every call after it throws. The change itself
  // is begun: it is one of those that are not synced.
  void cut_off_at(std::uint64_t change);
  // The call of this kind with this number (the first after this call is 0) throws `error`; with
  // `for_ever`, so do all calls of the kind after it. A failed sync drops what it should have
  // written, and later ones do not repeat it (D3); one of the folder makes later ones worthless.
  void fail(Call call, std::uint64_t number, int error, bool for_ever);
  // The files have so much room together; a write that needs more writes nothing, throws ENOSPC.
  void set_room(std::uint64_t bytes);
  void heal();                                               // no call fails any more
  [[nodiscard]] std::map<std::string, Bytes> files() const;  // as a process sees it
  // Puts a file into the folder as with_files() does.
  void set_file(const std::string& name, Bytes content);
  void remove_file(const std::string& name);

 private:
  friend class SimulatedFile;
  friend class SimulatedFolder;
  struct Inode;
  struct NameChange;
  struct Failure {
    std::uint64_t from = kNever;
    std::uint64_t to = kNever;
    int error = 0;
  };

  explicit SimulatedMachine(std::uint64_t seed);
  // What becomes of a call: it fails with this error, or the power goes when it has begun.
  struct Begun {
    bool power_goes = false;
    int error = 0;
  };
  Begun count(Call call, const std::string& file);  // counts a call. Throws when the power is off.
  // The same, and throws when the call fails. Returns whether the power goes.
  bool begin(Call call, const std::string& file);
  [[noreturn]] static void power_is_off(const std::string& file);
  [[nodiscard]] std::uint64_t used() const;
  [[nodiscard]] bool has_room(const Inode& inode, std::uint64_t end) const;
  void write(Inode& inode, std::uint64_t offset, std::span<const std::byte> from, bool whole);

  // Recursive: before_change takes pictures.
  mutable std::recursive_mutex mutex_;
  std::mt19937_64 random_;
  std::uint64_t changes_ = 0;
  std::uint64_t cut_off_at_ = kNever;
  std::array<std::uint64_t, kCalls> calls_{};
  std::array<Failure, kCalls> failures_{};
  std::uint64_t room_ = kNever;
  bool locked_ = false;
  bool folder_sync_failed_ = false;
  std::map<std::string, std::shared_ptr<Inode>> names_;          // as a process sees them
  std::map<std::string, std::shared_ptr<Inode>> durable_names_;  // as of the last sync_folder()
  std::vector<NameChange> name_changes_;                         // since then
};

}  // namespace nestline::test

#endif  // NESTLINE_TESTS_STORE_SIMULATED_DISK_H_
