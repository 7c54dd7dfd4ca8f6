// Filters in files: saved filters are loaded and mapped again, and damaged files are refused.
// save_test.cc tests how files are replaced, file_format_test.cc what a file may contain.
#include "nestline/io.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "lib/engine/place/layout.h"
#include "tests/filters/file/format_tools.h"
#include "tests/filters/file/io_fixture.h"
#include "tests/support/errors.h"

#ifndef _WIN32
#include <sys/stat.h>
#endif

namespace nestline { namespace {

TEST_F(IoTest, WhatIsSavedIsLoadedAndMapped) {
  for (const int bits : kFilterWidths) {
    for (const std::uint64_t capacity : {1u, 50u, 3000u, 200'000u}) {
      SCOPED_TRACE(std::to_string(bits) + " bits, capacity " + std::to_string(capacity));
      Filter filter({.capacity = capacity, .bits = bits, .seed = 0x8000000000000001});
      const fs::path file = path("filter");
      const auto check = [&] {
        save(filter, file);
        const Bytes bytes = test::saved_bytes(filter);
        EXPECT_EQ(read(file), bytes);
        expect_same(filter, Filter::load(file));
        expect_same(filter, Filter::load(bytes));
        const MappedFilter mapped = MappedFilter::open(file);
        expect_same(filter, mapped);
        EXPECT_NO_THROW(mapped.verify());
        EXPECT_EQ(mapped.memory_bytes(), bytes.size());
      };
      check();
      (void)filter.insert("a string");
      (void)filter.insert(Hash{7});
      check();
      // Continues until the first key that does not fit.
      for (std::uint64_t key = 0; filter.insert(key); ++key) continue;
      check();
      filter.clear();
      check();
      EXPECT_EQ(names(), std::vector<std::string>{"filter"});
    }
  }
}

TEST_F(IoTest, LoadedFiltersContinueAsTheOriginalWould) {
  Filter filter = filled(12, 2000, 1500);
  Filter copy = Filter::load(test::saved_bytes(filter));
  for (Filter* one : {&filter, &copy}) {
    EXPECT_EQ(one->insert(sequence(1500, 450)), 450u);
    EXPECT_EQ(one->erase(sequence(0, 700)), 700u);
    EXPECT_TRUE(one->insert_unique("text"));
    EXPECT_TRUE(one->update(std::uint64_t{900}, std::uint64_t{5}));
  }
  EXPECT_EQ(test::saved_bytes(filter), test::saved_bytes(copy));
}

// Through every doubling, as a file, as bytes and mapped. The loaded filter grows as the original
// does.
TEST_F(IoTest, GrownFiltersAreKept) {
  for (const int bits : kFilterWidths) {
    Filter filter({.capacity = 300, .bits = bits, .max_capacity = 2000, .seed = 6});
    const fs::path file = path("grown");
    std::uint64_t next = 0;
    std::size_t last = 0;
    do {
      SCOPED_TRACE(std::to_string(bits) + " bits, " + std::to_string(filter.memory_bytes()) +
                   " bytes");
      EXPECT_GT(filter.memory_bytes(), last);
      last = filter.memory_bytes();
      while (filter.size() < std::min<std::uint64_t>(filter.capacity(), 4000)) {
        EXPECT_TRUE(filter.insert(next++));
      }
      save(filter, file);
      EXPECT_EQ(read(file), test::saved_bytes(filter));
      const MappedFilter mapped = MappedFilter::open(file);
      EXPECT_NO_THROW(mapped.verify());
      expect_same(filter, mapped);
      Filter loaded = Filter::load(file);
      expect_same(filter, loaded);
      EXPECT_EQ(test::saved_bytes(loaded), read(file));
      EXPECT_EQ(format_tools::get64(read(file), format_tools::kMaxCapacityAt), 2000u);
      Filter copy = Filter::load(read(file));
      const bool grows = copy.grow();
      EXPECT_EQ(loaded.grow(), grows);
      EXPECT_EQ(test::saved_bytes(loaded), test::saved_bytes(copy));
    } while (filter.grow());
    EXPECT_EQ(filter.memory_bytes() >> (bits - 4) << (bits - 4), filter.memory_bytes());
    EXPECT_FALSE(Filter::load(file).grow());
  }
}

TEST_F(IoTest, CapacityAtALowerLoadIsKept) {
  for (const double load : {0.5, 0.7, 0.95}) {
    Filter filter({.capacity = 1000, .bits = 12, .max_capacity = 9000, .load = load});
    save(filter, path("f"));
    Filter loaded = nestline::Filter::load(path("f"));
    EXPECT_EQ(loaded.capacity(), filter.capacity());
    EXPECT_EQ(MappedFilter::open(path("f")).capacity(), filter.capacity());
    EXPECT_TRUE(loaded.can_merge(filter));
    for (std::uint64_t key = 0; key < 4000; ++key) {
      ASSERT_TRUE(loaded.insert(key));
      ASSERT_TRUE(filter.insert(key));
    }
    EXPECT_EQ(loaded.growth(), filter.growth());
    EXPECT_LE(loaded.load_factor(), load);
  }
}

TEST_F(IoTest, DamagedFilesAreRefused) {
  const Bytes good = test::saved_bytes(filled(8, 1000, 900));
  const fs::path file = path("filter");
  const auto refused = [&](const auto& open, std::uint64_t offset) {
    const auto error = test::error_of<FormatError>(open);
    ASSERT_TRUE(error);
    EXPECT_EQ(error->file, file.string());
    EXPECT_EQ(error->offset, offset) << error->what();
    EXPECT_EQ(error->what(), file.string() + ": at byte " + std::to_string(offset) + ": " +
                                 std::string(error->cause));
  };
  const auto load_it = [&] { Filter::load(file); };
  const auto map_it = [&] { MappedFilter::open(file); };

  for (const std::size_t length : {std::size_t{0}, std::size_t{7}, std::size_t{8}, std::size_t{100},
                                   std::size_t{4095}, std::size_t{4096}, good.size() - 1}) {
    SCOPED_TRACE(length);
    write(file, std::span(good).first(length));
    refused(load_it, length);
    refused(map_it, length);
  }
  Bytes longer = good;
  longer.push_back(std::byte{0});
  write(file, longer);
  refused(load_it, good.size());
  refused(map_it, good.size());

  Bytes bad = good;
  bad[5000] ^= std::byte{4};
  write(file, bad);
  refused(load_it, 4096);
  refused([&] { MappedFilter::open(file).verify(); }, 4096);
  EXPECT_NO_THROW(map_it());  // the header and the length are right
  bad = good;
  bad.back() ^= std::byte{4};
  write(file, bad);
  refused([&] { MappedFilter::open(file).verify(); }, good.size() - 16);
}

// If blocks are not what was written, answers may be wrong, but nothing worse happens.
TEST_F(IoTest, MappedGarbageIsAnswered) {
  for (const std::uint32_t bits : {8u, 12u, 16u}) {
    Bytes blocks(64 * 1000);
    std::uint64_t state = bits;
    for (auto& byte : blocks) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      byte = std::byte(state >> 56);
    }
    const fs::path file = path("garbage");
    write(file, format_tools::make_file({bits, 1000, 0, 9, 30'000, 30'000, 0}, blocks));
    const MappedFilter mapped = MappedFilter::open(file);
    const auto keys = sequence(0, 20'000);
    std::vector<std::uint8_t> found(keys.size());
    const std::size_t hits = mapped.may_contain(keys, found);
    EXPECT_EQ(hits, static_cast<std::size_t>(std::count(found.begin(), found.end(), 1)));
    EXPECT_THROW(mapped.verify(), FormatError);
    EXPECT_THROW(Filter::load(file), FormatError);
  }
}

TEST_F(IoTest, WhatIsNotAFileIsRefused) {
  const auto load_error = [](const fs::path& file) {
    try {
      Filter::load(file);
    } catch (const std::system_error& error) {
      EXPECT_NE(std::string(error.what()).find(file.string()), std::string::npos);
      EXPECT_THROW(MappedFilter::open(file), std::system_error);
      return error.code();
    }
    return std::error_code();
  };
  EXPECT_EQ(load_error(path("missing")), std::errc::no_such_file_or_directory);
  EXPECT_EQ(load_error(path("")), std::errc::is_a_directory);
#ifdef _WIN32
  EXPECT_THROW(Filter::load("NUL"), FormatError);
#else
  write(path("file"), {});
  EXPECT_EQ(load_error(path("file/below")), std::errc::not_a_directory);
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  for (const fs::path& file : {path("pipe"), fs::path("/dev/zero")}) {
    EXPECT_THROW(Filter::load(file), FormatError) << file;
    EXPECT_THROW(MappedFilter::open(file), FormatError) << file;
  }
#endif
}

// A file that is cut off and written again while it is loaded: an error or a whole filter.
TEST_F(IoTest, FilesThatChangeDuringLoadingDoNotCrash) {
  const Bytes good = test::saved_bytes(filled(8, 400'000, 300'000));
  const fs::path file = path("filter");
  write(file, good);
  std::atomic<bool> stop = false;
  std::thread changer([&] {
    for (std::size_t i = 0; !stop; ++i) {
      fs::resize_file(file, i * 7919 % good.size());
      write(file, good);
      fs::resize_file(file, good.size() + 1000);
    }
  });
  int refused = 0;
  for (int i = 0; i < 300; ++i) {
    try {
      EXPECT_EQ(Filter::load(file).size(), 300'000u);
    } catch (const FormatError&) {
      ++refused;
    }
  }
  stop = true;
  changer.join();
  EXPECT_GT(refused, 0);
}

TEST_F(IoTest, MappedFiltersAreCopiedIntoMemory) {
  const Filter filter = filled(12, 100'000, 90'000);
  save(filter, path("filter"));
  const MappedFilter mapped = MappedFilter::open(path("filter"));
#ifndef _WIN32
  save(filled(8, 1000, 900), path("filter"));  // takes the name, not what is mapped
#endif
  Filter copy = mapped.snapshot();
  EXPECT_EQ(test::saved_bytes(copy), test::saved_bytes(filter));
  EXPECT_TRUE(copy.insert("one more"));
  EXPECT_EQ(mapped.size(), 90'000u);
  EXPECT_EQ(mapped.slots(), filter.slots());

  Bytes bad = test::saved_bytes(filter);
  bad[5000] ^= std::byte{1};
  write(path("bad"), bad);
  const MappedFilter flawed = MappedFilter::open(path("bad"));
  EXPECT_THROW((void)flawed.snapshot(), FormatError);
}

TEST_F(IoTest, MappedFiltersCanBeMoved) {
  const Filter filter = filled(12, 1000, 900);
  save(filter, path("filter"));
  MappedFilter first = MappedFilter::open(path("filter"));
  fs::remove(path("filter"));  // the mapping outlives the name
  MappedFilter second = std::move(first);
  expect_same(filter, second);
  first = std::move(second);
  expect_same(filter, first);
  EXPECT_NO_THROW(first.verify());
}

}  // namespace
}  // namespace nestline
