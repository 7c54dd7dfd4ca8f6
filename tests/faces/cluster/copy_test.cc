// ClusterCopy and its file.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "lib/faces/cluster/part_set.h"
#include "lib/faces/embed/fields.h"
#include "nestline/cluster.h"
#include "nestline/format_error.h"
#include "tests/support/files.h"
#include "tests/support/keys_of_kinds.h"
#include "tests/support/temp_folder.h"

namespace nestline::cluster { namespace {

using test::sequence;

class Copy : public testing::Test {
 protected:
  std::string path() const { return folder_ / "copy"; }
  std::string bytes() const { return test::read_file(path()); }
  void expect_refused(const std::string& bytes) const {
    test::write_file(path(), bytes);
    EXPECT_THROW(read_copy(path()), FormatError);
  }

  const test::TempFolder folder_;
};

PartSet built_of(const Descriptor& descriptor, KeySpan keys) {
  HashesByPart hashes(descriptor.seed, descriptor.parts);
  hashes.append(keys);
  return PartSet::build(descriptor, hashes);
}

PartSet small_set() { return built_of(describe({.capacity = 100, .seed = 3}, 3), sequence(0, 60)); }

// The copy with this number of 64 bits in its head, which is sealed again.
std::string with_head(std::string bytes, std::size_t at, std::uint64_t number) {
  const auto head = std::as_writable_bytes(std::span(bytes)).first(64);
  put(head, at, number);
  seal(head);
  return bytes;
}

TEST_F(Copy, AnswersAsTheFilesOfItDo) {
  const Descriptor descriptor = describe({.capacity = 200'000, .fpr = 0.003}, 64);
  const auto keys = sequence(0, 200'000), strangers = sequence(1'000'000, 200'000);
  const PartSet built = built_of(descriptor, keys);
  EXPECT_EQ(built.items(), keys.size());
  write_copy(path(), built);
  const ClusterCopy read = ClusterCopy::load(path());
  EXPECT_EQ(read.size(), keys.size());
  EXPECT_EQ(read.parts(), 64U);
  EXPECT_EQ(read.seed(), descriptor.seed);
  EXPECT_EQ(read.fpr(), 0.003);
  EXPECT_EQ(read.capacity(), 200'000U);
  EXPECT_GT(read.memory_bytes(), 200'000U);
  std::vector<std::uint8_t> out(keys.size()), again(keys.size());
  EXPECT_EQ(read.may_contain(keys, out), keys.size());
  EXPECT_EQ(read.may_contain(strangers, out), built.may_contain(strangers, again));
  EXPECT_EQ(out, again);
  EXPECT_LT(read.may_contain(strangers, out), 0.003 * 200'000 * 1.3);
  EXPECT_THROW(read.may_contain(keys, std::span(out).first(1)), std::invalid_argument);
  const std::string before = bytes();
  save(read, path());
  EXPECT_EQ(bytes(), before);
}

// A part takes all the same what a caller has, also when it must not grow on a server.
TEST_F(Copy, HoldsEveryKeyHoweverTheyAreDealt) {
  const Descriptor descriptor = describe({.capacity = 1000, .max_capacity = 1000}, 4);
  const std::vector<std::uint64_t> keys(5000, 7);
  const PartSet built = built_of(descriptor, keys);
  EXPECT_EQ(built.items(), keys.size());
  write_copy(path(), built);
  EXPECT_EQ(read_copy(path()).items(), keys.size());
}

// The number at 48, which was 0, keeps older versions away; and the parts are as the head says.
TEST_F(Copy, OfWhatTurnsOverSaysSo) {
  for (const bool turns_over : {false, true}) {
    const Options options = {.capacity = 10'000, .seed = 3, .turns_over = turns_over};
    write_copy(path(), built_of(describe(options, 2), sequence(0, 10'000)));
    EXPECT_EQ(bytes()[48], turns_over ? 1 : 0);
    const PartSet read = read_copy(path());
    EXPECT_EQ(read.descriptor().turns_over, turns_over);
    EXPECT_EQ(read.value(1).settings().turns_over, turns_over);
    EXPECT_EQ(read.items(), 10'000U);
    for (const std::uint64_t number : {std::uint64_t{!turns_over}, std::uint64_t{2}}) {
      const std::string whole = bytes();
      expect_refused(with_head(whole, 48, number));
      test::write_file(path(), whole);
    }
  }
}

TEST_F(Copy, OfNothingIsAFile) {
  write_copy(path(), built_of(describe({.capacity = 10}, 5), sequence(0, 0)));
  EXPECT_EQ(ClusterCopy::load(path()).size(), 0U);
}

TEST_F(Copy, EveryFlippedByteAndEveryOtherLengthIsNoticed) {
  write_copy(path(), small_set());
  const std::string whole = bytes();
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << at % 8));
    SCOPED_TRACE(at);
    expect_refused(damaged);
    expect_refused(whole.substr(0, at));
  }
  expect_refused(whole + '\0');
}

// A length that claims more than there is takes no memory.
TEST_F(Copy, ClaimsAreComparedWithTheFile) {
  write_copy(path(), small_set());
  std::string bytes_now = bytes();
  for (std::size_t i = 64; i < 72; ++i) bytes_now[i] = '\xff';
  expect_refused(bytes_now);
  bytes_now[71] = 0x0f;
  expect_refused(bytes_now);
}

TEST_F(Copy, IsNotThere) {
  EXPECT_THROW((void)ClusterCopy::load(path()), std::system_error);
  EXPECT_THROW(write_copy(folder_ / "no folder/copy", small_set()), std::system_error);
}

}  // namespace
}  // namespace nestline::cluster
