// Reading ahead brings what it is asked for into memory, from several threads, and never fails. And
// what only the system's files do: prefaulting, room to write in, descriptors.
#include "lib/store/cold_reads.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "lib/store/disk.h"
#include "tests/store/limit.h"
#include "tests/support/temp_folder.h"

namespace nestline { namespace {

using Range = ColdReads::Range;

constexpr int kTries = 50;
constexpr std::size_t kFileBytes = std::size_t{8} << 20;

class ColdReadsTest : public testing::Test {
 protected:
  // In the build folder, which is on a disk more often than the folder for temporary files.
  ColdReadsTest() {
    std::string name = std::filesystem::current_path() / "cold_reads_test.XXXXXX";
    file_ = ::mkostemp(name.data(), O_CLOEXEC);
    EXPECT_GE(file_, 0) << name;
    ::unlink(name.c_str());
    const std::vector<char> bytes(kFileBytes, 'x');
    EXPECT_EQ(::pwrite(file_, bytes.data(), bytes.size(), 0), static_cast<::ssize_t>(kFileBytes));
    EXPECT_EQ(::fdatasync(file_), 0);
    // So that a read brings in nothing more than what was asked for.
    EXPECT_EQ(::posix_fadvise(file_, 0, 0, POSIX_FADV_RANDOM), 0);
  }
  ~ColdReadsTest() override { ::close(file_); }

  // The pages of the file that are in memory, or are to be only for the kernel's own reasons.
  [[nodiscard]] std::vector<bool> pages() const {
    void* map = ::mmap(nullptr, kFileBytes, PROT_READ, MAP_SHARED, file_, 0);
    std::vector<unsigned char> there(kFileBytes / page());
    EXPECT_EQ(::mincore(map, kFileBytes, there.data()), 0);
    ::munmap(map, kFileBytes);
    std::vector<bool> bits;
    for (const unsigned char each : there) bits.push_back((each & 1U) != 0);
    return bits;
  }
  static std::size_t page() { return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }

  // Whether the system answers reads that must not wait: emulators of other processors may not.
  [[nodiscard]] bool reads_without_waiting() const {
    char byte = 0;
    const iovec piece{&byte, 1};
    return ::preadv2(file_, &piece, 1, 0, RWF_NOWAIT) == 1 || errno == EAGAIN;
  }

  // False where the file system keeps files in memory only.
  [[nodiscard]] bool drop() const {
    EXPECT_EQ(::posix_fadvise(file_, 0, 0, POSIX_FADV_DONTNEED), 0);
    for (const bool there : pages()) {
      if (there) return false;
    }
    return true;
  }

  [[nodiscard]] bool in_memory(const std::vector<Range>& ranges) const {
    const std::vector<bool> there = pages();
    for (const Range& range : ranges) {
      for (std::size_t at = range.offset / page(); at <= (range.offset + range.bytes - 1) / page();
           ++at) {
        if (!there[at]) return false;
      }
    }
    return true;
  }

  // Expects that read() brings the ranges into memory. The system may take pages back at any time,
  // and some systems always do, so there are several tries.
  template <typename Read>
  void expect_brought(const std::vector<Range>& ranges, const Read& read) const {
    for (int tries = 0; tries < kTries; ++tries) {
      if (!drop()) continue;
      read();
      if (in_memory(ranges)) return;
    }
    ADD_FAILURE() << ranges.size() << " ranges are not in memory";
  }

  [[nodiscard]] std::vector<Range> random_ranges(std::size_t count, std::uint32_t most,
                                                 std::uint64_t seed) const {
    std::mt19937_64 random(seed);
    std::vector<Range> ranges;
    for (std::size_t i = 0; i < count; ++i) {
      const auto bytes = static_cast<std::uint32_t>(1 + random() % most);
      ranges.push_back({file_, random() % (kFileBytes - bytes), bytes});
    }
    return ranges;
  }

  int file_ = -1;
};

TEST_F(ColdReadsTest, BringsRangesIntoMemory) {
  const ColdReads reads;
  if (!drop()) GTEST_SKIP() << "this file system has no cold files";
  for (const std::size_t count : {1U, 2U, 255U, 256U, 257U, 1024U}) {
    const std::vector<Range> ranges = random_ranges(count, 148, count);
    expect_brought(ranges, [&] { reads.read_ahead(ranges); });
  }
  for (const std::uint32_t most : {4096U, 16384U, 16385U, 1'000'000U}) {
    const std::vector<Range> ranges = random_ranges(3, most, most);
    expect_brought(ranges, [&] { reads.read_ahead(ranges); });
  }
}

TEST_F(ColdReadsTest, TellsColdFromHot) {
  const ColdReads reads;
  if (!reads_without_waiting()) GTEST_SKIP() << "this system has no reads that do not wait";
  if (!drop()) GTEST_SKIP() << "this file system has no cold files";
  const std::vector<Range> ranges = random_ranges(64, 100, 1);
  const auto range_of = [&](std::size_t i) { return ranges[i]; };
  // A disk may answer before a read that must not wait has looked, and the system may take pages
  // back before they are asked for: both are rare.
  bool told = false;
  for (int tries = 0; tries < kTries && !told; ++tries) {
    if (!drop()) continue;
    const bool cold = reads.looks_cold(ranges.size(), range_of) && ColdReads::is_cold(ranges[0]);
    reads.read_ahead(ranges);
    const bool still_cold = reads.looks_cold(ranges.size(), range_of) ||
                            reads.looks_cold(ranges.size(), range_of) ||
                            ColdReads::is_cold(ranges[0]);
    told = cold && !still_cold;
  }
  EXPECT_TRUE(told);
  EXPECT_FALSE(reads.looks_cold(0, range_of));
}

TEST_F(ColdReadsTest, TakesWhatCannotBeRead) {
  const ColdReads reads;
  const int closed = ::dup(file_);
  ::close(closed);
  const int folder = ::open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  std::vector<Range> ranges = {{-1, 0, 100},
                               {closed, 0, 100},
                               {folder, 0, 100},
                               {file_, 0, 0},
                               {file_, kFileBytes - 1, 4096},
                               {file_, kFileBytes + 100, 4096},
                               {file_, ~std::uint64_t{0}, 100},
                               {file_, 0, 0xffffffff}};
  reads.read_ahead(ranges);
  for (int i = 0; i < 8; ++i) ranges.insert(ranges.end(), ranges.begin(), ranges.end());
  for (Range& range : ranges) range.bytes = range.bytes == 0xffffffff ? 1 : range.bytes;
  reads.read_ahead(ranges);
  reads.read_ahead({});
  for (const Range& range : ranges) EXPECT_FALSE(ColdReads::is_cold(range) && range.descriptor < 0);
  // It still works.
  if (!drop()) GTEST_SKIP() << "this file system has no cold files";
  const std::vector<Range> good = random_ranges(300, 100, 2);
  expect_brought(good, [&] { reads.read_ahead(good); });
  ::close(folder);
}

TEST_F(ColdReadsTest, ReadsFromSeveralThreads) {
  const ColdReads reads;
  if (!drop()) GTEST_SKIP() << "this file system has no cold files";
  std::vector<std::vector<Range>> ranges;
  for (std::uint64_t i = 0; i < 40; ++i) ranges.push_back(random_ranges(300, 100, i));
  std::vector<Range> all;
  for (const std::vector<Range>& some : ranges) all.insert(all.end(), some.begin(), some.end());
  expect_brought(all, [&] {
    std::vector<std::thread> threads;
    for (const std::vector<Range>& some : ranges) {
      threads.emplace_back([&] {
        for (int i = 0; i < 3; ++i) reads.read_ahead(some);
      });
    }
    for (std::thread& thread : threads) thread.join();
  });
}

TEST(SystemFileTest, StaysAsItIsWhenItIsPrefaulted) {
  constexpr std::uint64_t kMapped = std::uint64_t{64} << 20;
  const test::TempFolder folder;
  const std::unique_ptr<Disk> disk = open_system_disk(folder.path(), false);
  const std::unique_ptr<DiskFile> file = disk->open("log", Disk::Mode::create);
  const std::byte* const map = file->map(kMapped);
  const std::vector<std::byte> bytes(1000, std::byte{7});
  file->write(0, bytes);
  for (const std::uint64_t size : {file->size(), std::uint64_t{500}}) {
    file->truncate(size);
    file->prefault(0, 2 * kMapped);  // more than there is
    EXPECT_EQ(file->size(), size);
    EXPECT_TRUE(std::equal(map, map + 500, bytes.begin()));
  }
}

// Where the file system lets files be lengthened ahead, records are encoded where they will lie.
TEST(SystemFileTest, HasRoomThatIsItsContent) {
  const test::TempFolder folder;
  const std::unique_ptr<Disk> disk = open_system_disk(folder.path(), false);
  const std::unique_ptr<DiskFile> file = disk->open("log", Disk::Mode::create);
  const std::byte* const map = file->map(kFileBytes);
  EXPECT_EQ(file->room_at(0, kFileBytes + 1), nullptr);
  std::byte* const room = file->room_at(8, 16);
  if (room == nullptr) GTEST_SKIP() << "the file system has no fallocate()";
  std::fill_n(room, 16, std::byte{7});
  std::vector<std::byte> read(32);
  EXPECT_EQ(file->read(0, read), read.size());
  EXPECT_EQ(std::count(read.begin() + 8, read.begin() + 24, std::byte{7}), 16);
  EXPECT_TRUE(std::equal(read.begin(), read.end(), map));
}

// No file can be opened, and no descriptor may be kept or lent for reading ahead. The undefined
// sanitizer opens one when it looks at an object's type, so this test does without it.
TEST(ReleasedFileTest, IsOpenedByItsNewNameAndNotReadWithoutADescriptor) {
  const test::TempFolder folder;
  const std::unique_ptr<Disk> disk = open_system_disk(folder.path(), false);
  const std::unique_ptr<DiskFile> file = disk->open("old", Disk::Mode::create);
  const std::vector<std::byte> bytes(1000, std::byte{7});
  file->write(0, bytes);
  std::vector<std::byte> read(2000);
  {
    const test::Limit none(RLIMIT_NOFILE, 3);
    ASSERT_NE(file->map(4096), nullptr);
    file->release(bytes.size());
  }
  disk->rename("old", "new");
  EXPECT_EQ(file->descriptor(), nullptr);
  file->set_name("new");
  EXPECT_NE(file->descriptor(), nullptr);
  {
    const test::Limit none(RLIMIT_NOFILE, 3);
    EXPECT_THROW((void)file->read(0, read), std::system_error);  // its end may have been cut
  }
  EXPECT_EQ(file->read(0, read), bytes.size());
  disk->remove("new");
  EXPECT_EQ(file->read(0, read), bytes.size());
  read.resize(bytes.size());
  EXPECT_EQ(read, bytes);
}

}  // namespace
}  // namespace nestline
