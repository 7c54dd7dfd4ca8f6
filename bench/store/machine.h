// What the rows of store_bench take from the machine: clocks, files, calls that sync.
#ifndef NESTLINE_BENCH_STORE_MACHINE_H_
#define NESTLINE_BENCH_STORE_MACHINE_H_

#include <cstdint>
#include <filesystem>
#include <string>

namespace nestline::bench {

struct Seconds {
  double wall = 0;
  double processor = 0;
  Seconds& operator+=(const Seconds& other) {
    wall += other.wall;
    processor += other.processor;
    return *this;
  }
};

// Measures from its construction: the time that passes, and the processor's time that this thread,
// or the whole process, uses.
class Watch {
 public:
  enum class Of : std::uint8_t { thread, process };
  explicit Watch(Of of) : of_(of), start_(now()) {}
  [[nodiscard]] Seconds read() const {
    const Seconds end = now();
    return {end.wall - start_.wall, end.processor - start_.processor};
  }

 private:
  [[nodiscard]] Seconds now() const;
  Of of_;
  Seconds start_;
};

// A few lines: processor, memory, kernel, the file system of the folder, compiler, commit.
std::string describe_machine(const std::filesystem::path& folder);

// How many calls of fsync, fdatasync and msync this process has made.
std::uint64_t syncs() noexcept;

// Bytes that the files in a folder take on the disk.
std::uint64_t disk_bytes(const std::filesystem::path& folder);

// Asks the kernel to forget what it has cached of the files in a folder, and returns the share that
// it still has. Files that are mapped somewhere stay.
double drop_from_cache(const std::filesystem::path& folder);

// Brings the files in a folder into the cache.
void read_into_cache(const std::filesystem::path& folder);

}  // namespace nestline::bench

#endif  // NESTLINE_BENCH_STORE_MACHINE_H_
