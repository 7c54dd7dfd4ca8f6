// Indexes of the runs of a small LSM: one maplet for all, or a filter for each.
#ifndef NESTLINE_BENCH_SEGMENTS_RUN_INDEXES_H_
#define NESTLINE_BENCH_SEGMENTS_RUN_INDEXES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "bench/segments/small_lsm.h"
#include "nestline/filter.h"
#include "nestline/maplet.h"
#include "nestline/outcome.h"

namespace nestline::bench {

// docs/SEGMENTS.md has the rules that this follows.
class MapletIndex final : public RunIndex {
 public:
  explicit MapletIndex(const MapletOptions& options) : maplet_(options) {}

  void add(std::uint64_t run, std::span<const std::uint64_t> keys) override {
    const std::vector<std::uint64_t> runs(keys.size(), run);
    std::vector<Outcome> outcomes(keys.size());
    if (maplet_.insert(keys, runs, outcomes) == keys.size()) return;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (outcomes[i] == Outcome::stored) continue;
      // In too many runs, so in any.
      if (!maplet_.insert(keys[i], maplet_.anywhere())) throw std::runtime_error("a full maplet");
      ++anywhere_;
    }
  }
  void compact(const Compaction& compaction) override {
    // False where the pair has become a part of `anywhere`.
    for (const Dropped& dropped : compaction.dropped) (void)maplet_.erase(dropped.key, dropped.run);
    std::vector<std::uint64_t> table(std::ranges::max(compaction.from) + 1);
    for (std::uint64_t run = 0; run < table.size(); ++run) table[run] = run;
    for (const std::uint64_t run : compaction.from) table[run] = compaction.to;
    maplet_.rename(table);
  }
  void search(std::uint64_t key, std::span<const std::uint64_t> runs,
              const Read& read) const override {
    search_set(maplet_.find_set(key), 0, runs, read);
  }
  void search(std::span<const std::uint64_t> keys, std::span<const std::uint64_t> runs,
              const Read& read) const override {
    std::vector<std::uint64_t> sets(keys.size());
    maplet_.find_sets(keys, sets);
    for (std::size_t i = 0; i < keys.size(); ++i) search_set(sets[i], i, runs, read);
  }
  [[nodiscard]] std::size_t memory_bytes() const override { return maplet_.memory_bytes(); }
  [[nodiscard]] const Maplet& maplet() const { return maplet_; }
  // Pairs that had no place of their own.
  [[nodiscard]] std::uint64_t anywhere() const { return anywhere_; }

 private:
  static void search_set(std::uint64_t set, std::size_t i, std::span<const std::uint64_t> runs,
                         const Read& read) {
    for (std::size_t at = 0; set != 0 && at < runs.size(); ++at) {
      const std::uint64_t bit = std::uint64_t{1} << runs[at];
      if ((set & bit) == 0) continue;
      if (read(i, at)) return;
      set &= ~bit;
    }
  }

  Maplet maplet_;
  std::uint64_t anywhere_ = 0;
};

// make(keys) returns a filter of these keys.
template <class AnyFilter, typename Make>
class FilterIndex final : public RunIndex {
 public:
  explicit FilterIndex(Make make) : make_(std::move(make)) {}

  void add(std::uint64_t run, std::span<const std::uint64_t> keys) override {
    if (filters_.size() <= run) filters_.resize(run + 1);
    filters_[run] = std::make_unique<AnyFilter>(make_(keys));
  }
  void compact(const Compaction& compaction) override {
    for (const std::uint64_t run : compaction.from) filters_[run].reset();
    add(compaction.to, compaction.keys);
  }
  void search(std::uint64_t key, std::span<const std::uint64_t> runs,
              const Read& read) const override {
    for (std::size_t at = 0; at < runs.size(); ++at) {
      if (filters_[runs[at]]->may_contain(key) && read(0, at)) return;
    }
  }
  void search(std::span<const std::uint64_t> keys, std::span<const std::uint64_t> runs,
              const Read& read) const override {
    std::vector<std::uint64_t> left(keys.begin(), keys.end());
    std::vector<std::size_t> places(keys.size());
    for (std::size_t i = 0; i < places.size(); ++i) places[i] = i;
    std::vector<std::uint8_t> answers(keys.size());
    for (std::size_t at = 0; at < runs.size() && !left.empty(); ++at) {
      filters_[runs[at]]->may_contain(left, std::span(answers).first(left.size()));
      std::size_t kept = 0;
      for (std::size_t i = 0; i < left.size(); ++i) {
        if (answers[i] != 0 && read(places[i], at)) continue;
        left[kept] = left[i];
        places[kept++] = places[i];
      }
      left.resize(kept);
    }
  }
  [[nodiscard]] std::size_t memory_bytes() const override {
    std::size_t sum = 0;
    for (const auto& filter : filters_) sum += filter == nullptr ? 0 : filter->memory_bytes();
    return sum;
  }

 private:
  Make make_;
  std::vector<std::unique_ptr<AnyFilter>> filters_;
};

template <class AnyFilter, typename Make>
std::unique_ptr<RunIndex> filter_index(Make make) {
  return std::make_unique<FilterIndex<AnyFilter, Make>>(std::move(make));
}

}  // namespace nestline::bench

#endif  // NESTLINE_BENCH_SEGMENTS_RUN_INDEXES_H_
