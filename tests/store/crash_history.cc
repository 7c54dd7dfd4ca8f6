// See crash_history.h.
#include "tests/store/crash_history.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <exception>
#include <iterator>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <system_error>
#include <utility>
#include <vector>

#include "lib/store/checkpoint.h"
#include "lib/store/state.h"
#include "lib/store/survey.h"
#include "nestline/store.h"
#include "tests/store/on_call.h"
#include "tests/store/simulated_disk.h"
#include "tests/store/store_checks.h"
#include "tests/store/store_model.h"

namespace nestline::test {
namespace {

struct Picture {
  std::shared_ptr<SimulatedMachine> machine;
  StoreModel model;
  std::string trail;
  unsigned crashes = 0;  // that led to it
};

class History {
 public:
  History(const CrashPlan& plan, CrashReport& report, Picture start, std::uint64_t seed)
      : plan_(plan), report_(report), start_(std::move(start)), random_(seed) {
    draw_keys();
  }

  // Plays up to `operations` of them. Throws what is wrong.
  std::vector<Picture> play(unsigned operations) {
    start_.machine->before_change = [this](const SimulatedMachine& now) { take_picture(now); };
    try {
      if (start_.crashes > 0 && one_in(6)) look_only();
      open();
      for (unsigned i = 0; i < operations && !is_broken_; ++i) {
        if (plan_.refusals != 0 && one_in(plan_.refusals)) {
          operate_refused();
        } else {
          operate(below(100));
        }
      }
      if (is_broken_) {
        for (unsigned i = start_.crashes; i < plan_.crashes; ++i) {
          add_picture(*start_.machine, false);
        }
      } else {
        check_store(*store_, model().now(), keys_);
        check_verify();
      }
      store_.reset();
    } catch (const std::exception& error) {
      throw std::runtime_error(start_.trail + ", changes " +
                               std::to_string(start_.machine->changes()) + ": " + last_ + ": " +
                               error.what());
    }
    start_.machine->before_change = nullptr;
    return std::move(pictures_);
  }

 private:
  static constexpr std::uint64_t kReopen = 96;  // a kind of operation, and those behind it

  StoreModel& model() { return start_.model; }
  bool one_in(std::uint64_t count) { return random_() % count == 0; }
  std::uint64_t below(std::uint64_t end) { return random_() % end; }

  void draw_keys() {
    const std::size_t count = std::array<std::size_t, 4>{3, 10, 60, 1000}[below(4)];
    for (std::size_t i = 0; i < count; ++i) keys_.push_back(key_of(i));
    for (const auto& [key, value] : model().now()) keys_.push_back(key);
    std::sort(keys_.begin(), keys_.end());
    keys_.erase(std::unique(keys_.begin(), keys_.end()), keys_.end());
  }

  StoreOptions draw_options() {
    return {.sync = std::array{Sync::never, Sync::interval, Sync::each}[below(3)],
            .segment_bytes =
                std::array<std::uint64_t, 6>{1024, 2048, 5000, 5000, 65536, 1 << 24}[below(6)],
            .expected_records = std::array<std::uint64_t, 3>{1, 40, 1000}[below(3)],
            .compact_above = std::array{0.0, 0.1, 0.5}[below(3)],
            .verify_reads = one_in(2)};
  }

  void take_picture(const SimulatedMachine& now) {
    if (start_.crashes >= plan_.crashes) return;
    if (plan_.kills_openings && start_.crashes > 0) {
      const bool kills = start_.crashes == 1;
      if (kills ? last_ == "open" : one_in(4)) add_picture(now, kills);
    } else if (one_in(start_.crashes == 0 ? plan_.one_in : 40)) {
      add_picture(now, one_in(8) && !names_lost_);
    }
  }

  void add_picture(const SimulatedMachine& now, bool killed) {
    const std::uint64_t fate = random_();
    Picture picture{killed ? now.after_process_end() : now.after_power_loss(fate), model(),
                    start_.trail + (killed ? ", killed at " : ", power lost at ") +
                        std::to_string(now.changes()) + " (" + last_ + ")",
                    start_.crashes + 1};
    if (killed) {
      picture.model.process_ended();
    } else {
      picture.model.power_lost();
    }
    ++(killed ? report_.kills : report_.power_losses);
    pictures_.push_back(std::move(picture));
  }

  // A store that only reads sees a content that may be there, and changes nothing.
  void look_only() {
    last_ = "read only";
    const std::uint64_t changes = start_.machine->changes();
    StoreOptions options = draw_options();
    options.read_only = true;
    StoreModel model_of_reader = model();
    try {
      const Store reader = Store::State::open(start_.machine->disk(), options, kOnCall);
      const Content found = content_of(reader);
      expect(model_of_reader.go_back_to(found), [&] { return difference(found, model().now()); });
      check_store(reader, found, keys_);
    } catch (const StoreError& error) {
      // There may be no store yet.
      expect(model_of_reader.go_back_to({}), [&] { return error.what(); });
    }
    expect(start_.machine->changes() == changes, [] { return "a reader changed the folder"; });
  }

  void open() {
    last_ = "open";
    options_ = draw_options();
    check_checkpoint();
    // What a crash leaves is no problem.
    if (one_in(2) && !start_.machine->files().empty()) {
      try {
        const StoreReport report = verify_on(*start_.machine->disk());
        expect(report.ok(), [&] { return "verify before opening: " + report.problems.front(); });
      } catch (const StoreError& error) {
        // There may be no store yet.
        expect(StoreModel(model()).go_back_to({}), [&] { return error.what(); });
      }
    }
    store_.emplace(Store::State::open(start_.machine->disk(), options_, kOnCall));
    const Content found = content_of(*store_);
    expect(model().go_back_to(found), [&] { return difference(found, model().now()); });
    model().all_is_synced();  // what an opened store shows is on disk
    check_store(*store_, found, keys_);
    if (one_in(4)) check_verify();
  }

  // No checkpoint names a file that is gone: else opening reads the whole log.
  void check_checkpoint() {
    const auto files = start_.machine->files();
    const auto file = files.find(std::string(kCheckpointName));
    std::size_t pairs_at = 0;
    if (file == files.end()) return;
    const auto head = decode_checkpoint(file->second, pairs_at);
    if (!head) return;
    for (const CheckpointSegment& segment : head->segments) {
      expect(files.contains(segment_name(segment.number)), [&] {
        return "the checkpoint names " + segment_name(segment.number) + ", which is gone";
      });
    }
  }

  void check_verify() {
    if (store_) note_size();
    const auto disk = start_.machine->disk();
    const StoreReport report = verify_on(*disk);
    expect(report.ok(), [&] { return "verify: " + report.problems.front(); });
    expect(report.records == model().now().size(), [&] {
      return "verify counts " + std::to_string(report.records) + " records of " +
             std::to_string(model().now().size());
    });
  }

  void note_size() {
    const StoreStats stats = store_->stats();
    report_.most_segments = std::max(report_.most_segments, stats.segments);
    report_.most_index_slots = std::max(report_.most_index_slots, stats.index_slots);
  }

  // With the number of the value, so that each is another.
  std::string draw_value() {
    std::string value = std::to_string(++values_) + '/' + std::to_string(start_.crashes) + ' ';
    const std::uint64_t kind = below(20);
    value.append(kind == 0 ? below(6000) : kind < 6 ? below(600) : below(40), 'v');
    return one_in(50) ? "" : value;
  }

  const std::string& draw_key() { return keys_[below(keys_.size())]; }

  // What the disk refuses is refused, or done all the same.
  void operate_refused() {
    SimulatedMachine& machine = *start_.machine;
    const auto call = static_cast<Call>(below(kCalls));
    const bool opens = call == Call::open || call == Call::create;
    const int error = opens && one_in(2) ? EMFILE : one_in(2) ? ENOSPC : EIO;
    const std::uint64_t number = below(4);
    const std::size_t contents = model().contents();
    // Of names, the simulated disk keeps nothing more after a failed sync, until the power is lost.
    names_lost_ = names_lost_ || call == Call::sync_folder;
    machine.fail(call, number, error, one_in(3));
    bool threw = false;
    try {
      operate(below(kReopen));
    } catch (const std::system_error&) {
      threw = true;
    } catch (const StoreError&) {
      threw = true;
    }
    machine.heal();
    last_ += ", call " + std::to_string(static_cast<unsigned>(call)) + " number " +
             std::to_string(number) + " refused";
    if (!threw) return;
    ++report_.refused;
    const Content found = content_of(*store_);
    StoreModel refused = model();
    if (refused.contents() != contents && found != refused.now()) refused.take_back();
    expect(found == refused.now(), [&] { return difference(found, refused.now()); });
    check_store(*store_, found, keys_);
    try {
      store_->sync();
      model() = std::move(refused);
      model().all_is_synced();
    } catch (const StoreError&) {
      is_broken_ = true;  // the change may be there or not
    }
  }

  // `kind`: below 100.
  void operate(std::uint64_t kind) {
    if (kind < 38) {
      put();
    } else if (kind < 42) {
      follow();
    } else if (kind < 50) {
      insert();
    } else if (kind < 68) {
      erase();
    } else if (kind < 80) {
      write();
    } else if (kind < 87) {
      last_ = "sync";
      store_->sync();
      model().all_is_synced();
    } else if (kind < 91) {
      last_ = "checkpoint";
      store_->checkpoint();
    } else if (kind < 94) {
      last_ = "keep up";
      Store::State::keep_up_on(*store_);
    } else if (kind < kReopen) {
      last_ = "compact";
      ++report_.compactions;
      store_->compact();
    } else {
      reopen();
    }
    const std::string& key = draw_key();
    check_key(*store_, key, model().now());
  }

  // A reader beside the writer: it is opened once, and then follows the log.
  void follow() {
    last_ = "follow";
    if (!reader_) {
      StoreOptions options = draw_options();
      options.read_only = true;
      reader_.emplace(Store::State::open(start_.machine->disk(), options, kOnCall));
    } else {
      (void)reader_->refresh();
    }
    check_store(*reader_, model().now(), keys_);
    expect(!reader_->refresh(), [] { return "there is something new where nothing happened"; });
  }

  // The call has returned.
  void changed() {
    model().all_has_returned();
    if (options_.sync == Sync::each) model().all_is_synced();
  }

  void put() {
    last_ = "put";
    const std::string key = draw_key();
    const std::string value = draw_value();
    model().change({{key, value}});
    store_->put(key, value);
    changed();
  }

  void insert() {
    last_ = "insert";
    const std::string key = draw_key();
    const std::string value = draw_value();
    const bool is_new = !model().now().contains(key);
    if (is_new) model().change({{key, value}});
    expect(static_cast<bool>(store_->insert_unique(key, value)) == is_new,
           [] { return "insert gave the wrong answer"; });
    if (is_new) changed();
  }

  void erase() {
    last_ = "erase";
    const std::string key = draw_key();
    const bool is_there = model().now().contains(key);
    if (is_there) model().change({{key, std::nullopt}});
    expect(store_->erase(key) == is_there, [] { return "erase gave the wrong answer"; });
    if (is_there) changed();
  }

  void write() {
    last_ = "write";
    Delta delta;
    for (std::uint64_t left = below(7); left > 0; --left) {
      const std::string key = draw_key();
      delta.emplace_back(key, one_in(3) ? std::nullopt : std::optional(draw_value()));
    }
    const Store::Batch batch = batch_of(delta);
    model().change(std::move(delta));
    store_->write(batch);
    changed();
  }

  void reopen() {
    last_ = "close";
    store_.reset();
    if (options_.sync != Sync::never) model().all_is_synced();
    const Content before = model().now();
    open();
    last_ = "reopen";
    expect(model().now() == before, [&] { return difference(model().now(), before); });
  }

  const CrashPlan& plan_;
  CrashReport& report_;
  Picture start_;
  std::mt19937_64 random_;
  std::vector<std::string> keys_;
  std::vector<Picture> pictures_;
  std::optional<Store> store_;
  std::optional<Store> reader_;
  StoreOptions options_;
  std::string last_ = "begin";
  std::uint64_t values_ = 0;
  bool names_lost_ = false;
  bool is_broken_ = false;
};

}  // namespace

CrashReport play_crashes(const CrashPlan& plan) {
  CrashReport report;
  std::vector<Picture> pictures;
  pictures.push_back(
      {SimulatedMachine::make(plan.seed), {}, "seed " + std::to_string(plan.seed), 0});
  std::uint64_t number = 0;
  while (!pictures.empty()) {
    Picture picture = std::move(pictures.back());
    pictures.pop_back();
    const bool first = picture.crashes == 0;
    std::string trail = picture.trail;
    try {
      History history(plan, report, std::move(picture), plan.seed * 1'000'003 + number++);
      auto more = history.play(first ? plan.operations : std::min(plan.operations / 6, 20u));
      std::move(more.begin(), more.end(), std::back_inserter(pictures));
    } catch (const std::exception& error) {
      report.violation = error.what();
      return report;
    }
  }
  return report;
}

}  // namespace nestline::test
