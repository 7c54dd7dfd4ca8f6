// Plays random scripts on a filter with several threads and records what happened.
#ifndef NESTLINE_TESTS_FILTERS_CONCURRENT_HISTORY_RUNNER_H_
#define NESTLINE_TESTS_FILTERS_CONCURRENT_HISTORY_RUNNER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/filters/concurrent/history.h"
#include "tests/filters/concurrent/history_player.h"
#include "tests/filters/concurrent/history_scene.h"
#include "tests/support/histories.h"

namespace nestline::test {

// A filter on which one history is played.
template <class F>
class Stage {
 public:
  Stage(Family family, int bits, std::uint64_t seed, int threads, Placement placement)
      : scene_(make_scene(family, bits, seed, placement)) {
    Random random(seed ^ 0x5cc17e5);
    scripts_ = make_scripts(scene_, threads, random);
    // Moved out of the scene; what remains of the scene is what the players look up.
    filter_.emplace(std::move(*scene_.filter));
    scene_.filter.reset();
    for (int thread = 0; thread < threads; ++thread) {
      players_.emplace_back(*filter_, scene_, recorder_, thread, threads);
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
    Operation look;
    look.kind = Kind::snapshot;
    recorder_.record(kMaxThreads, look, [&](Operation& one) {
      players_[0].describe(*filter_, one.copies);
      one.others = filter_->size();
    });
    history.operations = recorder_.all();
    return history;
  }

 private:
  Scene scene_;
  std::optional<F> filter_;
  Recorder<Operation> recorder_;
  std::vector<Script> scripts_;
  std::vector<Player<F>> players_;
};

// Plays histories of a family. F is ConcurrentFilter, or anything with its operations on
// hashes.
template <class F>
Verdict play_histories(Crew& crew, Family family, int bits, std::uint64_t first_seed,
                       std::uint64_t count, bool until_failure = false,
                       Placement placement = Placement::anywhere) {
  return play_stages(crew, count, until_failure, [&](std::uint64_t i, int threads) {
    return std::make_unique<Stage<F>>(family, bits, first_seed + i, threads, placement);
  });
}

}  // namespace nestline::test

#endif  // NESTLINE_TESTS_FILTERS_CONCURRENT_HISTORY_RUNNER_H_
