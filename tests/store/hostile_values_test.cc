// Opening, verifying and repairing take time that is linear in the length of the files, and memory
// that does not depend on it: whatever values look like, and whatever lengths a file claims. Time
// is that of the processor. What is tested here took minutes of it when it was not linear.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <ios>
#include <string>

#include "lib/store/log_format.h"
#include "nestline/store.h"
#include "tests/store/store_checks.h"
#include "tests/support/child_process.h"
#include "tests/support/files.h"
#include "tests/support/temp_folder.h"

namespace nestline::test { namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20;
constexpr double kMaxSeconds = 30;  // under sanitizers, on a busy machine

// What looks like a record's header at every multiple of 8, with a value of half of all.
std::string look_alikes(std::uint8_t kind, std::uint64_t bytes) {
  std::string text;
  text.reserve(bytes);
  const auto length = static_cast<std::uint32_t>(bytes / 2);
  while (text.size() < bytes) {
    text.push_back(static_cast<char>(kind));
    text.append(3, '\0');
    for (unsigned i = 0; i < 4; ++i) text.push_back(static_cast<char>(length >> 8 * i));
  }
  return text;
}

// The same with a sequence number that may follow and no hash, in each 32 bytes: records without a
// key can be made to look so by one that does not know the store's id.
std::string look_alikes_without_key(std::uint8_t kind, std::uint64_t bytes) {
  std::string text = look_alikes(kind, bytes);
  for (std::size_t at = 0; at + 32 <= text.size(); at += 32) {
    text.replace(at + 16, 8, std::string("\x10\0\0\0\0\0\0\0", 8));
    text.replace(at + 24, 8, std::string(8, '\0'));
  }
  return text;
}

void expect_quick(const std::string& what, const std::function<void()>& work) {
  const std::clock_t begin = std::clock();
  work();
  const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  EXPECT_LT(seconds, kMaxSeconds) << what;
}

void append(const fs::path& file, const std::string& bytes) {
  std::ofstream(file, std::ios::binary | std::ios::app) << bytes;
}

// A file of a store whose checkpoint is gone, cut off at byte 64, the end of its header.
fs::path make_header_only(const TempFolder& folder) {
  { Store::open(folder.path()).put("key", "value"); }
  fs::remove(folder.path() / "index.nest");
  const fs::path file = folder.path() / "00000001.log";
  fs::resize_file(file, 64);
  return file;
}

// It is damaged, which takes no long time to find out.
void expect_quick_refusal(const TempFolder& folder) {
  expect_quick("open", [&] { EXPECT_THROW((void)Store::open(folder.path()), StoreError); });
  expect_quick("verify", [&] { EXPECT_FALSE(verify_store(folder.path()).ok()); });
}

TEST(HostileValues, ATornRecordIsCutInLinearTime) {
  for (const std::uint8_t kind : std::array<std::uint8_t, 4>{1, 2, 7, 8}) {
    const TempFolder folder;
    { Store::open(folder.path()).put("key", "value"); }
    // The record's own header was lost.
    const std::string torn = std::string(32, '\x55') + look_alikes(kind, 8 * kMebibyte) +
                             look_alikes_without_key(kind, kMebibyte);
    append(folder.path() / "00000001.log", torn);
    expect_quick("verify, kind " + std::to_string(kind), [&] {
      const StoreReport report = verify_store(folder.path());
      EXPECT_TRUE(report.ok());
      EXPECT_GT(report.cut_bytes, 8 * kMebibyte);
    });
    expect_quick("open, kind " + std::to_string(kind), [&] {
      const Store store = Store::open(folder.path());
      EXPECT_GT(store.stats().cut_bytes, 8 * kMebibyte);
      check_store(store, {{"key", "value"}}, {"key", "other"});
    });
  }
}

// The file has its header and nothing else that is right: is it half made, or damaged?
TEST(HostileValues, AFileWithoutRecordsIsJudgedInLinearTime) {
  const TempFolder folder;
  append(make_header_only(folder), look_alikes(1, 8 * kMebibyte));
  expect_quick_refusal(folder);
}

// Made by somebody who knows the store's id: the hashes of the keys are right.
TEST(HostileValues, AFileMadeWithTheIdIsJudgedInLinearTime) {
  const TempFolder folder;
  const fs::path file = make_header_only(folder);
  const std::string header = read_file(file);
  const auto* const id = reinterpret_cast<const std::byte*>(header.data() + 16);
  const std::uint64_t hash = hash_in(Space::keys, "", load_number<std::uint64_t>(id));
  std::string records = look_alikes(1, 8 * kMebibyte);
  for (std::size_t at = 0; at + 32 <= records.size(); at += 32) {
    for (unsigned i = 0; i < 8; ++i) records[at + 24 + i] = static_cast<char>(hash >> 8 * i);
  }
  append(file, records);
  expect_quick_refusal(folder);
}

TEST(HostileValues, RepairFindsTheNextRecordInLinearTime) {
  for (const std::uint8_t kind : std::array<std::uint8_t, 2>{1, 8}) {
    const TempFolder folder;
    {
      Store store = Store::open(folder.path());
      store.put("8 bytes.",
                look_alikes(kind, 8 * kMebibyte) + look_alikes_without_key(kind, kMebibyte));
      store.put("b", std::string(kMebibyte * 3, 'b'));
    }
    // The checksum of the first record behind the list.
    write_over(folder.path() / "00000001.log", 64 + 32, "\x55\x55");
    expect_quick("verify", [&] { EXPECT_FALSE(verify_store(folder.path()).ok()); });
    expect_quick("repair", [&] { EXPECT_FALSE(repair_store(folder.path()).ok()); });
    check_store(Store::open(folder.path()), {{"b", std::string(kMebibyte * 3, 'b')}},
                {"8 bytes.", "b"});
  }
}

// Values that are longer than what opening and repairing hold in memory.
TEST(HostileValues, LongValuesAreCheckedInPieces) {
  const std::string value(40 * kMebibyte + 3, 'v');
  const Content content = {{"long", value}, {"short", "value"}};
  for (const bool damaged : {false, true}) {
    const TempFolder folder;
    {
      Store store = Store::open(folder.path());
      store.put("before", "damaged");
      store.put("long", value);
      store.put("short", "value");
      if (!damaged) store.erase("before");
    }
    const fs::path log = folder.path() / "00000001.log";
    if (damaged) {
      write_over(log, 64 + 32, "\x55\x55");
      EXPECT_FALSE(repair_store(folder.path()).ok());
    }
    fs::remove(folder.path() / "index.nest");
    check_store(Store::open(folder.path()), content, {"before", "long", "short"});
    EXPECT_TRUE(verify_store(folder.path()).ok());
    if (damaged) continue;
    // One byte of it, far behind. The mark of closing proves that it was synced.
    fs::remove(folder.path() / "index.nest");
    write_over(log, 30 * kMebibyte, "w");
    EXPECT_FALSE(verify_store(folder.path()).ok());
  }
}

TEST(HostileValues, ASparseFileTakesNoMemory) {
  constexpr std::uint64_t kFileBytes = 416 * kMebibyte;
  constexpr long kMaxKib = 320 * 1024;  // with the memory that sanitizers keep
  for (const std::uint64_t begin : {std::uint64_t{64}, std::uint64_t{136}}) {
    const TempFolder folder;
    { Store::open(folder.path()).put("key", "value"); }
    fs::remove(folder.path() / "index.nest");
    const fs::path file = folder.path() / "00000001.log";
    const std::string whole = read_file(file);
    ASSERT_GE(whole.size(), begin);
    fs::resize_file(file, begin);
    // The header of a record whose value is the rest of the file, and its sequence number is right.
    std::string header = look_alikes(1, 32);
    header.replace(12, 4, std::string("\0\0\0\x18", 4));
    header.replace(16, 8, whole.substr(begin == 136 ? 80 : begin + 16, 8));
    if (begin == 136) header[16] = static_cast<char>(header[16] + 2);
    append(file, header);
    fs::resize_file(file, kFileBytes);
    const int status = wait_for(start([&] {
      const auto peak = [] {
        rusage usage{};
        (void)::getrusage(RUSAGE_SELF, &usage);
        return usage.ru_maxrss;
      };
      const long before = peak();
      try {
        (void)Store::open(folder.path());
      } catch (const StoreError&) {
      }
      (void)verify_store(folder.path());
      return peak() - before < kMaxKib ? 0 : 1;
    }));
    EXPECT_EQ(status, 0) << begin;
  }
}

}  // namespace
}  // namespace nestline::test
