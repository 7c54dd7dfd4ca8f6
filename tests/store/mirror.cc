// See mirror.h.
#include "tests/store/mirror.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <system_error>
#include <tuple>
#include <utility>

#include "tests/store/power_loss.h"

namespace nestline::test {
namespace {

std::uint64_t up_to_page(std::uint64_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

// Rooms of mirrors that are gone, by their size, and how much of each can be read. To unmap and map
// them again takes most of the time of a test of crashes where the system has to interrupt the
// other cores for that.
struct SpareRooms {
  std::mutex mutex;
  std::multimap<std::uint64_t, std::pair<std::byte*, std::uint64_t>> rooms;
};
SpareRooms& spare_rooms() {
  static auto* const spare = new SpareRooms;  // never destroyed, since mirrors may be static
  return *spare;
}
constexpr std::size_t kMostSpareRooms = 256;

[[noreturn]] void fail(const char* call) {
  throw std::system_error(errno, std::generic_category(), call);
}

}  // namespace

Mirror::Mirror(std::uint64_t bytes) : bytes_(std::max(up_to_page(bytes), kPage)) {
  auto& [mutex, rooms] = spare_rooms();
  const std::lock_guard lock(mutex);
  if (const auto room = rooms.find(bytes_); room != rooms.end()) {
    std::tie(address_, readable_) = room->second;
    size_ = readable_;
    rooms.erase(room);
    return;
  }
  void* const address =
      ::mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (address == MAP_FAILED) fail("mmap");
  address_ = static_cast<std::byte*>(address);
}

Mirror::~Mirror() {
  auto& [mutex, rooms] = spare_rooms();
  const std::lock_guard lock(mutex);
  if (rooms.size() >= kMostSpareRooms) {
    ::munmap(address_, bytes_);
    return;
  }
  std::memset(address_, 0xdd, readable_);  // nonsense for whoever reads it after that
  rooms.emplace(bytes_, std::pair(address_, readable_));
}

void Mirror::show(const std::vector<std::byte>& content, std::uint64_t from, std::uint64_t to) {
  set_size(content.size());
  to = std::min({to, std::uint64_t{content.size()}, bytes_});
  if (from < to) std::memcpy(address_ + from, content.data() + from, to - from);
}

void Mirror::set_size(std::uint64_t size) {
  const std::uint64_t readable = std::min(up_to_page(size), bytes_);
  if (readable > readable_) {
    protect(readable_, readable, PROT_READ | PROT_WRITE);
  } else if (readable < readable_) {
    std::memset(address_ + readable, 0, readable_ - readable);
    protect(readable, readable_, PROT_NONE);
  }
  readable_ = readable;
  if (size < size_ && size < readable) std::memset(address_ + size, 0, readable - size);
  size_ = size;
}

void Mirror::protect(std::uint64_t from, std::uint64_t to, int protection) {
  if (::mprotect(address_ + from, to - from, protection) != 0) fail("mprotect");
}

}  // namespace nestline::test
