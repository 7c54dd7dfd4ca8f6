// The value of a key that CF.RESERVE made with WINDOW: an expiring filter, whose items are found
// for as long as the window after they were added last. Plain C++: no server in here.
//
// Time is the filter's tick, a fourteenth of the window. The value reads no clock: advance() moves
// it on. Beside the tick it has two times. `time` is the wall clock's when the tick began, in
// milliseconds since 1970, or a later one that delay() has set; it is part of the image, so that
// the time between saving and loading counts. `begun` is the steady clock's of this process, not
// part of the image; what moves time on keeps it (lib/faces/redis/server/ticker.h). Nor is a set
// of the ticks in which something may die: an addition puts one in, and the tick that comes takes
// it out. So a tick that is not in it changes no answer. A loaded value that is not empty has all.
//
// An item is hashed once, to 64 bits, under the value's seed: hash_key(item, seed).
//
// Every change is a function of the value and the call: the same calls in the same order make the
// same bytes everywhere. For that every add counts, also of an item that is in it or finds no room,
// since it may sweep; and so does each sweep() with its number of blocks.
//
// docs/FORMAT.md, section 13, has the bytes of the image: a head, and pieces as those of image.h,
// of kind 0 and index 0, with the blocks and the next marks.
//
// While a value is loaded, time stands, and it takes no items: its blocks come in order.
//
// Thread safety: const members may run together; nothing else.
#ifndef NESTLINE_LIB_FACES_EMBED_VALUE_WINDOWED_VALUE_H_
#define NESTLINE_LIB_FACES_EMBED_VALUE_WINDOWED_VALUE_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <memory_resource>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/faces/embed/value/value.h"

namespace nestline { inline namespace v0_3 { namespace redis {

inline constexpr std::uint64_t kMaxWindow = 0xffffffff;  ///< The longest window, in seconds.
inline constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
/// The last tick, at which time stands, and the last time.
inline constexpr std::uint64_t kMaxTick = std::uint64_t{1} << 62;
inline constexpr std::uint64_t kMaxTime = std::uint64_t{1} << 62;

struct WindowSettings {
  std::uint64_t capacity = 0;
  double error = 0;  ///< 0: that of ExpiringOptions.
  std::uint64_t seed = 0;
  std::uint64_t window = 0;  ///< In seconds, 1 to kMaxWindow.
};

struct WindowedHead {
  Shape shape;
  double error = 0;
  std::uint64_t window = 0;
  std::uint64_t time = 0;
  std::uint64_t items = 0;
  std::uint64_t loaded = 0;

  /// How many pieces there are when all have come.
  [[nodiscard]] std::uint64_t pieces() const {
    return (shape.stored_bytes() + kPieceBytes - 1) / kPieceBytes;
  }
};

class WindowedValue {
 public:
  /// Ticks that an item lives, unless its add says otherwise.
  static constexpr unsigned kLife = ExpiringFilter::kMaxTtlTicks;
  /// For all versions, so that one command makes as many blocks on each server.
  static constexpr double kLoad = 0.9;

  /// An empty value at tick 0, which begins at `time`. Throws std::invalid_argument with a sentence
  /// that names the setting and its bounds, and std::bad_alloc. A ZeroedMemory is not touched.
  static std::unique_ptr<WindowedValue> create(const WindowSettings& settings, std::uint64_t time,
                                               std::pmr::memory_resource* memory = nullptr);

  /// Ticks that a life of so many seconds, 1 to window(), takes: rounded up.
  [[nodiscard]] unsigned life_of(std::uint64_t seconds) const noexcept;
  /// How long a tick takes, in microseconds, rounded up: so items live no shorter than the window.
  [[nodiscard]] std::int64_t tick_length() const noexcept;

  // Changes. Only of a value that is complete.
  /// As ExpiringFilter::insert.
  Outcome insert(std::string_view item, unsigned life = kLife) noexcept;
  /// The same for each item in order. Throws std::invalid_argument for other lengths, unchanged.
  void insert(std::span<const std::string_view> items, std::span<Outcome> outcomes);
  void insert(std::span<const std::uint64_t> hashes, std::span<Outcome> outcomes);
  void clear() noexcept;  ///< Takes everything out; time stays. O(memory).
  /// Moves on to `tick`, which began at `time`. False, nothing being changed, if that is not later
  /// than now, or later than kMaxTick. O(memory), unless it is the next and unswept() is small.
  bool advance(std::uint64_t tick, std::uint64_t time);
  /// Makes `time` that of the present tick. False, nothing being changed, if it is not later.
  bool delay(std::uint64_t time) noexcept;
  /// Does a slice of the sweep of the present tick, of about so many blocks.
  void sweep(std::uint64_t blocks) noexcept;

  // Lookups.
  [[nodiscard]] bool exists(std::string_view item) const noexcept;
  /// The same for many: out[i] is 1 or 0. Throws std::invalid_argument when the lengths differ.
  void exists(std::span<const std::string_view> items, std::span<std::uint8_t> out) const;
  void exists(std::span<const std::uint64_t> hashes, std::span<std::uint8_t> out) const;
  [[nodiscard]] const ExpiringFilter& filter() const noexcept { return filter_; }
  [[nodiscard]] std::uint64_t window() const noexcept { return window_; }
  [[nodiscard]] double error() const noexcept { return error_; }
  [[nodiscard]] std::uint64_t tick() const noexcept { return filter_.now(); }
  /// Blocks, and those that the sweep of this tick has still to pass.
  [[nodiscard]] std::uint64_t blocks() const noexcept {
    return shape_of(filter_).geometry.blocks();
  }
  [[nodiscard]] std::uint64_t unswept() const noexcept;
  /// After how many ticks, 1 to 15, the next item may die; none does before. 0: nothing is alive.
  [[nodiscard]] unsigned next_death() const noexcept;
  [[nodiscard]] std::size_t memory_bytes() const noexcept;
  /// For the server's choice where to free it.
  [[nodiscard]] std::size_t free_effort() const noexcept { return 1 + (memory_bytes() >> 20); }
  [[nodiscard]] std::unique_ptr<WindowedValue> copy() const;

  // Images.
  /// Whether these bytes begin as a head of this kind does.
  static bool is_head(std::span<const std::byte> bytes) noexcept;
  /// Nothing when any byte is wrong.
  static std::optional<WindowedHead> decode_head(std::span<const std::byte> bytes);
  /// How many pieces there are when all have come.
  [[nodiscard]] std::uint64_t pieces() const { return head().pieces(); }
  /// Piece `number`, of those in memory: also one that has not come yet. Throws std::bad_alloc.
  [[nodiscard]] std::vector<std::byte> piece(std::uint64_t number) const;
  /// As CuckooValue::dump_chunk: 0 gives the head. Only pieces that have come.
  [[nodiscard]] Chunk dump_chunk(std::uint64_t iterator) const;
  template <typename Each>
  void for_each_chunk(const Each& each) const {
    for (Chunk chunk = dump_chunk(0); chunk.next != 0; chunk = dump_chunk(chunk.next)) each(chunk);
  }

  /// A value from the head, for load_chunk to fill. Throws std::invalid_argument, std::bad_alloc.
  static std::unique_ptr<WindowedValue> from_head(std::span<const std::byte> head,
                                                  std::pmr::memory_resource* memory = nullptr);
  /// Puts the next piece into its place. `iterator` is the `next` beside it. A piece that is there
  /// already may come again. False, nothing being changed, for any other. Throws std::bad_alloc.
  bool load_chunk(std::uint64_t iterator, std::span<const std::byte> bytes);
  /// Whether all pieces have come. O(1).
  [[nodiscard]] bool is_complete() const noexcept { return !awaited_; }
  /// XXH3 of the image: equal values have equal digests. O(memory). Throws std::bad_alloc.
  [[nodiscard]] std::uint64_t digest() const;
  // Kept by what moves time on.
  /// When the tick began by the steady clock, in microseconds; none: not known in this process.
  std::optional<std::int64_t> begun;
  /// Ticks that passed before that, while the value was elsewhere.
  std::int64_t pending_ticks = 0;
  /// When it is looked at next, by the steady clock.
  std::int64_t due = kNever;
  [[nodiscard]] std::uint64_t time() const noexcept { return time_; }

 private:
  friend class PieceReader<WindowedValue>;
  using Head = WindowedHead;

  // What a value that is being loaded waits for.
  struct Awaited {
    std::uint64_t items;   // of the head
    std::uint64_t loaded;  // pieces
  };

  WindowedValue(ExpiringFilter filter, double error, std::uint64_t window, std::uint64_t time,
                std::pmr::memory_resource* memory)
      : filter_(std::move(filter)), error_(error), window_(window), time_(time), memory_(memory) {}
  static std::unique_ptr<WindowedValue> from_head(const WindowedHead& head,
                                                  std::pmr::memory_resource* memory);
  [[nodiscard]] WindowedHead head() const;
  // Its blocks; no ledger.
  static Areas areas_of(const WindowedHead& head) {
    const std::uint64_t bytes = head.shape.stored_bytes();
    return {1, 0, [bytes](AreaKind, std::uint64_t) { return bytes; }};
  }
  bool load_content(const Piece& piece);
  bool finish_reading(const WindowedHead& head);
  bool load_next(std::span<const std::byte> content);
  void expect_death(unsigned life) noexcept { deaths_ |= bit_of(tick() + life + 1); }
  void expect_all_deaths() noexcept;
  static constexpr std::uint16_t bit_of(std::uint64_t tick) noexcept {
    return static_cast<std::uint16_t>(1U << tick % kDeaths);
  }
  ExpiringFilter filter_;
  double error_;
  std::uint64_t window_;
  std::uint64_t time_;
  std::pmr::memory_resource* memory_;
  std::optional<Awaited> awaited_;
  // The ticks in which something may die: bit t % kDeaths of each. Never the present one.
  static constexpr unsigned kDeaths = kLife + 2;
  std::uint16_t deaths_ = 0;
};

using WindowedReader = PieceReader<WindowedValue>;

}}}  // namespace nestline::redis

#endif  // NESTLINE_LIB_FACES_EMBED_VALUE_WINDOWED_VALUE_H_
