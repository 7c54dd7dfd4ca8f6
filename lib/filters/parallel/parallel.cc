// Builds and batches of one filter on oneTBB's threads. Each piece of the keys is a batch of its
// own.
#include <tbb/enumerable_thread_specific.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <stdexcept>
#include <vector>

#include "lib/filters/concurrent/reclaim.h"
#include "lib/filters/filter/batch.h"
#include "lib/filters/filter/bulk_build.h"
#include "lib/filters/parallel/parallel_tasks.h"
#include "nestline/mapped_filter.h"

namespace nestline { inline namespace v0_3 { namespace parallel {
namespace {

// Keys of a piece: many times as long as starting a task, but a few hundred microseconds at most,
// so that threads end together; whole words of a bitmap, and whole chunks of the kernels.
constexpr std::size_t kPiece = 16384;
static_assert(kPiece % 64 == 0);

std::size_t piece_count(std::size_t keys) { return keys / kPiece + (keys % kPiece != 0); }

// Calls work(piece, first, count) for each piece of `keys` keys, on all threads; returns the sum.
template <typename Work>
std::size_t sum_of_pieces(std::size_t keys, const Work& work) {
  std::atomic<std::size_t> sum = 0;
  for_each_task(piece_count(keys), [&](std::size_t piece) {
    const std::size_t first = piece * kPiece;
    sum += work(piece, first, std::min(kPiece, keys - first));
  });
  return sum;
}

// A changing batch. `changed` is Result{} for the keys of skipped pieces.
template <typename Result, typename Change>
std::size_t change_all(const char* name, KeySpan keys, std::span<Result> changed,
                       const Change& change) {
  check_optional_length(name, changed.size(), keys.size());
  refuse_in_section();  // other threads may wait for this one, which waits for them
  std::fill(changed.begin(), changed.end(), Result{});
  return sum_of_pieces(keys.size(), [&](std::size_t, std::size_t first, std::size_t count) {
    return change(keys.subspan(first, count),
                  changed.empty() ? changed : changed.subspan(first, count));
  });
}

template <class AnyFilter>
std::size_t may_contain_all(const AnyFilter& filter, KeySpan keys, std::span<std::uint8_t> out) {
  check_length("out", out.size(), keys.size());
  return sum_of_pieces(keys.size(), [&](std::size_t, std::size_t first, std::size_t count) {
    return filter.may_contain(keys.subspan(first, count), out.subspan(first, count));
  });
}

// Keeps the answers as bits, since a piece's positions begin where those before it end.
template <class AnyFilter>
std::size_t select_all(const AnyFilter& filter, KeySpan keys, std::span<std::uint32_t> positions) {
  check_length("positions", positions.size(), keys.size());
  check_positions(keys.size());
  if (keys.size() <= kPiece) return filter.select(keys, positions);

  const auto bitmap = std::make_unique_for_overwrite<std::uint64_t[]>((keys.size() + 63) / 64);
  std::vector<std::size_t> starts(piece_count(keys.size()));
  const auto words_of = [&](std::size_t first, std::size_t count) {
    return std::span(bitmap.get() + first / 64, (count + 63) / 64);
  };
  const std::size_t total =
      sum_of_pieces(keys.size(), [&](std::size_t piece, std::size_t first, std::size_t count) {
        return starts[piece] =
                   filter.may_contain_bits(keys.subspan(first, count), words_of(first, count));
      });
  std::exclusive_scan(starts.begin(), starts.end(), starts.begin(), std::size_t{0});
  sum_of_pieces(keys.size(), [&](std::size_t piece, std::size_t first, std::size_t count) {
    std::uint32_t* to = positions.data() + starts[piece];
    for (const std::uint64_t word : words_of(first, count)) {
      for_each_bit(word, first, [&](std::size_t i) { *to++ = static_cast<std::uint32_t>(i); });
      first += 64;
    }
    return std::size_t{0};
  });
  return total;
}

// The tasks of bulk_build.h.
class Tasks final : public BuildTasks {
  [[nodiscard]] bool are_on_one_thread() const override { return false; }
  void for_each(std::size_t count, const Work& work) override {
    for_each_task(count, [&](std::size_t i) { work(i, scratch_.local()); });
  }
  tbb::enumerable_thread_specific<BuildScratch> scratch_;
};

}  // namespace

Cancelled::Cancelled()
    : std::runtime_error("the caller's task group was cancelled before all keys had their turn") {}

Filter build(const Options& options, KeySpan keys, std::span<Outcome> outcomes) {
  Tasks tasks;
  return build_in_bulk(options, keys, outcomes, tasks);
}

std::size_t insert(ConcurrentFilter& filter, KeySpan keys, std::span<Outcome> outcomes) {
  return change_all("outcomes", keys, outcomes, [&](KeySpan part, std::span<Outcome> done) {
    return filter.insert(part, done);
  });
}

std::size_t erase(ConcurrentFilter& filter, KeySpan keys, std::span<std::uint8_t> erased) {
  return change_all("erased", keys, erased, [&](KeySpan part, std::span<std::uint8_t> done) {
    return filter.erase(part, done);
  });
}

std::size_t may_contain(const Filter& filter, KeySpan keys, std::span<std::uint8_t> out) {
  return may_contain_all(filter, keys, out);
}
std::size_t may_contain(const ConcurrentFilter& filter, KeySpan keys, std::span<std::uint8_t> out) {
  return may_contain_all(filter, keys, out);
}
std::size_t may_contain(const MappedFilter& filter, KeySpan keys, std::span<std::uint8_t> out) {
  return may_contain_all(filter, keys, out);
}

std::size_t select(const Filter& filter, KeySpan keys, std::span<std::uint32_t> positions) {
  return select_all(filter, keys, positions);
}
std::size_t select(const ConcurrentFilter& filter, KeySpan keys,
                   std::span<std::uint32_t> positions) {
  return select_all(filter, keys, positions);
}
std::size_t select(const MappedFilter& filter, KeySpan keys, std::span<std::uint32_t> positions) {
  return select_all(filter, keys, positions);
}

}}}  // namespace nestline::parallel
