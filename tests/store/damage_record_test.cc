// One record of a store is damaged, at the end of the log or in a sealed file: whether that is
// taken for a torn end, what is counted, and that it hurts no other key.
#include <gtest/gtest.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "lib/store/log_format.h"
#include "tests/store/damaged_files.h"
#include "tests/store/store_model.h"
#include "tests/support/errors.h"

namespace nestline::test { namespace {

// With files that do not fill.
Store open_unsynced(const std::shared_ptr<SimulatedMachine>& machine, Sync sync = Sync::never) {
  return Store::State::open(machine->disk(), options_of(65536, sync), kOnCall);
}

void put_keys(Store& store, std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i) store.put("key " + std::to_string(i), "value");
}

// Closed again and again, without the index: the log says by itself that all of it was synced.
TEST(DamageOfShortRuns, IsNoTornEnd) {
  constexpr std::size_t kRuns = 8;
  for (const Sync sync : {Sync::never, Sync::each}) {
    const auto machine = SimulatedMachine::make(3);
    for (std::size_t i = 0; i < kRuns; ++i) {
      Store store = open_unsynced(machine, sync);
      put_keys(store, i, i + 1);
    }
    machine->remove_file("index.nest");
    Files files = machine->files();
    ASSERT_EQ(opens(files, false), Verdict::good);
    const std::string name = "00000001.log";
    const std::size_t end = files.at(name).size() - kSyncMarkBytes;
    // Without its header, and with no other file that has the store's id, nothing can be read.
    Files headless = files;
    headless[name][16] ^= std::byte{1};
    EXPECT_EQ(repair_on(*machine_with(headless)->disk()).lost_bytes, headless[name].size());
    for (std::size_t at = kSegmentHeaderBytes; at < end; at += 5) {
      SCOPED_TRACE(at);
      Files damaged = files;
      damaged[name][at] ^= std::byte{1};
      ASSERT_EQ(opens(damaged, true), Verdict::damaged);
      ASSERT_NO_THROW(expect_agreement(damaged));
      const auto repaired = machine_with(damaged);
      (void)repair_on(*repaired->disk());
      ASSERT_GE(open(repaired).size(), kRuns - 1);
    }
  }
}

// Everybody says how many changes of a torn end read well. A repair keeps all but one.
void expect_counted(const Files& files, std::uint64_t cut, std::uint64_t all) {
  EXPECT_EQ(verify_on(*machine_with(files)->disk()).cut_records, cut);
  for (const bool read_only : {true, false}) {
    const StoreStats stats = open(machine_with(files), read_only).stats();
    EXPECT_EQ(stats.cut_records, cut);
    EXPECT_EQ(stats.records, all - 1 - cut);
  }
  const auto repaired = machine_with(files);
  EXPECT_FALSE(repair_on(*repaired->disk()).ok());
  EXPECT_EQ(open(repaired).size(), all - 1);
}

// Without a proof it may be what a crash leaves.
TEST(DamageOfShortRuns, ThatNothingProvesIsCounted) {
  constexpr std::size_t kAll = 40;
  const auto machine = SimulatedMachine::make(3);
  Store store = open_unsynced(machine);
  put_keys(store, 0, kAll);
  Files files = machine->files();
  const auto place = place_of(files, "key 9");
  files["00000001.log"][place.second] ^= std::byte{1};
  expect_counted(files, kAll - 10, kAll);
}

// A mark that finds no room is written before the next record that does.
TEST(DamageOfShortRuns, IsProvedByAMarkThatWasRefused) {
  const auto machine = SimulatedMachine::make(3);
  Store store = open_unsynced(machine, Sync::interval);
  store.put("key 1", "value");
  store.sync();
  machine->fail(Call::write, 0, ENOSPC, false);
  EXPECT_THROW(store.put("key 2", "value"), std::system_error);
  store.put("key 3", "value");
  Files files = machine->files();
  files["00000001.log"][place_of(files, "key 1").second] ^= std::byte{1};
  EXPECT_EQ(opens(files, true), Verdict::damaged);
}

// A file that holds an end anew was synced before it got its name.
TEST(DamageOfShortRuns, InARenewedEndIsNoTornEnd) {
  const auto machine = SimulatedMachine::make(3);
  Store killed = open_unsynced(machine);
  put_keys(killed, 0, 9);
  const auto later = machine->after_process_end();
  const Store store = open(later);
  Files files = later->files();
  Bytes& renewed = files["00000002.log"];
  const auto place = place_of({{"", renewed}}, "key 5");
  ASSERT_NE(place.second, 0u);
  renewed[place.second] ^= std::byte{1};
  EXPECT_EQ(opens(files, true), Verdict::damaged);
}

// Those of the same batch before it are counted, too, also where only its end reads well behind.
TEST(DamageOfShortRuns, CountsTheWholeBatchThatIsCut) {
  constexpr std::size_t kAll = 20;
  const auto machine = SimulatedMachine::make(3);
  Store store = open_unsynced(machine);
  store.put("before", "value");
  Store::Batch batch;
  for (std::size_t i = 0; i < kAll; ++i) batch.put("key " + std::to_string(i), "value");
  store.write(batch);
  for (const char* const key : {"key 9", "key 19"}) {
    Files files = machine->files();
    files["00000001.log"][place_of(files, key).second] ^= std::byte{1};
    expect_counted(files, kAll - 1, kAll + 1);
  }
}

// for_each gives what is found, and then reports the damage if there is any.
std::string message_of_iteration(const Store& store, Content& found) {
  try {
    store.for_each(
        [&](std::string_view key, std::string_view value) { found[std::string(key)] = value; });
  } catch (const StoreError& error) {
    return error.what();
  }
  return "";
}

// One record of a sealed file is damaged: its key is hurt, and no other.
class DamagedRecord : public testing::Test {
 protected:
  static constexpr std::size_t kAll = 30;
  static constexpr const char* kHurt = "key 3 that is hurt";

  // A closed store, so that opening it reads the checkpoint and not the old files.
  DamagedRecord() {
    Store store = open(machine_);
    for (std::size_t i = 0; i < kAll; ++i) {
      const std::string key = i == 3 ? kHurt : "key " + std::to_string(i);
      store.put(key, value_of(i));
      content_[key] = value_of(i);
      // So that there is something to compact, beside its record too.
      if (i > 0 && i % 3 == 1) store.put("key 0", content_["key 0"] = value_of(100 + i));
    }
  }

  static std::optional<std::string> value_in(const Store& store, const std::string& key) {
    std::optional<std::string> value;
    (void)store.get(key, [&](std::string_view found) { value = std::string(found); });
    return value;
  }

  static std::string value_of(std::size_t i) { return std::to_string(i) + std::string(100, 'v'); }

  // `at`: from the beginning of the record.
  void damage(std::size_t at) {
    const Files files = machine_->files();
    const auto [file, key] = place_of(files, kHurt);
    ASSERT_NE(file, files.end()) << "the record is not there";
    Bytes content = file->second;
    content[key - kRecordHeaderBytes + at] ^= std::byte{4};
    machine_->set_file(file->first, content);
    where_ = file->first + ": damaged at byte " + std::to_string(key - kRecordHeaderBytes);
  }

  void expect_others(const Store& store) const {
    for (const auto& [key, value] : content_) {
      if (key != kHurt) {
        EXPECT_EQ(value_in(store, key), value) << key;
      }
    }
  }
  static std::string message_of_iteration(const Store& store, const Content& expected) {
    Content found;
    std::string message = test::message_of_iteration(store, found);
    EXPECT_EQ(found, expected);
    return message;
  }

  Content others() const {
    Content others = content_;
    others.erase(kHurt);
    return others;
  }

  std::string where_;
  std::shared_ptr<SimulatedMachine> machine_ = SimulatedMachine::make(7);
  Content content_;
};

constexpr std::size_t kInHeader = 26;  // of the key's hash
constexpr std::size_t kInValue = 100;

TEST_F(DamagedRecord, OfAValueCanBeReplacedAndErased) {
  damage(kInValue);
  for (const bool erases : {false, true}) {
    SCOPED_TRACE(erases);
    const auto machine = machine_with(machine_->files());
    {
      Store store = open(machine);
      expect_error<StoreError>([&] { (void)value_in(store, kHurt); }, where_);
      EXPECT_THROW((void)store.insert_unique(kHurt, "x"), StoreError);
      expect_others(store);
      EXPECT_NE(message_of_iteration(store, others()).find(kHurt), std::string::npos);
      EXPECT_THROW(store.compact(), StoreError);
      EXPECT_THROW((void)value_in(store, kHurt), StoreError);
      expect_others(store);
      Content now = others();
      if (erases) {
        EXPECT_TRUE(store.erase(kHurt));
        EXPECT_EQ(value_in(store, kHurt), std::nullopt);
      } else {
        store.put(kHurt, "new");
        now[kHurt] = "new";
        EXPECT_EQ(value_in(store, kHurt), "new");
      }
      EXPECT_EQ(message_of_iteration(store, now), "");
      EXPECT_EQ(store.size(), now.size());
      store.compact();
      EXPECT_EQ(message_of_iteration(store, now), "");
    }
    EXPECT_TRUE(verify_on(*machine->disk()).ok());
    const Store store = open(machine);
    EXPECT_EQ(value_in(store, kHurt), erases ? std::nullopt : std::optional<std::string>("new"));
    expect_others(store);
  }
}

// Whose it was is not known: its key is never denied, and can be put anew.
TEST_F(DamagedRecord, WithoutAKeyHurtsNobodyElse) {
  damage(kInHeader);
  Store store = open(machine_);
  EXPECT_THROW((void)value_in(store, kHurt), StoreError);
  EXPECT_THROW((void)store.erase(kHurt), StoreError);
  expect_others(store);
  EXPECT_NE(message_of_iteration(store, others()), "");
  EXPECT_THROW(store.compact(), StoreError);
  EXPECT_THROW((void)value_in(store, kHurt), StoreError);
  expect_others(store);
  store.put(kHurt, "new");
  EXPECT_EQ(value_in(store, kHurt), "new");
  Content now = others();
  now[kHurt] = "new";
  EXPECT_NE(message_of_iteration(store, now), "");
  expect_others(store);
}

// Records of 128 bytes, so that a length with one wrong bit points to the beginning of another one.
// Each bit of one record's header is damaged in turn.
TEST(DamagedHeader, HurtsNoOtherKey) {
  constexpr std::size_t kValueBytes = 128 - record_bytes(4, 0);
  static_assert(record_bytes(4, kValueBytes) == 128);
  const auto key_of = [](std::size_t i) { return "k" + std::to_string(100 + i); };
  const auto value_of = [](std::size_t i) {
    return std::string(kValueBytes, static_cast<char>('a' + i));
  };
  constexpr std::size_t kHurt = 1;
  constexpr std::size_t kAll = 20;
  const auto machine = SimulatedMachine::make(9);
  {
    Store store = open(machine);
    for (std::size_t i = 0; i < kAll; ++i) store.put(key_of(i), value_of(i));
  }
  const Files files = machine->files();
  const auto place = place_of(files, "k101");
  ASSERT_NE(place.first, files.end());
  const std::size_t record = place.second - kRecordHeaderBytes;
  for (std::size_t bit = 0; bit < 8 * kRecordHeaderBytes; ++bit) {
    SCOPED_TRACE("bit " + std::to_string(bit));
    Files damaged = files;
    damaged[place.first->first][record + bit / 8] ^= std::byte{1} << (bit % 8);
    Store store = open(machine_with(damaged));
    const auto expect_others = [&] {
      Content found;
      (void)message_of_iteration(store, found);
      for (std::size_t i = 0; i < kAll; ++i) {
        if (i == kHurt) continue;
        EXPECT_EQ(found[key_of(i)], value_of(i)) << key_of(i);
        std::string value;
        EXPECT_TRUE(store.get(key_of(i), [&](std::string_view bytes) { value = bytes; }));
        EXPECT_EQ(value, value_of(i)) << key_of(i);
      }
    };
    expect_others();
    try {
      store.put(key_of(kHurt), "again");
      store.compact();
    } catch (const StoreError&) {
    }
    expect_others();
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace nestline::test
