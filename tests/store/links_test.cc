// Files of the log with a second name (a hard link), and a folder whose file `lock` was removed:
// two writers never have one file, and none writes to a file that may be another store's too.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "lib/store/disk.h"
#include "nestline/store.h"
#include "tests/store/store_checks.h"
#include "tests/support/child_process.h"
#include "tests/support/files.h"
#include "tests/support/temp_folder.h"

namespace nestline::test { namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kLogBytes = 65536;
constexpr const char* kHasLink = ".log: the file has another name (a hard link)";
constexpr const char* kIsOpen = ".log: a process has the file open for writing";

class Links : public testing::Test {
 protected:
  static StoreOptions options() { return options_of(kLogBytes, Sync::never); }
  static Store open(const fs::path& folder) { return Store::open(folder, options()); }
  static std::string refusal_to_open(const fs::path& folder) {
    return refusal_of([&] { (void)open(folder); });
  }

  static void put_some(Store& store, Content& content, const std::string& prefix, int count) {
    for (int i = 0; i < count; ++i) {
      const std::string key = prefix + std::to_string(i % (count / 2 + 1));
      store.put(key, content[key] = prefix + std::string(static_cast<std::size_t>(i) * 70, 'v'));
    }
  }

  static void expect_content(const Store& store, const Content& content) {
    EXPECT_EQ(difference(content_of(store), content), "no difference");
  }

  // As cp -al does, but for the file `lock`.
  void link_all() const {
    fs::create_directories(b_);
    for (const fs::path& log : logs_of(a_)) fs::create_hard_link(log, b_ / log.filename());
    const fs::path index = a_ / "index.nest";
    if (fs::exists(index)) fs::create_hard_link(index, b_ / "index.nest");
  }

  // What the sentence of a refusal says how to do.
  static void replace_by_copy(const fs::path& file) {
    fs::copy_file(file, file.parent_path() / "copy");
    fs::rename(file.parent_path() / "copy", file);
  }

  const TempFolder top_;
  const fs::path a_ = top_ / "a";
  const fs::path b_ = top_ / "b";
};

TEST_F(Links, AFileWithASecondNameIsReadAndNotWritten) {
  Content content;
  {
    Store store = open(a_);
    put_some(store, content, "k", 60);
  }
  link_all();
  const std::vector<fs::path> logs = logs_of(a_);
  ASSERT_GE(logs.size(), 2U);
  std::map<fs::path, std::string> before;
  for (const fs::path& log : logs) before[log] = read_file(log);
  for (const fs::path& folder : {a_, b_}) {
    const fs::path newest = folder / logs.back().filename();
    const std::string refusal = refusal_to_open(folder);
    EXPECT_NE(refusal.find(kHasLink), std::string::npos) << refusal;
    EXPECT_TRUE(refusal.starts_with(newest.string() + ": ")) << refusal;
    EXPECT_EQ(refusal_of([&] { (void)repair_store(folder); }), refusal);
    expect_content(Store::open(folder, {.read_only = true}), content);
    EXPECT_TRUE(verify_store(folder).ok());
  }
  for (const fs::path& log : logs) EXPECT_TRUE(read_file(log) == before[log]) << log;

  // Then each goes on by itself, and older files may have both names.
  replace_by_copy(b_ / logs.back().filename());
  Content other = content;
  {
    Store store = open(a_);
    Store copy = open(b_);
    put_some(copy, other, "b", 60);
    put_some(store, content, "a", 60);
    for (int i = 0; i < 20; ++i) {
      EXPECT_TRUE(store.erase("k" + std::to_string(i)));
      content.erase("k" + std::to_string(i));
    }
    store.compact();
  }
  expect_content(open(a_), content);
  expect_content(open(b_), other);
  EXPECT_TRUE(verify_store(a_).ok());
  EXPECT_TRUE(verify_store(b_).ok());
}

// A link that is made while a store writes, and the name that it had before is gone: as one file.
TEST_F(Links, AFileThatIsWrittenByAnotherNameIsRefused) {
  Content content;
  std::optional<Store> store(open(a_));
  put_some(*store, content, "k", 10);
  link_all();
  const std::vector<fs::path> logs = logs_of(a_);
  ASSERT_EQ(logs.size(), 1U);
  EXPECT_NE(refusal_to_open(b_).find(kHasLink), std::string::npos) << refusal_to_open(b_);
  fs::remove(logs.front());
  const std::string refusal = refusal_to_open(b_);
  EXPECT_NE(refusal.find(kIsOpen), std::string::npos) << refusal;
  EXPECT_TRUE(refusal.starts_with((b_ / logs.front().filename()).string() + ": ")) << refusal;
  EXPECT_EQ(refusal_of([&] { (void)repair_store(b_); }), refusal);
  put_some(*store, content, "more", 10);
  expect_content(Store::open(b_, {.read_only = true}), content);
  store.reset();
  expect_content(open(b_), content);
}

TEST_F(Links, WithoutTheFileLockASecondWriterIsRefused) {
  Content content;
  std::optional<Store> store(open(a_));
  put_some(*store, content, "k", 60);  // in several files
  fs::remove(a_ / "lock");
  const std::string refusal = refusal_to_open(a_);
  EXPECT_NE(refusal.find(kIsOpen), std::string::npos) << refusal;
  EXPECT_EQ(refusal_of([&] { (void)repair_store(a_); }), refusal);
  store->sync();
  const int status = in_child([&] { return refusal_to_open(a_) == refusal ? 0 : 1; });
  EXPECT_EQ(status, 0);
  put_some(*store, content, "more", 60);
  expect_content(*store, content);
  store.reset();
  expect_content(open(a_), content);
}

// Files that get a second name while they grow: the store goes on in them, and later in new files.
TEST_F(Links, ALinkThatIsMadeWhileTheFileGrowsShowsWhatIsWritten) {
  Content content;
  std::optional<Store> store(open(a_));
  put_some(*store, content, "k", 10);
  link_all();
  put_some(*store, content, "more", 10);
  expect_content(Store::open(b_, {.read_only = true}), content);
  const Content linked = content;
  Store::Batch batch;
  for (int i = 0; i < 4; ++i) {
    const std::string key = "large" + std::to_string(i);
    batch.put(key, content[key] = std::string(kLogBytes / 2, 'l'));
  }
  store->write(batch);
  ASSERT_GE(logs_of(a_).size(), 2U);
  store.reset();
  EXPECT_NE(refusal_to_open(b_).find(kHasLink), std::string::npos);
  expect_content(open(a_), content);  // the newest file has one name
  expect_content(Store::open(b_, {.read_only = true}), linked);
  replace_by_copy(logs_of(b_).back());
  expect_content(open(b_), linked);
}

// The lock of a file that is written is that of the disk, whoever opens it there.
TEST_F(Links, TheLockEndsWithTheLastFileOfADiskOrWhenThatIsReleased) {
  fs::create_directory(a_);
  const std::unique_ptr<Disk> disk = open_system_disk(a_, false);
  const std::unique_ptr<Disk> other = open_system_disk(a_, false);
  const auto is_free = [&] {
    const std::string refusal = refusal_of([&] { (void)other->open("1.log", Disk::Mode::write); });
    if (refusal == "(nothing was thrown)") return true;
    EXPECT_NE(refusal.find(kIsOpen), std::string::npos) << refusal;
    return false;
  };
  const std::vector<std::byte> bytes(100, std::byte{7});
  auto file = disk->open("1.log", Disk::Mode::create);
  EXPECT_FALSE(is_free());
  auto again = disk->open("1.log", Disk::Mode::write);
  again->write(0, bytes);
  again->sync();
  again.reset();
  EXPECT_FALSE(is_free());
  again = disk->open("1.log", Disk::Mode::write);
  file.reset();
  EXPECT_FALSE(is_free());
  (void)disk->open("1.log", Disk::Mode::read)->size();  // closes a descriptor
  EXPECT_FALSE(is_free());
  again.reset();
  EXPECT_TRUE(is_free());

  file = disk->open("1.log", Disk::Mode::write);
  ASSERT_NE(file->map(4096), nullptr);
  EXPECT_FALSE(is_free());
  file->release(bytes.size());
  EXPECT_TRUE(is_free());  // the map is still there
  again = disk->open("1.log", Disk::Mode::write);
  EXPECT_FALSE(is_free());
  again.reset();

  // A process that was forked meanwhile has what was open, but not the lock.
  again = disk->open("1.log", Disk::Mode::write);
  SharedMemory<std::atomic<bool>> may_end;
  const pid_t child = start([&] {
    while (!may_end->load()) std::this_thread::yield();
    return 0;
  });
  again.reset();
  file.reset();
  EXPECT_TRUE(is_free());
  may_end->store(true);
  EXPECT_EQ(wait_for(child), 0);
}

}  // namespace
}  // namespace nestline::test
