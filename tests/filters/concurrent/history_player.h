// One thread's part in a history: performs random steps on a filter and records them.
#ifndef NESTLINE_TESTS_FILTERS_CONCURRENT_HISTORY_PLAYER_H_
#define NESTLINE_TESTS_FILTERS_CONCURRENT_HISTORY_PLAYER_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

#include "nestline/keys.h"
#include "tests/filters/concurrent/history.h"
#include "tests/filters/concurrent/history_scene.h"

namespace nestline::test {

// Keeps the processor busy for a moment.
void spin(std::uint64_t times);

// A random short wait of the calling thread: nothing, some spinning, or a yield.
void perturb(int point);
// A longer wait, in which other threads should do several operations.
void linger();

// Tickets: an operation whose `end` is below the `start` of another happened before it. On the
// processor both are full barriers; ThreadSanitizer does not learn of the order, so it sees races
// that the tickets would hide.
class Tickets {
 public:
  std::uint64_t draw() {
#if defined(__SANITIZE_THREAD__)
    return next_.fetch_add(1, std::memory_order_relaxed);
#else
    return next_.fetch_add(1, std::memory_order_seq_cst);
#endif
  }

 private:
  alignas(64) std::atomic<std::uint64_t> next_{1};
};

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
  Player(F& filter, const Scene& scene, Tickets& tickets, int thread, int threads)
      : filter_(filter), scene_(scene), tickets_(tickets), thread_(thread) {
    operations_.reserve(kMaxOperations);
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
    begin(operation);
    call(operation, key);
    finish(operation);
  }

  [[nodiscard]] const std::vector<Operation>& operations() const { return operations_; }

 private:
  [[nodiscard]] Hash hash(std::size_t key, std::size_t copy) const {
    const auto& hashes = key == 0 ? scene_.fillers : scene_.hashes[key];
    return Hash{hashes.empty() ? 0 : hashes[copy % hashes.size()]};
  }
  [[nodiscard]] bool may_erase(std::size_t key) const { return scene_.loose[key] || own_[key] > 0; }

  void begin(Operation& operation) {
    operation.thread = static_cast<std::uint8_t>(thread_);
    operation.start = tickets_.draw();
  }
  void finish(Operation& operation) {
    operation.end = tickets_.draw();
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
    operations_.push_back(operation);
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
    std::vector<Operation> parts;
    for (unsigned i = 0; i < step.batch; ++i) {
      const std::size_t key = 1 + (step.key + i) % (scene_.classes.size() - 1);
      Operation part;
      part.kind = step.kind;
      if (step.kind == Kind::erase && !may_erase(key)) return play_one(step);
      part.key = static_cast<std::uint8_t>(key);
      keys[i] = hash(key, step.copy);
      part.hash = keys[i].value;
      parts.push_back(part);
    }
    const bool is_insert = step.kind == Kind::insert || step.kind == Kind::insert_unique;
    std::array<std::uint8_t, 4> answers{};
    std::array<Outcome, 4> outcomes{};
    const std::span<const Hash> batch(keys.data(), step.batch);
    const std::span<std::uint8_t> out(answers.data(), step.batch);
    const std::span<Outcome> ended(outcomes.data(), step.batch);
    const std::uint64_t start = tickets_.draw();
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
    const std::uint64_t end = tickets_.draw();
    for (unsigned i = 0; i < step.batch; ++i) {
      parts[i].thread = static_cast<std::uint8_t>(thread_);
      parts[i].answer = answers[i];
      parts[i].start = start;
      parts[i].end = end;
      if (is_insert) parts[i].outcome = outcomes[i];
      if (is_insert && outcomes[i] == Outcome::stored) ++own_[parts[i].key];
      if (step.kind == Kind::erase && own_[parts[i].key] > 0) own_[parts[i].key] -= answers[i];
      operations_.push_back(parts[i]);
    }
  }

  F& filter_;
  const Scene& scene_;
  Tickets& tickets_;
  int thread_;
  std::array<int, kMaxClasses> own_{};  // copies that this thread may erase
  std::vector<Operation> operations_;
};

}  // namespace nestline::test

#endif  // NESTLINE_TESTS_FILTERS_CONCURRENT_HISTORY_PLAYER_H_
