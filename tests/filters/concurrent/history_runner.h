// Plays random scripts on a filter with several threads and records what happened.
//
// The threads live as long as the crew: starting one takes longer than a thousand operations.
// Scripts are made and histories are checked while the crew sleeps; then it plays a whole round of
// histories, meeting at a barrier before each. Random spins and yields before operations, and
// inside them where the library calls `perturb`, make the operations overlap in many ways, also
// when there are more threads than cores.
#ifndef NESTLINE_TESTS_FILTERS_CONCURRENT_HISTORY_RUNNER_H_
#define NESTLINE_TESTS_FILTERS_CONCURRENT_HISTORY_RUNNER_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/filters/concurrent/history.h"
#include "tests/filters/concurrent/history_player.h"
#include "tests/filters/concurrent/history_scene.h"

namespace nestline::test {

inline constexpr int kMaxThreads = 4;

// Meeting point of `count` threads, spinning at first and then yielding.
class SpinBarrier {
 public:
  explicit SpinBarrier(int count) : count_(count) {}
  void wait();

 private:
  const int count_;
  std::atomic<int> waiting_{0};
  std::atomic<unsigned> round_{0};
};

// Threads that together run one piece of work after the other.
class Crew {
 public:
  Crew();
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  // Calls work(thread) in this many of the threads; returns when all have returned.
  void run(int threads, const std::function<void(int)>& work);

 private:
  void wake(int threads);

  const std::function<void(int)>* work_ = nullptr;
  bool leaving_ = false;  // like work_, read after rounds_ has been raised
  std::array<std::atomic<unsigned>, kMaxThreads> rounds_{};  // of each thread
  std::atomic<int> done_{0};
  std::vector<std::thread> threads_;
};

// A filter on which one history is played.
template <class F>
class Stage {
 public:
  Stage(Family family, int bits, std::uint64_t seed, int threads)
      : scene_(make_scene(family, bits, seed)) {
    Random random(seed ^ 0x5cc17e5);
    scripts_ = make_scripts(scene_, threads, random);
    // Moved out of the scene; what remains of the scene is what the players look up.
    filter_.emplace(std::move(*scene_.filter));
    scene_.filter.reset();
    for (int thread = 0; thread < threads; ++thread) {
      players_.emplace_back(*filter_, scene_, tickets_, thread, threads);
    }
  }
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  void play(std::size_t thread) { players_[thread].play(scripts_[thread]); }
  // After all threads have played.
  bool is_right(std::string* reason) { return is_linearizable(history(), reason); }

  // After all threads have played: the history, with a last look at everything at its end.
  [[nodiscard]] History history() {
    History history;
    history.seed = scene_.seed;
    history.scene = scene_.name;
    history.classes = scene_.classes;
    history.copies = scene_.copies;
    history.others = scene_.others();
    history.choices = scene_.choices;
    history.full_from = scene_.full_from;
    for (const auto& player : players_) {
      history.operations.insert(history.operations.end(), player.operations().begin(),
                                player.operations().end());
    }
    Operation look;
    look.kind = Kind::snapshot;
    look.thread = kMaxThreads;  // the checking thread
    look.start = tickets_.draw();
    players_[0].describe(*filter_, look.copies);
    look.others = filter_->size();
    look.end = tickets_.draw();
    history.operations.push_back(look);
    return history;
  }
  F& filter() { return *filter_; }
  const Scene& scene() const { return scene_; }

 private:
  Scene scene_;
  std::optional<F> filter_;
  Tickets tickets_;
  std::vector<Script> scripts_;
  std::vector<Player<F>> players_;
};

struct Verdict {
  std::uint64_t played = 0;
  std::uint64_t failed = 0;
  std::string first_failure;
};

// Plays `count` histories, or fewer when one fails and `until_failure` is set. make(i, threads)
// returns the stage of number i, which is played on by so many threads, as a pointer.
template <typename Make>
Verdict play_stages(Crew& crew, std::uint64_t count, bool until_failure, Make&& make) {
  constexpr std::uint64_t kRound = 64;
  Verdict verdict;
  for (std::uint64_t at = 0; at < count; at += kRound) {
    const int threads = 2 + static_cast<int>(at / kRound % (kMaxThreads - 1));
    std::vector<decltype(make(at, threads))> stages;
    for (std::uint64_t i = at; i < at + kRound && i < count; ++i) {
      stages.push_back(make(i, threads));
    }
    SpinBarrier barrier(threads);
    crew.run(threads, [&](int thread) {
      for (auto& stage : stages) {
        barrier.wait();
        stage->play(static_cast<std::size_t>(thread));
      }
    });
    for (auto& stage : stages) {
      ++verdict.played;
      std::string reason;
      if (stage->is_right(&reason)) continue;
      if (verdict.failed++ == 0) verdict.first_failure = reason;
    }
    if (until_failure && verdict.failed != 0) break;
  }
  return verdict;
}

// The same for histories of a family. F is ConcurrentFilter, or anything with its operations on
// hashes.
template <class F>
Verdict play_histories(Crew& crew, Family family, int bits, std::uint64_t first_seed,
                       std::uint64_t count, bool until_failure = false) {
  return play_stages(crew, count, until_failure, [&](std::uint64_t i, int threads) {
    return std::make_unique<Stage<F>>(family, bits, first_seed + i, threads);
  });
}

}  // namespace nestline::test

#endif  // NESTLINE_TESTS_FILTERS_CONCURRENT_HISTORY_RUNNER_H_
