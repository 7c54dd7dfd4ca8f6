// Saving is atomic: it succeeds as a whole or changes nothing, and does not disturb readers. It
// keeps what belongs to the name rather than the content: permissions, links, pipes.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <iterator>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "nestline/io.h"
#include "tests/filters/file/io_fixture.h"
#include "tests/support/errors.h"

namespace nestline { namespace {

class SaveTest : public IoTest {
 protected:
  static unsigned mode(const fs::path& path) {
    struct stat status {};
    EXPECT_EQ(::stat(path.c_str(), &status), 0) << path;
    return status.st_mode & 07777;
  }
  // The error number with which saving fails.
  static int save_error(const Filter& filter, const fs::path& path) {
    try {
      save(filter, path);
    } catch (const std::system_error& error) {
      EXPECT_NE(std::string(error.what()).find(path.string()), std::string::npos) << error.what();
      return error.code().value();
    }
    return 0;
  }
};

TEST_F(SaveTest, FailedSavesLeaveTheOldFile) {
  const Filter filter = filled(8, 1000, 900);
  const Filter other = filled(16, 100'000, 5);
  save(filter, path("filter"));
  const Bytes before = read(path("filter"));
  const std::vector<std::string> names_before = names();

  EXPECT_EQ(save_error(other, path("filter/below")), ENOTDIR);
  EXPECT_EQ(save_error(other, path("missing/filter")), ENOENT);
  EXPECT_EQ(save_error(other, path("")), EISDIR);
  EXPECT_EQ(save_error(other, ""), ENOENT);
  EXPECT_EQ(save_error(other, path("missing/")), ENOENT);
  EXPECT_NE(save_error(other, "/proc/nestline_io_test"), 0);

  // A disk that is full: here, a file that may not grow any more.
  struct rlimit limit {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &limit), 0);
  struct rlimit low = limit;
  low.rlim_cur = 100'000;
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &low), 0);
  EXPECT_EQ(save_error(other, path("filter")), EFBIG);
  EXPECT_EQ(save_error(other, path("new")), EFBIG);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  std::signal(SIGXFSZ, handler);
  if (fs::exists("/dev/full")) {
    EXPECT_EQ(save_error(other, "/dev/full"), ENOSPC);
  }

  EXPECT_EQ(read(path("filter")), before);
  EXPECT_EQ(names(), names_before);
}

TEST_F(SaveTest, PermissionsAreKept) {
  const Filter filter = filled(8, 100, 9);
  const ::mode_t mask = ::umask(027);
  save(filter, path("new"));
  ::umask(mask);
  EXPECT_EQ(mode(path("new")), 0640u);
  for (const unsigned wanted : {0600u, 0666u, 0755u, 0640u}) {
    ASSERT_EQ(::chmod(path("new").c_str(), wanted), 0);
    save(filter, path("new"));
    EXPECT_EQ(mode(path("new")), wanted);
  }
  ASSERT_EQ(::chmod(path("new").c_str(), 0400), 0);
  if (::geteuid() != 0) {
    EXPECT_EQ(save_error(filter, path("new")), EACCES);
    return;
  }
  // Only root can change the owner of a file, and only root can write to a read-only file.
  ASSERT_EQ(::chown(path("new").c_str(), 12, 34), 0);
  save(filter, path("new"));
  struct stat status {};
  ASSERT_EQ(::stat(path("new").c_str(), &status), 0);
  EXPECT_EQ(status.st_uid, 12u);
  EXPECT_EQ(status.st_gid, 34u);
  EXPECT_EQ(mode(path("new")), 0400u);
}

TEST_F(SaveTest, SymbolicLinksStay) {
  const Filter filter = filled(8, 100, 9);
  fs::create_directory(path("folder"));
  fs::create_symlink("folder/target", path("link"));       // dangling as yet
  fs::create_symlink(path("link"), path("link_of_link"));  // absolute
  for (const auto* name : {"link_of_link", "link"}) {
    save(filter, path(name));
    EXPECT_TRUE(fs::is_symlink(path(name)));
    EXPECT_FALSE(fs::is_symlink(path("folder/target")));
    EXPECT_EQ(read(path("folder/target")), test::saved_bytes(filter));
  }
  EXPECT_EQ(names(), (std::vector<std::string>{"folder", "link", "link_of_link"}));
  EXPECT_EQ(std::distance(fs::directory_iterator(path("folder")), {}), 1);

  fs::create_symlink("circle", path("circle"));
  EXPECT_EQ(save_error(filter, path("circle")), ELOOP);
}

TEST_F(SaveTest, LongNamesAndRelativePathsWork) {
  const Filter filter = filled(8, 100, 9);
  const std::string name(255, 'n');
  save(filter, path(name));
  expect_same(filter, Filter::load(path(name)));
  const fs::path before = fs::current_path();
  fs::current_path(path(""));
  save(filter, "plain");
  expect_same(filter, MappedFilter::open("plain"));
  fs::current_path(before);
  EXPECT_EQ(read(path("plain")), test::saved_bytes(filter));
}

TEST_F(SaveTest, PipesGetTheBytes) {
  const Filter filter = filled(8, 50'000, 20'000);
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  Bytes received;
  std::thread reader([&] { received = read(path("pipe")); });
  save(filter, path("pipe"));
  reader.join();
  EXPECT_EQ(received, test::saved_bytes(filter));
  EXPECT_TRUE(fs::is_fifo(path("pipe")));
  save(filter, "/dev/null");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

// Readers of a mapped file keep what they have. A reader that opens it sees one filter or the
// other.
TEST_F(SaveTest, ReadersAreNotDisturbedBySaves) {
  const Filter even = filled(8, 3000, 2500);
  const Filter odd = filled(16, 9000, 7000);
  const fs::path file = path("filter");
  save(even, file);
  const MappedFilter old = MappedFilter::open(file);
  std::atomic<bool> stop = false;
  std::atomic<int> wrong = 0;
  std::thread reader([&] {
    while (!stop) {
      const MappedFilter mapped = MappedFilter::open(file);
      mapped.verify();
      const Filter loaded = Filter::load(file);
      for (const std::uint64_t size : {mapped.size(), loaded.size()}) {
        wrong += size != even.size() && size != odd.size();
      }
      std::vector<std::uint8_t> found(2500);
      wrong += old.may_contain(sequence(0, 2500), found) != 2500;
    }
  });
  std::thread other_writer([&] {
    for (int i = 0; i < 30; ++i) save(even, file);
  });
  for (int i = 0; i < 30; ++i) save(odd, file);
  other_writer.join();
  stop = true;
  reader.join();
  EXPECT_EQ(wrong, 0);
  expect_same(even, old);
  EXPECT_NO_THROW(old.verify());
  EXPECT_EQ(names(), std::vector<std::string>{"filter"});
}

TEST_F(SaveTest, RemovesWhatWasSaved) {
  const Filter filter = filled(8, 1000, 900);
  EXPECT_FALSE(remove_saved(path("filter")));
  EXPECT_FALSE(remove_saved(path("missing/filter")));
  save(filter, path("filter"));
  EXPECT_TRUE(remove_saved(path("filter")));
  EXPECT_EQ(names(), std::vector<std::string>());
  // A link stays, as it does when it is saved to.
  fs::create_symlink("target", path("link"));
  save(filter, path("link"));
  EXPECT_TRUE(remove_saved(path("link")));
  EXPECT_EQ(names(), std::vector<std::string>{"link"});
  fs::create_directory(path("folder"));
  test::expect_error<std::system_error>([&] { remove_saved(path("folder")); },
                                        path("folder").string());
}

}  // namespace
}  // namespace nestline
