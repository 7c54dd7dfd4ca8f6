// A store that only reads opens, or follows the log, while another one writes. Both are on one
// simulated disk, and the test decides what the writer does between any two calls of the reader; it
// may also be killed there, and another opens. Neither the reader nor verify_store() must complain.
// It has all that had returned when it began, and nothing that never was. One refresh() brings it
// to where a writer rests.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "lib/store/survey.h"
#include "tests/store/on_call.h"
#include "tests/store/simulated_disk.h"
#include "tests/store/stepped_disk.h"
#include "tests/store/store_checks.h"
#include "tests/store/store_operations.h"

namespace nestline::test { namespace {

constexpr std::uint64_t kFileBytes = 2048;

StoreOptions options_of(bool read_only, std::uint64_t file_bytes = kFileBytes) {
  StoreOptions options = test::options_of(file_bytes, Sync::never, kPreparedKeys);
  options.read_only = read_only;
  return options;
}

// A folder with some files: of a store that was closed, or of a process that was killed.
struct Start {
  std::shared_ptr<SimulatedMachine> machine;
  Content content;
};

Start make_start(bool is_closed) {
  const auto machine = SimulatedMachine::make(1);
  Start start;
  {
    Store store = Store::State::open(machine->disk(), options_of(false), kOnCall);
    start.content = prepare_store(store, kFileBytes);
    // Begins a file, so that the newest has room for a few records.
    start.content[key_of(0)] = std::string(kFileBytes / 4, 's');
    store.put(key_of(0), start.content[key_of(0)]);
    if (!is_closed) start.machine = machine->after_process_end();
  }
  if (is_closed) start.machine = machine->after_process_end();
  return start;
}

StoreStep put_step(const std::string& key, std::string value) {
  return {"put " + key, {{key, value}}, [key, value](Store& s) { s.put(key, value); }};
}

// Puts that fill some files. The first ones fit into the newest, with a sync mark between them.
std::vector<StoreStep> filling_steps() {
  std::vector<StoreStep> steps = {put_step("new", "1"), {"sync", {}, [](Store& s) { s.sync(); }}};
  for (std::size_t i = 0; i < 12; ++i) {
    const std::size_t bytes = i % 4 * kFileBytes / 8;
    steps.push_back(put_step(key_of(i), "filled " + std::string(bytes, 'f')));
  }
  return steps;
}

// A writer and a reader, and the contents that the reader may see.
class Scene {
 public:
  explicit Scene(const Start& start) : machine_(start.machine->after_process_end()) {
    contents_.push_back(start.content);
    open_writer();
  }

  // The reader opens, or follows if it is open. `next` is called before each of its calls.
  template <typename Next>
  void read(Next&& next) {
    least_ = returned_.load();
    before_reader_ = next;
    if (reader_) {
      (void)reader_->refresh();
    } else {
      reader_.emplace(Store::State::open(stepped_disk(machine_->disk(), before_reader_),
                                         options_of(true), kOnCall));
    }
    before_reader_ = nullptr;
    const Content found = content_of(*reader_);
    const auto first = contents_.begin() + static_cast<std::ptrdiff_t>(least_);
    expect(std::find(first, contents_.end(), found) != contents_.end(),
           [&] { return "the reader has what never was: " + difference(found, *first); });
  }

  // verify_store() instead.
  template <typename Next>
  void verify(Next&& next) {
    before_reader_ = next;
    const StoreReport report = verify_on(*stepped_disk(machine_->disk(), before_reader_));
    before_reader_ = nullptr;
    expect(report.ok(), [&] { return "verify: " + report.problems.front(); });
  }

  // From now on the writer does these steps, call by call.
  void begin(const std::vector<StoreStep>& steps) {
    for (const StoreStep& step : steps) {
      contents_.push_back(contents_.back());
      apply_delta(contents_.back(), step.delta);
    }
    thread_.emplace([this, steps](SteppedThread& thread) {
      before_writer_ = [&] {
        if (!is_killed_) thread.before_call();
        if (is_killed_) throw std::system_error(EIO, std::generic_category(), "killed");
      };
      for (const StoreStep& step : steps) {
        step.run(*writer_);
        ++returned_;
      }
    });
  }
  void go_on(std::uint64_t calls) {
    if (thread_) thread_->go_on(calls);
  }
  void end() {
    go_on(SteppedThread::kAll);
    thread_.reset();
    before_writer_ = nullptr;
  }

  // The writer is killed, and another one opens, with files of another size, and does these steps.
  void kill_writer(const std::vector<StoreStep>& steps, std::uint64_t file_bytes = kFileBytes) {
    file_bytes_ = file_bytes;
    is_killed_ = true;
    thread_.reset();
    writer_.reset();
    is_killed_ = false;
    before_writer_ = nullptr;
    open_writer();
    const Content left = content_of(*writer_);
    const auto first = contents_.begin() + static_cast<std::ptrdiff_t>(returned_.load());
    expect(std::find(first, contents_.end(), left) != contents_.end(),
           [&] { return "the next writer finds what never was: " + difference(left, *first); });
    contents_.push_back(left);
    returned_ = contents_.size() - 1;
    begin(steps);
    end();
  }

  // When the writer rests.
  void expect_reader_follows() {
    const Content now = content_of(*writer_);
    expect(now == contents_.back(), [&] { return difference(now, contents_.back()); });
    (void)reader_->refresh();
    check_store(*reader_, now, keys_of_steps());
    expect(!reader_->refresh(), [] { return "there is something new where nothing happened"; });
  }

 private:
  void open_writer() {
    writer_.emplace(Store::State::open(stepped_disk(machine_->disk(), before_writer_),
                                       options_of(false, file_bytes_), kOnCall));
  }

  std::uint64_t file_bytes_ = kFileBytes;
  std::shared_ptr<SimulatedMachine> machine_;
  BeforeCall before_writer_;
  BeforeCall before_reader_;
  std::vector<Content> contents_;
  std::atomic<std::size_t> returned_{0};  // steps; contents_[returned_] must be there
  std::size_t least_ = 0;
  std::atomic<bool> is_killed_{false};
  std::optional<Store> writer_;
  std::optional<Store> reader_;
  std::optional<SteppedThread> thread_;
};

// Calls with(number) for 0, 1, ... until it returns false. Returns how often it did not.
template <typename With>
std::uint64_t count_up(With&& with) {
  std::uint64_t number = 0;
  while (with(number)) ++number;
  return number;
}

class FollowingTest : public ::testing::TestWithParam<bool> {
 protected:
  const Start start_ = make_start(GetParam());
};

INSTANTIATE_TEST_SUITE_P(All, FollowingTest, ::testing::Bool(), [](const auto& test) {
  return std::string(test.param ? "AfterClose" : "AfterKill");
});

// Everything that the writer does happens before one call of the reader: before each, in turn.
TEST_P(FollowingTest, WhatIsWrittenBetweenTwoCallsIsNotMissed) {
  std::vector<std::vector<StoreStep>> scripts = {filling_steps()};
  for (const StoreStep& step : store_steps(kFileBytes)) scripts.push_back({step});
  for (const auto& script : scripts) {
    for (const std::string what : {"opening", "following", "verifying"}) {
      const std::uint64_t calls = count_up([&](std::uint64_t number) {
        SCOPED_TRACE(script.front().name + ", call " + std::to_string(number) + " of " + what);
        Scene scene(start_);
        bool happened = false;
        try {
          if (what == "following") {
            scene.read([] {});
            scene.begin({put_step(key_of(1), "first"), put_step(key_of(1), "second")});
            scene.end();
          }
          scene.begin(script);
          std::uint64_t call = 0;
          const auto next = [&] {
            if (call++ != number) return;
            happened = true;
            scene.end();
          };
          if (what == "verifying") {
            scene.verify(next);
          } else {
            scene.read(next);
          }
          scene.end();
          if (what != "verifying") scene.expect_reader_follows();
        } catch (const std::exception& error) {
          ADD_FAILURE() << error.what();
        }
        return happened;
      });
      EXPECT_GT(calls, 2u);
    }
  }
}

// A batch of a killed writer is cut off, and one follows that looks the same but for its keys. A
// reader may have read the first part of the one and the second of the other.
TEST_P(FollowingTest, ABatchIsCutOffAndAnotherTakesItsPlace) {
  const auto batch_step = [](const std::string& first, const std::string& second) {
    const Delta delta = {{first, "value"}, {second, "value"}};
    return StoreStep{"write", delta, [delta](Store& s) { s.write(batch_of(delta)); }};
  };
  // A reader reads to the end of the file, and looks again from there if the batch ends there: how
  // far a write lengthens the file depends on those before it.
  for (std::size_t before = 24; before < 48; ++before) {
    const std::uint64_t calls = count_up([&](std::uint64_t number) {
      SCOPED_TRACE(std::to_string(before) + " puts before, call " + std::to_string(number));
      Scene scene(start_);
      bool happened = false;
      try {
        scene.begin(std::vector(before, put_step("before", "value")));
        scene.end();
        scene.read([] {});
        scene.begin({batch_step("1a", "1b")});
        scene.go_on(2);  // it has written the beginning, and one put
        std::uint64_t call = 0;
        scene.read([&] {
          if (call++ != number) return;
          happened = true;
          scene.kill_writer({batch_step("2a", "2b")});
        });
        scene.end();
        scene.expect_reader_follows();
      } catch (const std::exception& error) {
        ADD_FAILURE() << error.what();
      }
      return happened;
    });
    EXPECT_GT(calls, 2u);
  }
}

// A checkpoint may be of another time, other options, another store: the log alone decides.
class AnyCheckpoint : public ::testing::Test {
 protected:
  static constexpr std::uint64_t kLarge = std::uint64_t{1} << 30;  // needs other addresses
  using Files = std::map<std::string, SimulatedMachine::Bytes>;

  static Store open(SimulatedMachine& machine, std::uint64_t file_bytes, bool read_only = false) {
    return Store::State::open(machine.disk(), options_of(read_only, file_bytes), kOnCall);
  }
  // Puts `count` records, which it adds to `content`.
  static void fill(Store& store, Content& content, std::size_t count, const std::string& value) {
    for (std::size_t i = 0; i < count; ++i) {
      content[key_of(i)] = value + std::to_string(content.size());
      store.put(key_of(i), content[key_of(i)]);
    }
  }
  // Readers, verify and a writer agree.
  static void expect_content(const Files& files, const Content& content, const std::string& what) {
    SCOPED_TRACE(what);
    const auto machine = SimulatedMachine::with_files(files);
    try {
      EXPECT_EQ(difference(content_of(open(*machine, kFileBytes, true)), content), "no difference");
      EXPECT_EQ(difference(content_of(open(*machine, kFileBytes)), content), "no difference");
      EXPECT_EQ(verify_on(*machine->disk()).problems, std::vector<std::string>{});
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
  }
};

TEST_F(AnyCheckpoint, OfFilesThatWereSmaller) {
  for (const std::uint64_t before : {kFileBytes, kLarge}) {
    const auto machine = SimulatedMachine::make(1);
    Content content;
    {
      Store store = open(*machine, before);
      fill(store, content, 4, "first");
    }
    Store follower = open(*machine, kFileBytes, true);
    for (const std::uint64_t after : {kLarge, 64 * kLarge, kFileBytes}) {
      Store store = open(*machine, after);
      fill(store, content, 12, std::string(kFileBytes / 4, 'x'));
      Content found = content_of(open(*machine, kFileBytes, true));
      EXPECT_EQ(difference(found, content), "no difference") << before << ", then " << after;
      EXPECT_TRUE(follower.refresh());
      EXPECT_EQ(difference(content_of(follower), content), "no difference");
      expect_content(machine->after_process_end()->files(), content, "killed");
    }
  }
}

// Two stores go on from one copy; each then gets the checkpoint of the other, and one of before.
TEST_F(AnyCheckpoint, OfACopyThatWentOnByItself) {
  for (std::size_t records = 0; records < 12; ++records) {
    const auto first = SimulatedMachine::make(1);
    Content before;
    {
      Store store = open(*first, kLarge);
      fill(store, before, 6, "before");
    }
    const auto second = first->after_process_end();
    const auto old = first->files().at("index.nest");
    Content here = before;
    Content there = before;
    {
      Store store = open(*first, kLarge);
      fill(store, here, 12, "here and longer");
      store.sync();
      Store other = open(*second, kLarge);
      fill(other, there, records, "there");
    }
    Files files = first->files();
    const auto own = std::exchange(files["index.nest"], second->files().at("index.nest"));
    expect_content(files, here, std::to_string(records) + " records, of the other");
    files["index.nest"] = old;
    expect_content(files, here, std::to_string(records) + " records, of before");
  }
}

// The two take turns, as the seed has it.
TEST_P(FollowingTest, TurnsOfAnyLength) {
  std::vector<StoreStep> all = store_steps(kFileBytes);
  // What it does depends on the steps before.
  std::erase_if(all, [](const StoreStep& step) { return step.name == "insert"; });
  std::uint64_t kills = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const auto below = [&](std::uint64_t end) { return random() % end; };
    const auto draw_steps = [&] {
      std::vector<StoreStep> steps;
      for (std::uint64_t count = 1 + below(6); steps.size() < count;) {
        const std::string key = key_of(below(kPreparedKeys));
        steps.push_back(below(2) == 0 ? all[below(all.size())]
                                      : put_step(key, std::string(below(kFileBytes / 2), 'x')));
      }
      return steps;
    };
    try {
      Scene scene(start_);
      for (int round = 0; round < 3; ++round) {
        scene.begin(draw_steps());
        scene.go_on(below(30));
        std::uint64_t until_kill = below(3) == 0 ? below(40) : ~std::uint64_t{0};
        const std::uint64_t one_in = 1 + below(8);
        const auto next = [&] {
          if (until_kill-- == 0) {
            ++kills;
            scene.kill_writer(draw_steps(), kFileBytes << (below(3) * 10));
          } else if (below(one_in) == 0) {
            scene.go_on(below(8) == 0 ? 100 : below(6));
          }
        };
        if (below(4) == 0) scene.verify(next);
        scene.read(next);
        scene.end();
        if (below(2) == 0) scene.expect_reader_follows();
      }
      scene.expect_reader_follows();
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
  }
  EXPECT_GT(kills, 20u);
}

}  // namespace
}  // namespace nestline::test
