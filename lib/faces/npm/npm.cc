// What nestline.js calls: filters in the memory of WebAssembly. Keys and answers lie in the room, a
// buffer that JavaScript writes and reads. Its layout and the numbers of Call, Figure and KeyKind
// are in nestline.js too. An error becomes a sentence, which JavaScript throws after the call.
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <limits>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <utility>
#include <variant>

#include "lib/filters/expiring/expiring_state.h"
#include "lib/filters/file/filter_bytes.h"
#include "nestline/expiring_filter.h"
#include "nestline/filter.h"

#define NESTLINE_FROM_JS(name) [[clang::import_module("js"), clang::import_name(name)]]
#define NESTLINE_TO_JS(name) extern "C" [[clang::export_name(name)]]

extern "C" {
// Keeps the sentence of an error.
NESTLINE_FROM_JS("fail") void nestline_fail(const char* sentence, std::size_t size);
// Takes the next bytes of a file that has `all` bytes.
NESTLINE_FROM_JS("take") void nestline_take(const void* bytes, std::size_t size, double all);
}

namespace nestline { inline namespace v0_3 { namespace npm {
namespace {

using Any = std::variant<Filter, ExpiringFilter>;

enum class Call { insert, insert_unique, erase, may_contain, count, remaining_ticks };
enum class Figure { size, capacity, bits, memory_bytes, now, ttl_ticks, expected_fpr };
enum class KeyKind { numbers, words, strings };

// Keys of a batch that are passed at a time.
constexpr std::size_t kKeys = 4096;
// The room: an answer for each key, a byte; where each string ends, 4 bytes; then the content:
// keys, 8 bytes each, strings or a file.
constexpr std::size_t kContent = 5 * kKeys;
alignas(8) std::array<std::byte, kContent + 16 * kKeys> usual_room;
std::unique_ptr<std::byte[]> large_room;
std::span<std::byte> room;

constexpr std::string_view kTurnsOver =
    "a filter that turns over can be asked here, and not changed";

template <typename Work>
auto guarded(Work&& work) {
  const auto fail = [](std::string_view sentence) {
    nestline_fail(sentence.data(), sentence.size());
    return decltype(work())();
  };
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return fail("there is not enough memory");
  } catch (const std::exception& error) {
    return fail(error.what());
  }
}

// Where the answers of a batch go.
struct Answers {
  std::size_t count;
  operator std::span<std::uint8_t>() const {
    return {reinterpret_cast<std::uint8_t*>(room.data()), count};
  }
  operator std::span<Outcome>() const { return {reinterpret_cast<Outcome*>(room.data()), count}; }
};

// Says so, if a filter cannot be changed here.
bool is_refused(const Any& any) {
  const auto* const filter = std::get_if<Filter>(&any);
  if (filter == nullptr || !filter->turns_over()) return false;
  nestline_fail(kTurnsOver.data(), kTurnsOver.size());
  return true;
}

unsigned number_of(Inserted inserted) { return static_cast<unsigned>(inserted.outcome); }
unsigned number_of(std::size_t number) { return number; }

// The answer about one key, or, with Answers, those about many. JavaScript does not ask for what a
// filter does not have.
template <class Keys, class... Out>
unsigned ask(Any& any, Call what, const Keys& keys, unsigned ticks, const Out&... out) {
  const auto number_of_each = [&](auto number) {
    if constexpr (sizeof...(out) == 0) return static_cast<unsigned>(number());
    number();
    return 0u;
  };
  if (auto* const filter = std::get_if<ExpiringFilter>(&any)) {
    if (what == Call::may_contain) return number_of(filter->may_contain(keys, out...));
    if (what == Call::insert) return number_of(filter->insert(keys, ticks, out...));
    return number_of_each([&] { return filter->remaining_ticks(keys, out...); });
  }
  Filter& filter = *std::get_if<Filter>(&any);
  if (what == Call::may_contain) return number_of(filter.may_contain(keys, out...));
  if (what == Call::count) return number_of_each([&] { return filter.count(keys, out...); });
  if (is_refused(any)) return 0;
  if (what == Call::insert) return number_of(filter.insert(keys, out...));
  if (what == Call::insert_unique) return number_of(filter.insert_unique(keys, out...));
  return number_of(filter.erase(keys, out...));
}

template <class F>
double figure(const F& filter, Figure what) {
  if (what == Figure::expected_fpr) return filter.expected_fpr();
  std::uint64_t now = 0;
  unsigned ttl_ticks = 0;
  if constexpr (std::same_as<F, ExpiringFilter>) {
    now = filter.now();
    ttl_ticks = filter.ttl_ticks();
  }
  const std::array<std::uint64_t, 6> all = {filter.size(),
                                            filter.capacity(),
                                            static_cast<std::uint64_t>(filter.bits()),
                                            filter.memory_bytes(),
                                            now,
                                            ttl_ticks};
  return static_cast<double>(all[static_cast<std::size_t>(what)]);
}

std::uint64_t integer_of(double number) {
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(number));
}

}  // namespace

// A double, since JavaScript passes a std::size_t modulo 2^32. All other sizes are at most this.
NESTLINE_TO_JS("reserve") std::byte* reserve(double content) {
  return guarded([&] {
    if (content > std::numeric_limits<std::size_t>::max() - kContent) throw std::bad_alloc();
    const std::size_t bytes = kContent + static_cast<std::size_t>(content);
    const bool is_usual = bytes <= usual_room.size();
    large_room.reset(is_usual ? nullptr : new std::byte[bytes]);
    room = is_usual ? std::span<std::byte>(usual_room) : std::span(large_room.get(), bytes);
    return room.data();
  });
}

NESTLINE_TO_JS("make")
Any* make(bool expires, double capacity, double fpr, int bits, double load, double max_capacity,
          unsigned ttl_ticks, std::uint64_t seed) {
  return guarded([&] {
    Options options = {.capacity = integer_of(capacity), .fpr = fpr, .bits = bits};
    if (expires) {
      ExpiringOptions expiring = {
          .capacity = options.capacity, .fpr = fpr, .bits = bits, .seed = seed};
      if (ttl_ticks != 0) expiring.ttl_ticks = ttl_ticks;
      if (load != 0) expiring.load = load;
      return new Any(ExpiringFilter(expiring));
    }
    options.max_capacity = integer_of(max_capacity);
    if (load != 0) options.load = load;
    options.seed = seed;
    return new Any(Filter(options));
  });
}

NESTLINE_TO_JS("load") Any* load(bool expires, std::size_t size) {
  return guarded([&] {
    const MemorySource source("bytes", room.subspan(kContent, size));
    Stored stored = read_filter(source, nullptr, expires ? kExpiringFilters : kFilters);
    if (expires) return new Any(ExpiringAccess::make(std::move(stored.blocks), stored.header));
    return new Any(FilterAccess::make(std::move(stored.blocks)));
  });
}

NESTLINE_TO_JS("save") void save(const Any& any) {
  guarded([&] {
    const auto give = [](const Shape& shape, const Blocks& blocks) {
      const FileHeader header{shape, blocks.size, kSmallVersion};
      write_filter(header, blocks, [&](std::span<const std::byte> piece) {
        nestline_take(piece.data(), piece.size(), static_cast<double>(header.file_bytes()));
      });
    };
    if (const auto* const filter = std::get_if<Filter>(&any)) {
      const Blocks& blocks = FilterAccess::blocks(*filter);
      return give(blocks.shape(), blocks);
    }
    Shape shape;
    const auto copy = ExpiringAccess::state(*std::get_if<ExpiringFilter>(&any)).copy_all(shape);
    give(shape, *copy);
  });
}

NESTLINE_TO_JS("drop") void drop(Any* any) { delete any; }

NESTLINE_TO_JS("figure") double figure_of(const Any& any, Figure what) {
  return std::visit([&](const auto& filter) { return figure(filter, what); }, any);
}

NESTLINE_TO_JS("advance") void advance(Any& any, double ticks) {
  guarded([&] { std::get_if<ExpiringFilter>(&any)->advance(integer_of(ticks)); });
}

NESTLINE_TO_JS("clear") void clear(Any& any) {
  guarded([&] {
    if (!is_refused(any)) std::visit([](auto& filter) { filter.clear(); }, any);
  });
}

NESTLINE_TO_JS("fit") unsigned fit(Any& any) {
  return guarded([&] { return is_refused(any) ? 0 : std::get_if<Filter>(&any)->fit(); });
}

NESTLINE_TO_JS("ask_number")
unsigned ask_number(Any& any, Call what, double key, unsigned ticks) noexcept {
  return ask(any, what, Key(integer_of(key)), ticks);
}

NESTLINE_TO_JS("ask_word")
unsigned ask_word(Any& any, Call what, std::uint64_t key, unsigned ticks) noexcept {
  return ask(any, what, Key(key), ticks);
}

NESTLINE_TO_JS("ask_bytes")
unsigned ask_bytes(Any& any, Call what, std::size_t size, unsigned ticks) noexcept {
  return ask(any, what, Key(std::span<const std::byte>(room.subspan(kContent, size))), ticks);
}

NESTLINE_TO_JS("ask_many")
void ask_many(Any& any, Call what, KeyKind kind, std::size_t count, unsigned ticks) {
  return guarded([&] {
    std::byte* const content = room.data() + kContent;
    if (kind == KeyKind::strings) {
      static std::array<std::string_view, kKeys> strings;
      std::uint32_t begin = 0;
      for (std::size_t i = 0; i < count; ++i) {
        std::uint32_t end;
        std::memcpy(&end, room.data() + kKeys + 4 * i, 4);
        strings[i] = {reinterpret_cast<const char*>(content) + begin, end - begin};
        begin = end;
      }
      ask(any, what, KeySpan(std::span<const std::string_view>(strings.data(), count)), ticks,
          Answers{count});
      return;
    }
    const std::span words(reinterpret_cast<std::uint64_t*>(content), count);
    if (kind == KeyKind::numbers) {
      for (std::uint64_t& word : words) word = integer_of(std::bit_cast<double>(word));
    }
    ask(any, what, KeySpan(std::span<const std::uint64_t>(words)), ticks, Answers{count});
  });
}

}}}  // namespace nestline::npm
