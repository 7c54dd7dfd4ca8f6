// One thread's part in a history: performs random steps on a filter and records them.
#ifndef NESTLINE_TESTS_FILTERS_CONCURRENT_HISTORY_PLAYER_H_
#define NESTLINE_TESTS_FILTERS_CONCURRENT_HISTORY_PLAYER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

#include "nestline/keys.h"
#include "tests/filters/concurrent/history.h"
#include "tests/filters/concurrent/history_scene.h"
#include "tests/support/histories.h"

namespace nestline::test {

struct Step {
  Kind kind;
  std::uint8_t key;
  std::uint8_t old_key;
  std::uint8_t copy;   // which of the class's hashes, or which filler
  std::uint8_t batch;  // keys of classes `key`, `key` + 1 ... in one call; 1: a single key
};

using Script = std::vector<Step>;

// Scripts of two to six steps.
std::vector<Script> make_scripts(const Scene& scene, int threads, Random& random);

// One thread's part: the steps of a script as operations.
template <class F>
class Player {
 public:
  Player(F& filter, const Scene& scene, Recorder<Operation>& recorder, int thread, int threads)
      : filter_(filter),
        scene_(scene),
        recorder_(recorder),
        thread_(static_cast<std::size_t>(thread)) {
    // Distributes the copies of the beginning among the threads.
    for (std::size_t key = 1; key < scene.classes.size(); ++key) {
      const int copies = scene.copies[key];
      const int extra = (thread + static_cast<int>(key)) % threads < copies % threads ? 1 : 0;
      own_[key] = copies / threads + extra;
    }
  }

  void play(const Script& script) {
    for (const Step& step : script) {
      perturb(-1);
      if (step.batch > 1) {
        play_batch(step);
      } else {
        play_one(step);
      }
    }
  }
  void play_one(const Step& step) {
    Operation operation;
    operation.kind = step.kind;
    operation.key = step.key;
    operation.old_key = step.old_key;
    // Replaces steps that a thread must not take by harmless ones.
    if (step.kind == Kind::erase && !may_erase(step.key)) operation.kind = Kind::may_contain;
    if (step.kind == Kind::update && own_[step.old_key] == 0) operation.kind = Kind::insert_unique;
    const Hash key = hash(step.key, step.copy);
    operation.hash = key.value;
    recorder_.record(thread_, operation, [&](Operation& one) {
      call(one, key);
      own(one);
    });
  }

 private:
  [[nodiscard]] Hash hash(std::size_t key, std::size_t copy) const {
    const auto& hashes = key == 0 ? scene_.fillers : scene_.hashes[key];
    return Hash{hashes.empty() ? 0 : hashes[copy % hashes.size()]};
  }
  [[nodiscard]] bool may_erase(std::size_t key) const { return scene_.loose[key] || own_[key] > 0; }

  // What belongs to this thread after an operation.
  void own(const Operation& operation) {
    const bool stored = operation.outcome == Outcome::stored;
    switch (operation.kind) {
      case Kind::insert:
      case Kind::insert_unique:
        own_[operation.key] += stored ? 1 : 0;
        break;
      case Kind::update:
        own_[operation.key] += stored ? 1 : 0;
        own_[operation.old_key] -= stored ? 1 : 0;
        break;
      case Kind::erase:
        own_[operation.key] -= operation.answer != 0 && own_[operation.key] > 0 ? 1 : 0;
        break;
      default:
        break;
    }
  }

  void call(Operation& operation, Hash key) {
    switch (operation.kind) {
      case Kind::insert:
        operation.outcome = filter_.insert(key).outcome;
        break;
      case Kind::insert_unique:
        operation.outcome = filter_.insert_unique(key).outcome;
        break;
      case Kind::update:
        operation.outcome = filter_.update(hash(operation.old_key, 0), key).outcome;
        break;
      case Kind::erase:
        operation.answer = filter_.erase(key) ? 1 : 0;
        break;
      case Kind::count:
        operation.answer = filter_.count(key);
        break;
      case Kind::may_contain:
        operation.answer = filter_.may_contain(key) ? 1 : 0;
        break;
      case Kind::grow:
        operation.answer = filter_.grow() ? 1 : 0;
        break;
      case Kind::shrink:
        operation.answer = filter_.shrink() ? 1 : 0;
        break;
      case Kind::clear:
        filter_.clear();
        break;
      case Kind::snapshot:
        take_snapshot(operation);
        break;
      case Kind::merge:
        operation.copies = scene_.added;
        operation.others = scene_.addition->size();
        for (const unsigned added : scene_.added) operation.others -= added;
        try {
          filter_.merge(*scene_.addition);
        } catch (const std::length_error&) {
          operation.outcome = Outcome::full;
        }
        break;
    }
  }

  void take_snapshot(Operation& operation) {
    const Filter snapshot = filter_.snapshot();
    operation.others = snapshot.size();
    describe(snapshot, operation.copies);
  }

 public:
  // How many copies of each class an unchanging filter holds; for class 0, whether every filler is
  // there.
  template <class Quiet>
  void describe(const Quiet& quiet, Copies& copies) const {
    copies[0] = scene_.fillers.empty() ? 0 : 1;
    for (const std::uint64_t filler : scene_.fillers) {
      if (!quiet.may_contain(Hash{filler})) copies[0] = 0;
    }
    for (std::size_t key = 1; key < scene_.classes.size(); ++key) {
      copies[key] = static_cast<std::uint8_t>(quiet.count(hash(key, 0)));
    }
  }

 private:
  // A batch is its keys one by one, each at some instant of the call.
  void play_batch(const Step& step) {
    std::array<Hash, 4> keys{};
    Operation whole;
    whole.kind = step.kind;
    const auto key_of = [&](unsigned i) {
      return 1 + (step.key + i) % (scene_.classes.size() - 1);
    };
    for (unsigned i = 0; i < step.batch; ++i) {
      if (step.kind == Kind::erase && !may_erase(key_of(i))) return play_one(step);
      keys[i] = hash(key_of(i), step.copy);
    }
    std::array<std::uint8_t, 4> answers{};
    std::array<Outcome, 4> outcomes{};
    const std::span<const Hash> batch(keys.data(), step.batch);
    const std::span<std::uint8_t> out(answers.data(), step.batch);
    const std::span<Outcome> ended(outcomes.data(), step.batch);
    const auto call = [&](Operation&) {
      if (step.kind == Kind::may_contain) {
        (void)filter_.may_contain(batch, out);
      } else if (step.kind == Kind::count) {
        filter_.count(batch, out);
      } else if (step.kind == Kind::erase) {
        filter_.erase(batch, out);
      } else if (step.kind == Kind::insert_unique) {
        (void)filter_.insert_unique(batch, ended);
      } else {
        (void)filter_.insert(batch, ended);
      }
    };
    recorder_.record(thread_, whole, call, [&](const Operation& done) {
      std::vector<Operation> parts(step.batch, done);
      for (unsigned i = 0; i < step.batch; ++i) {
        parts[i].key = static_cast<std::uint8_t>(key_of(i));
        parts[i].hash = keys[i].value;
        parts[i].answer = answers[i];
        parts[i].outcome = outcomes[i];
        own(parts[i]);
      }
      return parts;
    });
  }

  F& filter_;
  const Scene& scene_;
  Recorder<Operation>& recorder_;
  std::size_t thread_;
  std::array<int, kMaxClasses> own_{};  // copies that this thread may erase
};

}  // namespace nestline::test

#endif  // NESTLINE_TESTS_FILTERS_CONCURRENT_HISTORY_PLAYER_H_
