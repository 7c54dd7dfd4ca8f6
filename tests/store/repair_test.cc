// Repair loses nothing, over every damage of damages.h. It is killed, loses the power or finds no
// room at each of its calls, once and twice. Then there is what opening showed before, or what an
// undisturbed repair shows, or the store says that it is damaged; and the next repair comes to the
// same as one that was not disturbed. No repair goes back behind what opening shows.
// NESTLINE_REPAIRS says how many damages are drawn (default: 100).
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "tests/store/damages.h"

namespace nestline::test { namespace {

constexpr std::array kDamages = {
    damage_bytes,   damage_unmarked,     damage_all_files,       damage_lengths,
    lengthen_files, lose_and_swap_files, mix_with_another_store, damage_what_crashes_leave};

using Machine = std::shared_ptr<SimulatedMachine>;

std::uint64_t repairs() {
  const char* const text = std::getenv("NESTLINE_REPAIRS");
  return text == nullptr ? 100 : std::stoull(text);
}

// What a store shows: the answer for each key. One that is not there has none.
struct Shown {
  bool is_damaged = false;                     // opening says so
  std::map<std::string, std::string> answers;  // kError: the store says that this is damaged
  friend bool operator==(const Shown& a, const Shown& b) = default;
};
const std::string kNone = "-";
const std::string kError = "!";

std::string answer_of(const Store& store, const std::string& key) {
  try {
    std::string value;
    return store.get(key, value) ? '=' + value : kNone;
  } catch (const StoreError&) {
    return kError;
  }
}

Shown shown_by(const SimulatedMachine& machine, bool read_only,
               const std::vector<std::string>& keys) {
  Shown shown;
  for (const std::string& key : keys) shown.answers[key] = kNone;
  shown.is_damaged = verdict_of([&] {
                       const Store store = open(machine.after_process_end(), read_only);
                       for (const std::string& key : keys) {
                         shown.answers[key] = answer_of(store, key);
                       }
                       return true;
                     }) == Verdict::damaged;
  return shown;
}

// Whether it came to an end.
bool repair(SimulatedMachine& machine) {
  try {
    return verdict_of([&] {
             (void)repair_on(*machine.disk());
             return true;
           }) == Verdict::good;
  } catch (const std::system_error&) {
    return false;
  }
}

class DisturbedRepair {
 public:
  DisturbedRepair(const SmallStore& store, const Files& files, std::uint64_t seed)
      : store_(store),
        files_(machine_with(files)),
        random_(seed),
        opened_(show(*files_, true)),
        repaired_(show_repaired(*files_)) {}

  // Throws what is wrong, as all of these do.
  void run() {
    expect_repaired(*files_, "undisturbed");
    disturb(*files_, "", 2);
  }

  // Each key that opening shows has, after repair, that value or one that came later. No file of
  // the log is gone.
  void expect_nothing_less() const {
    for (const auto& [key, values] : store_.had) {
      const std::string& before = opened_.answers.at(key);
      const std::string& after = repaired_.answers.at(key);
      if (before == kError || before == kNone) continue;
      expect(turn_of(values, before) <= turn_of(values, after), [&, &name = key] {
        return "repair takes away what opening shows of the key " + name + ": " + after;
      });
    }
    const Machine repaired = files_->after_process_end();
    (void)repair(*repaired);
    const Files left = repaired->files();
    for (const auto& [name, content] : files_->files()) {
      expect(!name.ends_with(".log") || left.contains(name) || left.contains(name + ".damaged"),
             [&, &lost = name] { return "repair removes " + lost; });
    }
  }

 private:
  static std::ptrdiff_t turn_of(const std::vector<std::string>& values, const std::string& answer) {
    const std::string value = answer == kNone ? "" : answer.substr(1);
    return values.rend() - std::find(values.rbegin(), values.rend(), value);
  }
  [[nodiscard]] Shown show(const SimulatedMachine& machine, bool read_only) const {
    return shown_by(machine, read_only, store_.keys);
  }
  [[nodiscard]] Shown show_repaired(const SimulatedMachine& machine) const {
    const Machine repaired = machine.after_process_end();
    (void)repair(*repaired);
    return show(*repaired, false);
  }
  bool one_in(std::uint64_t count) { return random_() % count == 0; }
  std::uint64_t below(std::uint64_t end) { return random_() % end; }

  // `times`: how many repairs in turn are.
  void disturb(const SimulatedMachine& before, const std::string& trail, unsigned times) {
    std::vector<std::pair<Machine, std::string>> left;
    const Machine whole = before.after_process_end();
    whole->before_change = [&](const SimulatedMachine& now) {
      const std::string at = " at change " + std::to_string(now.changes());
      if (one_in(3)) left.emplace_back(now.after_process_end(), trail + " killed" + at);
      if (one_in(2)) left.emplace_back(now.after_power_loss(random_()), trail + " power lost" + at);
    };
    (void)repair(*whole);
    whole->before_change = nullptr;
    left.emplace_back(whole->after_power_loss(random_()), trail + " power lost at the end");
    for (const Call call : {Call::create, Call::write, Call::truncate, Call::sync, Call::rename}) {
      const std::uint64_t calls = whole->calls(call);
      if (calls == 0) continue;
      const std::uint64_t number = below(calls);
      left.emplace_back(without_room(before,
                                     [&](SimulatedMachine& machine) {
                                       machine.fail(call, number, ENOSPC, one_in(2));
                                     }),
                        trail + " no room at call " + std::to_string(number) + " of kind " +
                            std::to_string(static_cast<int>(call)));
    }
    std::uint64_t used = below(6000);
    for (const auto& [name, file] : before.files()) used += file.size();
    left.emplace_back(
        without_room(before, [&](SimulatedMachine& machine) { machine.set_room(used); }),
        trail + " room " + std::to_string(used));
    for (const auto& [machine, what] : left) {
      check(*machine, what);
      if (times > 1 && one_in(12)) disturb(*machine, what + ", then", times - 1);
    }
  }

  // A repair that says that there is no room leaves what opens, or does not, as it was.
  template <typename Limit>
  Machine without_room(const SimulatedMachine& before, Limit&& limit) {
    const Machine machine = before.after_process_end();
    limit(*machine);
    (void)repair(*machine);
    machine->heal();
    machine->set_room(SimulatedMachine::kNever);
    expect(show(before, false).is_damaged || !show(*machine, false).is_damaged,
           [] { return "damaged by a repair that found no room"; });
    for (const auto& [name, content] : machine->files()) {
      expect(!name.ends_with(".log.new"),
             [&, &file = name] { return "no room, and left " + file; });
    }
    return machine;
  }

  void check(const SimulatedMachine& left, const std::string& what) const {
    for (const bool read_only : {true, false}) {
      const Shown now = show(left, read_only);
      if (!now.is_damaged) expect_right(now, what + ": opened");
    }
    expect_repaired(left, what);
  }

  void expect_repaired(const SimulatedMachine& left, const std::string& what) const {
    const Shown after = show_repaired(left);
    expect(!after.is_damaged, [&] { return what + ": damaged after repair"; });
    for (const auto& [key, answer] : after.answers) {
      expect(answer != kError, [&, &name = key] { return what + ": repaired, but not " + name; });
    }
    expect_right(after, what + ": repaired");
  }

  // All is as repair shows it, or as opening showed it, as far as it did not say that it is
  // damaged.
  void expect_right(const Shown& now, const std::string& what) const {
    if (now.answers == repaired_.answers) return;
    for (const auto& [key, answer] : now.answers) {
      const std::string& before = opened_.answers.at(key);
      const std::string& repaired = repaired_.answers.at(key);
      const bool is_right =
          !opened_.is_damaged &&
          (before == kError ? answer == kError || answer == repaired : answer == before);
      expect(is_right, [&, &name = key, &now_it_is = answer] {
        return what + ", the key " + name + " is " + now_it_is + "; opening had " + before +
               ", and repair " + repaired;
      });
    }
  }

  const SmallStore& store_;
  const Machine files_;
  std::mt19937_64 random_;
  const Shown opened_;
  const Shown repaired_;
};

class RepairTest : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Compacted, RepairTest, testing::Bool());

TEST_P(RepairTest, LosesNothingWhenItIsDisturbed) {
  const SmallStore store(GetParam());
  std::mt19937_64 random(3);
  for (const auto damages : kDamages) {
    std::uint64_t count = 0;
    damages(store, [&](const DamagedFiles&) { ++count; });
    const std::uint64_t every = std::max<std::uint64_t>(1, 2 * count * kDamages.size() / repairs());
    damages(store, [&](const DamagedFiles& damaged) {
      if (HasFailure() || random() % every != 0) return;
      const std::uint64_t seed = random();
      try {
        DisturbedRepair(store, damaged.files, seed).run();
      } catch (const std::exception& wrong) {
        ADD_FAILURE() << damaged.what << ", seed " << seed << ": " << wrong.what();
      }
    });
  }
}

TEST_P(RepairTest, TakesNothingAwayThatOpeningShows) {
  const SmallStore store(GetParam());
  std::uint64_t tried = 0;
  damage_what_crashes_leave(store, [&](const DamagedFiles& damaged) {
    if (HasFailure() || ++tried % std::max<std::uint64_t>(1, 400 / repairs()) != 0) return;
    try {
      DisturbedRepair(store, damaged.files, 1).expect_nothing_less();
    } catch (const std::exception& wrong) {
      ADD_FAILURE() << damaged.what << ": " << wrong.what();
    }
  });
}

}  // namespace
}  // namespace nestline::test
