// The simulated disk keeps what disk.h promises, loses what it may lose, and loses it in every way.
#include "tests/store/simulated_disk.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace nestline::test { namespace {

using Mode = Disk::Mode;

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

std::string text_of(const SimulatedMachine::Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string text_of(const DiskFile& file) {
  SimulatedMachine::Bytes bytes(file.size());
  EXPECT_EQ(file.read(0, bytes), bytes.size());
  return text_of(bytes);
}

// The file's content without the zeros at its end, which may be many.
std::string front_of(const SimulatedMachine& machine, const std::string& name) {
  const auto files = machine.files();
  const auto found = files.find(name);
  if (found == files.end()) return "(missing)";
  std::string text = text_of(found->second);
  text.erase(text.find_last_not_of('\0') + 1);
  return text;
}

// What different power losses leave of a file.
std::set<std::string> fates_of(const SimulatedMachine& machine, const std::string& name) {
  std::set<std::string> all;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    all.insert(front_of(*machine.after_power_loss(seed), name));
  }
  return all;
}

class SimulatedDiskTest : public testing::Test {
 protected:
  [[nodiscard]] std::unique_ptr<DiskFile> make_file() const {
    return disk_->open("a", Mode::create);
  }

  const std::shared_ptr<SimulatedMachine> machine_ = SimulatedMachine::make(1);
  const std::unique_ptr<Disk> disk_ = machine_->disk();
};

TEST_F(SimulatedDiskTest, ReadsWhatWasWrittenAndZerosBehindIt) {
  const auto file = make_file();
  EXPECT_EQ(file->size(), 0u);
  file->write(3, bytes_of("text"));
  ASSERT_GE(file->size(), 7u);
  const std::string text = text_of(*file);
  EXPECT_EQ(text.substr(0, 7), std::string("\0\0\0text", 7));
  EXPECT_EQ(text.find_first_not_of('\0', 7), std::string::npos);
  file->truncate(5);
  EXPECT_EQ(text_of(*file), std::string("\0\0\0te", 5));
  file->truncate(9);
  EXPECT_EQ(text_of(*file), std::string("\0\0\0te\0\0\0\0", 9));
  std::array<std::byte, 20> buffer{};
  EXPECT_EQ(file->read(4, buffer), 5u);
  EXPECT_EQ(file->read(9, buffer), 0u);
  EXPECT_EQ(file->read(90, buffer), 0u);
}

TEST_F(SimulatedDiskTest, AMapShowsLaterWritesAtTheSameAddress) {
  const auto file = make_file();
  file->write(0, bytes_of("before"));
  const std::byte* const map = file->map(1 << 20);
  EXPECT_EQ(std::memcmp(map, "before", 6), 0);
  const std::string large(300'000, 'x');
  const auto other = disk_->open("a", Mode::write);
  other->write(6, bytes_of(large));
  EXPECT_EQ(std::memcmp(map + 6, large.data(), large.size()), 0);
  other->truncate(2);
  other->truncate(10);
  EXPECT_EQ(std::memcmp(map, "be\0\0\0\0\0\0\0\0", 10), 0);
  EXPECT_THROW(file->map(1), std::logic_error);
}

TEST_F(SimulatedDiskTest, NamesBehaveAsInAFolder) {
  EXPECT_THROW(disk_->open("a", Mode::read), std::system_error);
  disk_->open("a", Mode::create)->write(0, bytes_of("one"));
  EXPECT_THROW(disk_->open("a", Mode::create), std::system_error);
  EXPECT_THROW(disk_->open("a", Mode::read)->write(0, bytes_of("x")), std::system_error);
  disk_->open("b", Mode::create)->write(0, bytes_of("two"));
  const auto old = disk_->open("b", Mode::read);
  disk_->rename("a", "b");
  EXPECT_EQ(disk_->names(), std::vector<std::string>{"b"});
  EXPECT_EQ(front_of(*machine_, "b"), "one");
  EXPECT_EQ(text_of(*old).substr(0, 3), "two");
  disk_->remove("b");
  EXPECT_TRUE(disk_->names().empty());
  EXPECT_THROW(disk_->remove("b"), std::system_error);
  EXPECT_THROW(disk_->rename("b", "c"), std::system_error);
}

TEST_F(SimulatedDiskTest, OnlyOneHasTheLock) {
  auto lock = machine_->disk()->lock();
  EXPECT_NE(lock, nullptr);
  EXPECT_EQ(machine_->disk()->lock(), nullptr);
  EXPECT_NE(machine_->after_power_loss(0)->disk()->lock(), nullptr);
  EXPECT_NE(machine_->after_process_end()->disk()->lock(), nullptr);
  lock.reset();
  EXPECT_NE(machine_->disk()->lock(), nullptr);
}

TEST_F(SimulatedDiskTest, WhatWasSyncedIsThere) {
  const auto file = make_file();
  file->write(0, bytes_of("first second"));
  file->truncate(6);
  file->sync();
  disk_->sync_folder();
  EXPECT_EQ(fates_of(*machine_, "a"), std::set<std::string>{"first "});
  file->write(6, bytes_of("third"));
  for (const std::string& fate : fates_of(*machine_, "a")) EXPECT_EQ(fate.substr(0, 6), "first ");
}

TEST_F(SimulatedDiskTest, UnsyncedWritesAreLostInAnyCombination) {
  const auto file = make_file();
  disk_->sync_folder();
  file->write(0, bytes_of("A"));
  file->write(1, bytes_of("B"));
  file->write(2, bytes_of("C"));
  const std::string zero(1, '\0');
  EXPECT_EQ(fates_of(*machine_, "a"),
            (std::set<std::string>{"", "A", zero + "B", "AB", zero + zero + "C", "A" + zero + "C",
                                   zero + "BC", "ABC"}));
}

TEST_F(SimulatedDiskTest, AWriteTearsIntoFrontsSectorsAndPages) {
  const auto file = make_file();
  file->truncate(5 * 4096);
  file->sync();
  disk_->sync_folder();
  file->write(100, bytes_of(std::string(4 * 4096, 'x')));
  bool front = false;
  bool sectors = false;
  bool page = false;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    std::string text = text_of(machine_->after_power_loss(seed)->files().at("a"));
    ASSERT_EQ(text.size(), 5u * 4096);
    text = text.substr(100, std::size_t{4} * 4096);
    const auto lost = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\0'));
    const std::size_t first_lost = text.find('\0');
    const std::size_t last_kept = text.rfind('x');
    if (lost == 0 || lost == text.size()) continue;
    if (last_kept < first_lost) {
      front = front || last_kept % 512 != 511;
    } else if (lost == 4096 && (first_lost + 100) % 4096 == 0) {
      page = true;
    } else {
      sectors = true;
    }
  }
  EXPECT_TRUE(front);
  EXPECT_TRUE(sectors);
  EXPECT_TRUE(page);
}

TEST_F(SimulatedDiskTest, LengthAndTruncationMayBeLost) {
  const auto file = make_file();
  disk_->sync_folder();
  file->write(0, bytes_of("old content"));
  file->sync();
  file->truncate(3);
  EXPECT_EQ(fates_of(*machine_, "a"), (std::set<std::string>{"old", "old content"}));
  file->sync();
  file->write(10'000, bytes_of("far"));
  std::set<std::uint64_t> lengths;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    lengths.insert(machine_->after_power_loss(seed)->files().at("a").size());
  }
  EXPECT_TRUE(lengths.contains(3));
  EXPECT_TRUE(lengths.contains(file->size()));
  EXPECT_GT(lengths.size(), 5u);
}

TEST_F(SimulatedDiskTest, UnsyncedNamesAreLostInAnyCombination) {
  disk_->open("kept", Mode::create)->write(0, bytes_of("x"));
  disk_->open("old", Mode::create);
  disk_->sync_folder();
  disk_->open("new", Mode::create);
  disk_->rename("kept", "renamed");
  disk_->remove("old");
  std::set<std::string> all;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    std::string names;
    for (const auto& [name, content] : machine_->after_power_loss(seed)->files()) names += name[0];
    all.insert(names);
  }
  EXPECT_EQ(all, (std::set<std::string>{"k", "r", "ko", "or", "kn", "nr", "kno", "nor"}));
  disk_->sync_folder();
  EXPECT_EQ(machine_->after_power_loss(1)->files().size(), 2u);
}

TEST_F(SimulatedDiskTest, TheEndOfAProcessLosesNothingAndSyncsNothing) {
  const auto file = make_file();
  file->write(0, bytes_of("text"));
  const auto next = machine_->after_process_end();
  EXPECT_EQ(front_of(*next, "a"), "text");
  EXPECT_TRUE(fates_of(*next, "a").contains("(missing)"));
  const auto next_disk = next->disk();
  next_disk->sync_folder();
  EXPECT_TRUE(fates_of(*next, "a").contains(""));
  next_disk->open("a", Mode::write)->sync();
  EXPECT_EQ(fates_of(*next, "a"), std::set<std::string>{"text"});
  EXPECT_TRUE(fates_of(*machine_, "a").contains("(missing)")) << "the copy is separate";
}

TEST_F(SimulatedDiskTest, IsCutOffAtAChange) {
  const auto file = make_file();
  disk_->sync_folder();
  machine_->cut_off_at(machine_->changes() + 1);
  file->write(0, bytes_of("A"));
  EXPECT_THROW(file->write(1, bytes_of("B")), std::system_error);
  EXPECT_THROW(file->write(2, bytes_of("C")), std::system_error);
  EXPECT_THROW(file->sync(), std::system_error);
  EXPECT_THROW(disk_->open("b", Mode::create), std::system_error);
  std::array<std::byte, 1> buffer{};
  EXPECT_THROW(file->read(0, buffer), std::system_error);
  EXPECT_EQ(front_of(*machine_, "a"), "AB") << "the change at which the power goes is begun";
  EXPECT_EQ(front_of(*machine_->after_process_end(), "a"), "AB");
}

TEST_F(SimulatedDiskTest, CallsFailOnceOrForEver) {
  const auto file = make_file();
  machine_->fail(Call::write, 1, ENOSPC, false);
  file->write(0, bytes_of("A"));
  try {
    file->write(1, bytes_of("BC"));
    FAIL() << "it should throw";
  } catch (const std::system_error& error) {
    EXPECT_EQ(error.code().value(), ENOSPC);
  }
  const std::string front = front_of(*machine_, "a");
  EXPECT_TRUE(front == "A" || front == "AB") << front;
  file->write(1, bytes_of("BC"));
  machine_->fail(Call::remove, 0, EIO, true);
  for (int i = 0; i < 3; ++i) EXPECT_THROW(disk_->remove("a"), std::system_error);
}

TEST_F(SimulatedDiskTest, AFailedSyncDropsWhatWasWrittenAndReadsStillFindIt) {
  const auto file = make_file();
  disk_->sync_folder();
  file->write(0, bytes_of("A"));
  machine_->fail(Call::sync, 0, EIO, false);
  EXPECT_THROW(file->sync(), std::system_error);
  file->sync();
  EXPECT_EQ(fates_of(*machine_, "a"), (std::set<std::string>{"", "A"}));
  const auto next = machine_->after_process_end();
  EXPECT_EQ(front_of(*next, "a"), "A");
  const auto next_disk = next->disk();
  const auto again = next_disk->open("a", Mode::write);
  again->write(1, bytes_of("B"));
  again->sync();
  EXPECT_EQ(fates_of(*next, "a"), (std::set<std::string>{std::string("\0B", 2), "AB"}));
  again->write(0, bytes_of("A"));
  again->sync();
  EXPECT_EQ(fates_of(*next, "a"), std::set<std::string>{"AB"});
}

TEST_F(SimulatedDiskTest, EveryChangeIsAnnounced) {
  std::vector<std::size_t> files;
  machine_->before_change = [&](const SimulatedMachine& now) {
    files.push_back(now.after_power_loss(0)->files().size() + now.files().size());
  };
  const auto file = disk_->open("a", Mode::create);
  file->write(0, bytes_of("A"));
  file->sync();
  disk_->sync_folder();
  disk_->remove("a");
  EXPECT_EQ(files.size(), 5u);
  EXPECT_EQ(files.size(), machine_->changes());
  EXPECT_EQ(files.front(), 0u);
  EXPECT_EQ(files.back(), 2u);
}

}  // namespace
}  // namespace nestline::test
