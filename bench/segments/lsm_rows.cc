// A small LSM whose lookups ask one maplet for all runs, beside a filter for each run. All indexes
// are kept for one LSM, which is compared with std::map.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bench/filters/others/blocked_bloom.h"
#include "bench/filters/others/prefetched.h"
#include "bench/segments/run_indexes.h"
#include "bench/segments/segments.h"
#include "bench/segments/small_lsm.h"
#include "bench/support/benchmarks.h"
#include "bench/support/ceiling.h"
#include "bench/support/workload.h"
#include "nestline/filter.h"
#include "nestline/maplet.h"

namespace nestline::bench {
namespace {

// Questions of a row: more where few are answered from files.
constexpr std::uint64_t kQuestions = 20'000;
constexpr std::uint64_t kQuestionsForAbsent = 200'000;
constexpr std::size_t kAskedAtOnce = 256;  // in a batch
enum class Asked { absent, present, erased };
constexpr std::pair<Asked, const char*> kAsked[] = {
    {Asked::absent, "absent"}, {Asked::present, "present"}, {Asked::erased, "erased"}};

// An index, and the keys that it was told of: at the start, by flushes, by compactions.
struct Contestant {
  std::string name;
  std::unique_ptr<RunIndex> index;
  Side started = {};
  Side flushed = {};
  Side compacted = {};
};

// A maplet, and what it is compared with.
struct Group {
  MapletKind kind;
  std::vector<Contestant> contestants;  // the maplet first
  [[nodiscard]] const MapletIndex& maplet() const {
    return static_cast<const MapletIndex&>(*contestants.front().index);
  }
};

// Three tiers of runs, full but for the last. A quarter of all records are written after the
// indexes were made from the files.
struct Plan {
  Plan(std::size_t run_count, std::uint64_t records) : runs(run_count) {
    const std::size_t full = (runs + 2) / 3;
    fan_out = full + 1;
    const std::size_t flushes = ((runs - 2 * full) * fan_out + full) * fan_out + full;
    memtable = std::max<std::size_t>(records / flushes, 1);
    written = memtable * flushes;
  }
  std::size_t runs;
  std::size_t fan_out;
  std::size_t memtable;
  std::uint64_t written;
};

class Scene {
 public:
  Scene(const SegmentsSettings& settings, std::size_t runs)
      : plan_(runs, settings.records), lsm_(settings.folder, plan_.memtable, plan_.fan_out) {
    std::uint64_t flushed = 0;
    lsm_.watch([&](std::uint64_t, std::span<const std::uint64_t> keys) { flushed += keys.size(); },
               {});
    while (flushed < plan_.written / 4 * 3) write_one();
    // As many pairs as there can be.
    make_indexes(lsm_.records() + plan_.written - flushed);
    each([&](Contestant& one) {
      lsm_.each_run([&](std::uint64_t run, std::span<const std::uint64_t> keys) {
        time(one.started, keys.size(), [&] { one.index->add(run, keys); });
      });
    });
    lsm_.watch(
        [&](std::uint64_t run, std::span<const std::uint64_t> keys) {
          flushed += keys.size();
          each([&](Contestant& one) {
            time(one.flushed, keys.size(), [&] { one.index->add(run, keys); });
          });
        },
        [&](const Compaction& compaction) {
          each([&](Contestant& one) {
            time(one.compacted, compaction.keys.size(), [&] { one.index->compact(compaction); });
          });
        });
    while (flushed < plan_.written) write_one();
    lsm_.watch({}, {});
  }

  [[nodiscard]] std::size_t runs() const { return plan_.runs; }
  [[nodiscard]] const SmallLsm& lsm() const { return lsm_; }
  [[nodiscard]] const Group& group(const MapletKind& kind) const {
    return *std::ranges::find(groups_, kind.name, [](const Group& g) { return g.kind.name; });
  }

  // Keys, and the stamps that are right.
  struct Questions {
    std::vector<std::uint64_t> keys;
    std::vector<std::uint64_t> stamps;
  };
  [[nodiscard]] Questions draw(Asked asked, std::size_t count) const {
    Questions questions;
    std::mt19937_64 random(count + static_cast<std::size_t>(asked));
    while (questions.keys.size() < count) {
      const std::uint64_t number = random() % next_;
      const std::uint64_t key = mixed(asked == Asked::absent ? kAbsent + number : number);
      const auto found = model_.find(key);
      const std::uint64_t stamp = found == model_.end() ? 0 : found->second;
      if ((stamp != 0) != (asked == Asked::present)) continue;
      questions.keys.push_back(key);
      questions.stamps.push_back(stamp);
    }
    return questions;
  }
  // All keys that were ever written.
  [[nodiscard]] Questions all() const {
    Questions questions;
    for (const auto& [key, stamp] : model_) {
      questions.keys.push_back(key);
      questions.stamps.push_back(stamp);
    }
    return questions;
  }

 private:
  // One in a hundred is a key of 64 that are written all the time, so that they are in most runs.
  void write_one() {
    const std::uint64_t chance = random_() % 100;
    const bool is_new = next_ == 0 || chance < 70;
    const std::uint64_t number = is_new         ? next_++
                                 : chance == 70 ? random_() % std::min<std::uint64_t>(64, next_)
                                                : random_() % next_;
    const std::uint64_t key = mixed(number);
    const std::uint64_t stamp = is_new || chance < 85 ? ++stamp_ : 0;
    model_[key] = stamp;
    lsm_.put(key, stamp);
  }
  void make_indexes(std::uint64_t pairs) {
    for (const MapletKind& kind : kMapletKinds) {
      // One run more while runs are compacted, and none is `anywhere`.
      if (3 * plan_.fan_out + 1 > (std::size_t{1} << kind.value_bits) - 1) continue;
      if (plan_.runs <= 8 && kind.value_bits > 4) continue;
      auto maplet = std::make_unique<MapletIndex>(kind.options(pairs));
      const double equal =
          static_cast<double>(maplet->memory_bytes()) * 8 / static_cast<double>(pairs);
      Group& group = groups_.emplace_back(Group{kind, {}});
      group.contestants.push_back({"maplet", std::move(maplet)});
      group.contestants.push_back({"filters", filter_index<Filter>([](auto keys) {
                                     return Filter::build(
                                         {.capacity = keys.size(), .bits = 8, .seed = 1}, keys);
                                   })});
      const auto add_blooms = [&group](const char* name, double bits) {
        group.contestants.push_back({name, filter_index<BlockedBloom>([bits](auto keys) {
                                       const auto bytes = static_cast<std::size_t>(
                                           bits / 8 * static_cast<double>(keys.size()));
                                       BlockedBloom filter(std::max<std::size_t>(bytes, 32));
                                       filter.insert(keys);
                                       return filter;
                                     })});
      };
      add_blooms("blooms", 10);
      add_blooms("equal_blooms", equal);
    }
  }
  template <typename Work>
  void each(Work&& work) {
    for (Group& group : groups_) {
      for (Contestant& one : group.contestants) work(one);
    }
  }
  template <typename Work>
  static void time(Side& side, std::size_t keys, Work&& work) {
    const double start = now();
    work();
    side.add(keys, now() - start);
  }

  Plan plan_;
  SmallLsm lsm_;
  std::map<std::uint64_t, std::uint64_t> model_;  // stamps of keys, 0 where erased
  std::vector<Group> groups_;
  std::mt19937_64 random_{5};
  std::uint64_t next_ = 0;  // number of the next new key
  std::uint64_t stamp_ = 0;
};

// Kept for the next benchmark with as many runs.
const Scene& scene_of(const SegmentsSettings& settings, std::size_t runs) {
  static std::unique_ptr<Scene> kept;
  if (kept == nullptr || kept->runs() != runs) {
    kept.reset();
    kept = std::make_unique<Scene>(settings, runs);
  }
  return *kept;
}

// The stamps that an index leads to, and how many blocks were read for them.
std::uint64_t ask(const Scene& scene, const RunIndex& index, Form form,
                  std::span<const std::uint64_t> keys, std::vector<std::uint64_t>& stamps) {
  std::uint64_t reads = 0;
  stamps.resize(keys.size());
  for (std::size_t at = 0; at < keys.size(); at += kAskedAtOnce) {
    const auto some = keys.subspan(at, std::min(kAskedAtOnce, keys.size() - at));
    const auto to = std::span(stamps).subspan(at, some.size());
    if (form == Form::batch) {
      scene.lsm().get(some, index, to, reads);
      continue;
    }
    for (std::size_t i = 0; i < some.size(); ++i) {
      to[i] = scene.lsm().get(some[i], index, reads);
    }
  }
  return reads;
}

// Every key that was ever written, and as many that were not.
void answers(benchmark::State& state, const Scene& scene, const Group& group) {
  Scene::Questions all = scene.all();
  const Scene::Questions absent = scene.draw(Asked::absent, all.keys.size());
  all.keys.insert(all.keys.end(), absent.keys.begin(), absent.keys.end());
  all.stamps.insert(all.stamps.end(), absent.stamps.begin(), absent.stamps.end());
  std::vector<std::uint64_t> stamps;
  for (auto _ : state) {
    for (const Contestant& one : group.contestants) {
      const double start = now();
      for (const Form form : {Form::single, Form::batch}) {
        ask(scene, *one.index, form, all.keys, stamps);
        if (stamps != all.stamps) state.SkipWithError(("a wrong answer by " + one.name).c_str());
      }
      state.SetIterationTime(now() - start);
    }
  }
  const MapletIndex& maplet = group.maplet();
  if (maplet.maplet().size() > scene.lsm().records()) {
    state.SkipWithError("a pair of a run that is no more");
  }
  for (const Contestant& one : group.contestants) {
    state.counters[one.name + "_bits"] = static_cast<double>(one.index->memory_bytes()) * 8 /
                                         static_cast<double>(scene.lsm().records());
  }
  state.counters["runs"] = static_cast<double>(scene.lsm().run_count());
  state.counters["load"] = maplet.maplet().load_factor();
  state.counters["anywhere"] = static_cast<double>(maplet.anywhere());
}

// Keys a second that the index was told of, as a multiple of those of the others.
void updates(benchmark::State& state, const Group& group) {
  for (auto _ : state) state.SetIterationTime(group.contestants.front().started.seconds());
  // Flushes are alike. Runs and compactions are not.
  const auto counters = [&](const std::string& what, Side Contestant::*side,
                            double (Side::*rate_of)() const) {
    const double rate = ((group.contestants.front().*side).*rate_of)();
    state.counters[what] = rate;
    for (const Contestant& one : std::span(group.contestants).subspan(1)) {
      state.counters[what + "_of_" + one.name] = rate / ((one.*side).*rate_of)();
    }
  };
  counters("start", &Contestant::started, &Side::mean_rate);
  counters("flush", &Contestant::flushed, &Side::rate);
  counters("compaction", &Contestant::compacted, &Side::mean_rate);
}

void lookups(benchmark::State& state, const Scene& scene, const Group& group, Asked asked,
             Form form) {
  const std::uint64_t most = asked == Asked::absent ? kQuestionsForAbsent : kQuestions;
  const Scene::Questions questions = scene.draw(asked, std::min(most, scene.lsm().records()));
  Contest contest;
  for (const Contestant& one : group.contestants) {
    std::vector<std::uint64_t> stamps;
    const std::uint64_t reads = ask(scene, *one.index, form, questions.keys, stamps);
    state.counters[one.name + "_reads"] =
        static_cast<double>(reads) / static_cast<double>(questions.keys.size());
    contest.add(one.name, [&, stamps]() mutable {
      benchmark::DoNotOptimize(ask(scene, *one.index, form, questions.keys, stamps));
      if (stamps != questions.stamps) {
        state.SkipWithError(("a wrong answer by " + one.name).c_str());
      }
      return questions.keys.size();
    });
  }
  for (auto _ : state) contest.round(state);
  contest.report(state);
}

}  // namespace

void add_small_lsm(const SegmentsSettings& settings) {
  for (const std::size_t runs : {std::size_t{8}, std::size_t{32}}) {
    for (const MapletKind& kind : kMapletKinds) {
      if ((runs <= 8) != (kind.value_bits == 4)) continue;
      const std::string begin = "lsm/runs:" + std::to_string(runs) + "/maplet:" + kind.name + "/";
      const auto add_one = [&](const std::string& name, int rounds, auto&& body) {
        add(begin + name, [=](benchmark::State& state) {
          const Scene& scene = scene_of(settings, runs);
          body(state, scene, scene.group(kind));
        })->Iterations(rounds);
      };
      add_one("answers", 1, answers);
      add_one("updates", 1, [](benchmark::State& state, const Scene&, const Group& group) {
        updates(state, group);
      });
      for (const auto& [asked, which] : kAsked) {
        for (const Form form : {Form::single, Form::batch}) {
          const Asked what = asked;  // no binding in a lambda
          add_one(std::string(form == Form::single ? "get/" : "get_many/") + which, 7,
                  [=](benchmark::State& state, const Scene& scene, const Group& group) {
                    lookups(state, scene, group, what, form);
                  });
        }
      }
    }
  }
}

}  // namespace nestline::bench
