#include "bench/store/machine.h"

#include <commit.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <ctime>
#include <fstream>
#include <ios>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <vector>

namespace {

std::atomic<std::uint64_t> sync_calls{0};

}  // namespace

// In place of the C library's: the databases' calls come here, since the names that a program
// exports go before those of its libraries.
#define NESTLINE_INSTEAD extern "C" [[gnu::visibility("default")]]

NESTLINE_INSTEAD int fdatasync(int file) {
  sync_calls.fetch_add(1, std::memory_order_relaxed);
  return static_cast<int>(::syscall(SYS_fdatasync, file));
}

NESTLINE_INSTEAD int fsync(int file) {
  sync_calls.fetch_add(1, std::memory_order_relaxed);
  return static_cast<int>(::syscall(SYS_fsync, file));
}

NESTLINE_INSTEAD int msync(void* from, std::size_t bytes, int flags) {
  sync_calls.fetch_add(1, std::memory_order_relaxed);
  return static_cast<int>(::syscall(SYS_msync, from, bytes, flags));
}

namespace nestline::bench {
namespace {

double seconds(::clockid_t clock) {
  ::timespec time{};
  ::clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

std::string line_of(const char* file, const std::string& start) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind(start, 0) == 0) return line.substr(line.find_first_not_of("\t :", start.size()));
  }
  return "unknown";
}

// Calls with(descriptor, bytes) for each file in the folder and below.
template <class F>
void each_file(const std::filesystem::path& folder, F&& with) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file() || entry.file_size() == 0) continue;
    const int file = ::open(entry.path().c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) throw std::runtime_error("cannot open " + entry.path().string());
    with(file, static_cast<std::size_t>(entry.file_size()));
    ::close(file);
  }
}

}  // namespace

Seconds Watch::now() const {
  return {seconds(CLOCK_MONOTONIC),
          seconds(of_ == Of::thread ? CLOCK_THREAD_CPUTIME_ID : CLOCK_PROCESS_CPUTIME_ID)};
}

std::string describe_machine(const std::filesystem::path& folder) {
  ::utsname kernel{};
  ::uname(&kernel);
  struct ::statfs system {};
  ::statfs(folder.c_str(), &system);
  std::ostringstream text;
  text << "processor: " << std::thread::hardware_concurrency() << " of "
       << line_of("/proc/cpuinfo", "model name") << ", family "
       << line_of("/proc/cpuinfo", "cpu family") << ", cache "
       << line_of("/proc/cpuinfo", "cache size")
       << "\nmemory: " << line_of("/proc/meminfo", "MemTotal") << "\nkernel: " << kernel.sysname
       << ' ' << kernel.release << "\nfile system: type 0x" << std::hex << system.f_type << std::dec
       << "\ncompiler: " << NESTLINE_COMPILER << "\ncommit: " << NESTLINE_COMMIT << '\n';
  return text.str();
}

std::uint64_t syncs() noexcept { return sync_calls.load(std::memory_order_relaxed); }

std::uint64_t disk_bytes(const std::filesystem::path& folder) {
  std::uint64_t bytes = 0;
  each_file(folder, [&](int file, std::size_t) {
    struct ::stat status {};
    ::fstat(file, &status);
    bytes += static_cast<std::uint64_t>(status.st_blocks) * 512;
  });
  return bytes;
}

double drop_from_cache(const std::filesystem::path& folder) {
  std::size_t pages = 0;
  std::size_t resident = 0;
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  each_file(folder, [&](int file, std::size_t bytes) {
    ::syscall(SYS_fdatasync, file);  // what is not written yet cannot be forgotten
    ::posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    void* map = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file, 0);
    if (map == MAP_FAILED) return;
    std::vector<unsigned char> there((bytes + page - 1) / page);
    ::mincore(map, bytes, there.data());
    ::munmap(map, bytes);
    pages += there.size();
    for (const unsigned char each : there) resident += each & 1U;
  });
  return pages == 0 ? 0 : static_cast<double>(resident) / static_cast<double>(pages);
}

void read_into_cache(const std::filesystem::path& folder) {
  std::vector<char> buffer(std::size_t{1} << 20);
  each_file(folder, [&](int file, std::size_t bytes) {
    for (std::size_t at = 0; at < bytes; at += buffer.size()) {
      if (::pread(file, buffer.data(), buffer.size(), static_cast<::off_t>(at)) <= 0) break;
    }
  });
}

}  // namespace nestline::bench
