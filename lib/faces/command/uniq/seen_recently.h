// Tells lines that were not seen for a while from the others. A line goes into the newest
// generation in any case, and is new if it was alive neither there nor in an older one: so a line
// that is seen again is remembered for a whole while. An older generation gets no more lines and is
// dropped when its last one is dead. A new one, twice as large, begins when the newest is full.
// With a capacity there is only one. A while has kTicks ticks.
#ifndef NESTLINE_LIB_FACES_COMMAND_UNIQ_SEEN_RECENTLY_H_
#define NESTLINE_LIB_FACES_COMMAND_UNIQ_SEEN_RECENTLY_H_

#include <chrono>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "lib/faces/command/uniq/seen_set.h"

namespace nestline { inline namespace v0_3 { namespace command {

class SeenRecently : public SeenSet<ExpiringFilter> {
 public:
  static constexpr unsigned kTicks = ExpiringFilter::kMaxTtlTicks;

  /// Of its parts, where it has some. Throws as SeenLines.
  explicit SeenRecently(const SeenOptions& options, Generations generations = {})
      : SeenSet(options, std::move(generations)) {}

  void advance(std::uint64_t ticks);

  Selected select_new(std::span<const Hash> lines, std::span<std::uint32_t> positions);

 private:
  // Lines for which the newest generation has room.
  std::uint64_t room();
  // Puts at most room() lines into the newest generation, and sets new_: which were not in it.
  void put(std::span<const Hash> lines);
  void put_elsewhere(Hash line);

  std::vector<std::uint8_t> new_ = std::vector<std::uint8_t>(kChunkLines);
  std::vector<std::uint8_t> full_ = new_;
  std::vector<Outcome> outcomes_ = std::vector<Outcome>(kChunkLines);
};

class TickClock {
 public:
  /// In a tick that began `into` ago.
  explicit TickClock(std::chrono::nanoseconds tick, std::chrono::nanoseconds into = {})
      : tick_(tick), begin_(std::chrono::steady_clock::now() - into) {}

  /// How many ticks have passed since the last call, or since the beginning.
  std::uint64_t pass() {
    const auto ticks = into() / tick_;
    begin_ += ticks * tick_;
    return static_cast<std::uint64_t>(ticks);
  }

  /// How long ago the present tick began, as pass() counts.
  [[nodiscard]] std::chrono::nanoseconds into() const {
    return std::chrono::steady_clock::now() - begin_;
  }

 private:
  std::chrono::nanoseconds tick_;
  std::chrono::steady_clock::time_point begin_;
};

}}}  // namespace nestline::command

#endif  // NESTLINE_LIB_FACES_COMMAND_UNIQ_SEEN_RECENTLY_H_
