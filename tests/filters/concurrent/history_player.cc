#include "tests/filters/concurrent/history_player.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace nestline::test {

std::vector<Script> make_scripts(const Scene& scene, int threads, Random& random) {
  int grows = 2;  // fewer than every width allows, with those that an insert makes
  const auto classes = static_cast<std::uint8_t>(scene.classes.size());
  const auto any_key = [&] {
    // The first two tracked classes are the interesting ones: partners, where there are any.
    const auto key = random() % 4 == 0 ? 1 + random() % (classes - 1u) : 1 + random() % 2;
    return static_cast<std::uint8_t>(key);
  };
  const auto any_step = [&] {
    Step step{Kind::may_contain, any_key(), any_key(), static_cast<std::uint8_t>(random()), 1};
    const std::uint64_t what = random() % 100;
    if (what < 24) {
      step.kind = Kind::insert;
    } else if (what < 46) {
      step.kind = Kind::erase;
    } else if (what < 56) {
      step.kind = Kind::insert_unique;
    } else if (what < 66) {
      step.kind = Kind::update;
    } else if (what < 76) {
      step.kind = Kind::count;
    } else if (what < 84 && !scene.fillers.empty()) {
      step.key = 0;
    }
    if (random() % 8 == 0 && step.key != 0 && step.kind != Kind::update) {
      // At most one key of each class, so that a thread erases no more than it may.
      step.batch =
          static_cast<std::uint8_t>(std::min<std::uint64_t>(2 + random() % 2, classes - 1u));
    }
    const std::uint64_t whole = random() % 16;
    if (scene.family == Family::growing && whole == 0 && grows-- > 0) step.kind = Kind::grow;
    if (scene.family == Family::growing && whole == 1) step.kind = Kind::shrink;
    if (scene.family == Family::clearing && whole < 2) step.kind = Kind::clear;
    if (scene.family == Family::whole && whole == 0) step.kind = Kind::merge;
    if (scene.family == Family::whole && (whole == 1 || whole == 2)) step.kind = Kind::snapshot;
    if (step.kind >= Kind::grow) step.batch = 1;
    if (step.kind == Kind::update && scene.loose[step.old_key]) step.kind = Kind::insert_unique;
    return step;
  };

  std::vector<Script> scripts(static_cast<std::size_t>(threads));
  for (Script& script : scripts) {
    for (std::uint64_t steps = 2 + random() % 5; steps > 0; --steps) script.push_back(any_step());
  }
  // No more operations than a history may have, the last look included.
  std::size_t room = kMaxOperations - 1;
  for (const Script& script : scripts) room -= script.size();
  for (Script& script : scripts) {
    for (Step& step : script) {
      const std::size_t more = step.batch - 1u;
      if (more > room) step.batch = 1;
      room -= more > room ? 0 : more;
    }
  }
  // Every third time one thread alone stores and erases single keys.
  const bool alone = random() % 3 == 0;
  for (std::size_t thread = 1; alone && thread < scripts.size(); ++thread) {
    for (Step& step : scripts[thread]) {
      if (step.kind < Kind::count) step.kind = random() % 4 == 0 ? Kind::count : Kind::may_contain;
    }
  }
  // Every other time one thread inserts and erases one key, and another asks for its partner.
  if (random() % 2 == 0) {
    const std::uint8_t written = random() % 2 == 0 ? 1 : 2;
    for (std::size_t i = 0; i < scripts[0].size(); ++i) {
      scripts[0][i] = {i % 2 == 0 ? Kind::insert : Kind::erase, written, 0, 0, 1};
    }
    const auto asked = static_cast<std::uint8_t>(3 - written);
    for (Step& step : scripts[1]) step = {Kind::may_contain, asked, 0, 1, 1};
  }
  return scripts;
}

}  // namespace nestline::test
