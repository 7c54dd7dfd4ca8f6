#include "lib/store/folder.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <system_error>
#include <vector>

#include "lib/store/checkpoint.h"
#include "lib/store/segment_format.h"
#include "nestline/store.h"

namespace nestline {
namespace {

// The file has the number of the process in its first line, if the disk is a real one.
std::string holder_of(Disk& disk) {
  try {
    std::array<std::byte, 20> digits;
    const std::size_t count = disk.open("lock", Disk::Mode::read)->read(0, digits);
    const std::string_view text(reinterpret_cast<const char*>(digits.data()), count);
    if (const std::size_t end = text.find('\n'); end != std::string_view::npos && end != 0) {
      return "process " + std::string(text.substr(0, end));
    }
  } catch (const std::system_error&) {  // then nobody knows
  }
  return "a process";
}

}  // namespace

std::string folder_name(const Disk& disk) { return disk.path_of("lock").parent_path().string(); }

void require_empty(const Disk& disk) {
  for (const std::string& name : disk.names()) {
    const bool ours = name == "lock" || name == kCheckpointNewName || name == kNewEndName ||
                      name.find(".damaged") != std::string::npos;  // by repair
    if (!ours) {
      throw StoreError(disk.path_of(name).string() +
                       ": there is no store in this folder, and it is not empty");
    }
  }
}

void refuse_other_folder(const Disk& disk) {
  const std::vector<std::string> names = disk.names();
  const bool has_checkpoint = std::find(names.begin(), names.end(), kCheckpointName) != names.end();
  if (!has_checkpoint && segment_numbers(names).empty()) require_empty(disk);
}

std::unique_ptr<Disk::Lock> take_lock(Disk& disk, std::string_view advice) {
  std::unique_ptr<Disk::Lock> lock = disk.lock();
  if (lock != nullptr) return lock;
  throw StoreError(folder_name(disk) + ": " + holder_of(disk) +
                   " has the store open for writing; wait for it or end it" + std::string(advice));
}

}  // namespace nestline
