// The file of a set that forgets by the clock has the system's time at the start of the present
// tick: time between runs counts. If that clock went back, no time has passed, so that no line is
// forgotten too early. Numbers and ring are the frame of the filters' files. Each filter has
// checksums of its own; the last number is the frame's, in which each filter counts with its keys,
// seed and memory.
#include "lib/faces/command/uniq/state.h"

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "lib/engine/place/little_endian.h"
#include "lib/faces/command/io/errors.h"
#include "lib/faces/command/io/input_file.h"
#include "lib/faces/command/io/output.h"
#include "lib/system/system.h"

namespace nestline { inline namespace v0_3 { namespace command {
namespace {

constexpr std::uint64_t kVersion = 1;
constexpr std::uint64_t kVersionWithin = 2;  // of a set that forgets by the clock
constexpr std::size_t kRingPiece = 1 << 16;  // hashes with a checksum

std::uint64_t checksum(std::span<const std::byte> bytes) {
  return hash_key(bytes, 0).value;  // a string's hash under seed 0 is its XXH3
}

class Writer {
 public:
  explicit Writer(const ByteSink& sink) : sink_(sink) {}

  void number(std::uint64_t value) {
    std::array<std::byte, sizeof(value)> bytes{};
    put(std::span(bytes), 0, value);
    frame_.insert(frame_.end(), bytes.begin(), bytes.end());
    sink_(bytes);
  }

  void set(const LineSet& lines) {
    std::visit([this](const auto& either) { set(either); }, lines.either());
  }

  void check() { number(checksum(frame_)); }

 private:
  template <typename Set>
  void set(const Set& lines) {
    number(lines.generations().size());
    for (const auto& generation : lines.generations()) {
      if constexpr (std::is_same_v<Set, SeenRecently>) number(generation.number);
      number(generation.layers.size());
      for (const auto& layer : generation.layers) {
        number(layer.size());
        number(layer.memory_bytes());
        save(layer, sink_);
      }
    }
    if constexpr (std::is_same_v<Set, SeenLines>) {
      const auto [older, newer] = lines.ring();
      number(older.size() + newer.size());
      for (const auto piece : {older, newer}) ring(piece);
      end_ring_piece();
    }
  }

  void ring(std::span<const Hash> hashes) {
    for (const Hash hash : hashes) {
      piece_.resize(piece_.size() + sizeof(hash.value));
      put(std::span(piece_), piece_.size() - sizeof(hash.value), hash.value);
      if (piece_.size() == kRingPiece * sizeof(hash.value)) end_ring_piece();
    }
  }

  void end_ring_piece() {
    if (piece_.empty()) return;
    sink_(piece_);
    number(checksum(piece_));
    piece_.clear();
  }

  const ByteSink& sink_;
  std::vector<std::byte> frame_;
  std::vector<std::byte> piece_;
};

class Reader {
 public:
  explicit Reader(const std::string& file) : file_(file), input_(file) {
    size_ = std::filesystem::file_size(file);
  }

  [[nodiscard]] bool empty() const { return size_ == 0; }

  [[noreturn]] void refuse(std::uint64_t offset, const char* cause) const {
    throw FormatError(file_, offset, cause);
  }

  std::uint64_t number(std::uint64_t least, std::uint64_t most, const char* cause) {
    std::array<std::byte, sizeof(std::uint64_t)> bytes{};
    const std::uint64_t offset = input_.bytes();
    take(bytes);
    frame_.insert(frame_.end(), bytes.begin(), bytes.end());
    const auto value = get<std::uint64_t>(bytes, 0);
    if (value < least || value > most) refuse(offset, cause);
    return value;
  }

  std::uint64_t number() { return number(0, ~std::uint64_t{0}, ""); }

  LineSet set(const SeenOptions& options) {
    if (options.within > 0) {
      return LineSet(SeenRecently(options, generations<ExpiringFilter>(options)));
    }
    auto all = generations<Filter>(options);
    const std::uint64_t at = input_.bytes();
    const std::uint64_t kept = number(0, options.window, "the ring is longer than the window");
    if (options.window > 0 && kept != all.front().size()) {
      refuse(at, "the ring and the filters have different numbers of lines");
    }
    if (kept > (size_ - input_.bytes()) / sizeof(Hash)) refuse(at, "the file ends in the ring");
    return LineSet(SeenLines(options, std::move(all), ring(kept)));
  }

  void check() {
    const std::uint64_t offset = input_.bytes();
    const std::uint64_t expected = checksum(frame_);
    if (number() != expected) refuse(offset, "the numbers before do not match their checksum");
  }

  void end() {
    check();
    if (input_.bytes() != size_) refuse(input_.bytes(), "there are bytes after the end");
  }

 private:
  template <typename Layer>
  std::vector<Generation<Layer>> generations(const SeenOptions& options) {
    const std::uint64_t most = options.capacity > 0 || options.window > 0 ? 1 : kMaxGenerations;
    const std::uint64_t count = number(1, most, "the number of generations is wrong");
    std::vector<Generation<Layer>> all;
    for (unsigned i = 0, own = 0; i < count; ++i, ++own) {
      // Others are numbered one by one, since none goes.
      if (options.within > 0) {
        own = static_cast<unsigned>(
            number(own, most - count + i, "the number of the generation is wrong"));
      }
      const auto plan = plan_generation<typename SeenSet<Layer>::Plan>(options, own);
      all.push_back({own, plan.capacity, layers<Layer>(options, plan.layers.size())});
    }
    return all;
  }

  void take(std::span<std::byte> bytes) {
    if (read(bytes) < bytes.size()) refuse(input_.bytes(), "the file ends here; it is not whole");
  }

  std::size_t read(std::span<std::byte> bytes) {
    return input_.read_all({reinterpret_cast<char*>(bytes.data()), bytes.size()});
  }

  // The filter that begins here, which is byte `at`.
  template <typename Layer>
  Layer loaded(std::uint64_t at) {
    const ByteSource source([this](std::span<std::byte> bytes) { return read(bytes); });
    try {
      if constexpr (std::is_same_v<Layer, Filter>) {
        return Filter::load(source);
      } else {
        return ExpiringFilter::load(source);
      }
    } catch (const FormatError& error) {
      throw FormatError(file_, at + error.offset, error.cause);
    }
  }

  template <typename Layer>
  std::vector<Layer> layers(const SeenOptions& options, std::size_t planned) {
    number(planned, planned, "the number of layers is wrong");
    std::vector<Layer> result;
    while (result.size() < planned) {
      const std::uint64_t lines = number();
      const std::uint64_t memory = number();
      const std::uint64_t at = input_.bytes();
      const Layer& layer = result.emplace_back(loaded<Layer>(at));
      bool same =
          layer.size() == lines && layer.memory_bytes() == memory && layer.seed() == options.seed;
      if constexpr (requires { layer.ttl_ticks(); }) {
        same = same && layer.ttl_ticks() == SeenRecently::kTicks;
      }
      if (!same) refuse(at, "this filter is not the one that was saved here");
      if (options.within > 0) continue;
      const std::uint64_t most = options.capacity > 0 ? options.capacity : lines;
      if (lines > most || (options.window > 0 && lines != result.front().size())) {
        refuse(at, "this filter has another number of lines than it should have");
      }
    }
    return result;
  }

  std::vector<Hash> ring(std::uint64_t kept) {
    std::vector<Hash> hashes;
    hashes.reserve(kept);
    std::vector<std::byte> piece;
    while (hashes.size() < kept) {
      piece.resize(sizeof(Hash) * std::min<std::uint64_t>(kRingPiece, kept - hashes.size()));
      const std::uint64_t offset = input_.bytes();
      take(piece);
      const std::uint64_t expected = checksum(piece);
      if (number() != expected)
        refuse(offset, "these hashes of the ring do not match their checksum");
      for (std::size_t i = 0; i < piece.size(); i += sizeof(Hash)) {
        hashes.push_back({get<std::uint64_t>(piece, i)});
      }
    }
    return hashes;
  }

  std::string file_;
  InputFile input_;
  std::uint64_t size_;
  std::vector<std::byte> frame_;
};

// By the system's clock.
std::uint64_t nanoseconds_now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::nanoseconds(now).count());
}

const std::string& checked(const std::string& target) {
  check_target(target);
  return target;
}

// How long ago this was, and at most what can be counted.
std::chrono::nanoseconds ago(std::uint64_t time) {
  const std::uint64_t now = nanoseconds_now();
  constexpr std::uint64_t kMost = std::chrono::nanoseconds::max().count() / 2;
  return std::chrono::nanoseconds(std::min(now - std::min(time, now), kMost));
}

}  // namespace

LineSet::LineSet(const SeenOptions& options)
    : either_(options.within > 0
                  ? std::variant<SeenLines, SeenRecently>(std::in_place_type<SeenRecently>, options)
                  : std::variant<SeenLines, SeenRecently>(std::in_place_type<SeenLines>, options)) {
}

Selected LineSet::select_new(std::span<const Hash> lines, std::span<const std::uint8_t> repeats,
                             std::span<std::uint32_t> positions) {
  if (auto* const recent = std::get_if<SeenRecently>(&either_)) {
    return recent->select_new(lines, positions);
  }
  return std::get<SeenLines>(either_).select_new(lines, repeats, positions);
}

void LineSet::advance(std::uint64_t ticks) {
  if (auto* const recent = std::get_if<SeenRecently>(&either_)) recent->advance(ticks);
}

void UniqState::forget() {
  if (!clock) return;
  const std::uint64_t ticks = clock->pass();
  if (ticks == 0) return;
  seen.advance(ticks);
  if (again) again->advance(ticks);
}

StateFile::StateFile(const std::string& file)
    : file_(checked(file)), lock_(file, FileLock::IfAbsent::make) {
  const auto id = regular_file(file);
  if (!id) throw CommandError(file, "a state must be a regular file");
  // What was printed would be lost when the state replaces it.
  if (id == regular_file(STDOUT_FILENO)) throw CommandError(file, "this state is also the output");
}

StateFile::~StateFile() {
  std::error_code ignored;
  if (!made() || std::filesystem::file_size(file_, ignored) != 0) return;
  try {
    remove_saved(file_);
  } catch (const std::exception&) {  // then an empty file stays
  }
}

std::optional<UniqState> load_state(const std::string& file) {
  Reader reader(file);
  if (reader.empty()) return std::nullopt;
  reader.number(kStateMagic, kStateMagic, "this is not a state of nestline uniq");
  const std::uint64_t version = reader.number(
      kVersion, kVersionWithin, "this version of nestline does not know this kind of state");
  const bool repeated = reader.number(0, 1, "the number of sets is wrong") != 0;
  SeenOptions options;
  options.capacity = reader.number(0, kMaxLines, "the capacity is too large");
  options.window = reader.number(0, kMaxLines, "the window is too large");
  options.fpr = std::bit_cast<double>(reader.number());
  options.seed = reader.number();
  std::uint64_t time = 0;
  if (version == kVersionWithin) {
    options.within = reader.number(kLeastWithin, kMostWithin, "it forgets too soon or too late");
    time = reader.number();
  }
  reader.check();
  if (!(options.fpr >= least_fpr(options) && options.fpr < 1)) {
    reader.refuse(40, "the rate is not one that can be kept");
  }
  if (options.capacity > 0 && options.window > 0) reader.refuse(24, "it has capacity and window");
  if (options.within > 0 && options.window > 0) reader.refuse(32, "it has a window and a time");
  LineSet seen = reader.set(options);
  std::optional<LineSet> again;
  if (repeated) again.emplace(reader.set(options));
  reader.end();
  UniqState state(options, std::move(seen), std::move(again));
  if (options.within > 0) state.clock.emplace(state.tick(), ago(time));
  return state;
}

void save_state(const UniqState& state, const std::string& file) {
  replace_file(file, [&](const ByteSink& sink) {
    Writer writer(sink);
    const SeenOptions& options = state.options;
    writer.number(kStateMagic);
    writer.number(state.clock ? kVersionWithin : kVersion);
    writer.number(state.again ? 1 : 0);
    writer.number(options.capacity);
    writer.number(options.window);
    writer.number(std::bit_cast<std::uint64_t>(options.fpr));
    writer.number(options.seed);
    if (state.clock) {
      writer.number(options.within);
      writer.number(nanoseconds_now() - static_cast<std::uint64_t>(state.clock->into().count()));
    }
    writer.check();
    writer.set(state.seen);
    if (state.again) writer.set(*state.again);
    writer.check();
  });
}

}}}  // namespace nestline::command
