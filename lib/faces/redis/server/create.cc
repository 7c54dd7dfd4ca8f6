// CF.RESERVE, and how other commands make a missing filter, the same on every copy of the data.
//
// A new filter depends on this server's configuration and on a random seed. So creation is
// replicated as a CF.RESERVE that names all of them, in front of the command that caused it. A
// command that is replayed, from a primary or from an append-only file, finds its filter there.
//
// If it does not, or a replayed CF.RESERVE names neither SEED nor ERROR, RedisBloom wrote the
// stream, which has the commands, not what they did: a CF.DEL that found nothing looks like one
// that did. So the filter is made and changed as RedisBloom does it (insert_as_redisbloom in
// value.h). For settings that are left out, this server's configuration stands in for RedisBloom's.
//
// This ends for a filter when a client of this server adds to it. Then a CF.RESERVE with SEED is
// replicated first, at which copies of this server open a sub_filter beside the tables.
//
// WIDTHS says among how many widths the plan chooses, 3 or 5 (Settings::all_widths). Without it
// they are the three that every version knows. TURNSOVER 1 is Settings::turns_over. Without it a
// client's filter is as cf-turns-over says; what is replayed without it does not turn over.
#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "lib/faces/redis/server/configuration.h"
#include "lib/faces/redis/server/server_memory.h"
#include "lib/faces/redis/server/ticker.h"

namespace nestline { inline namespace v0_3 { namespace redis {
namespace {

// A number as the shortest text that is read back as the same number, with a NUL at the end.
template <typename Number>
std::array<char, 32> digits(Number number) {
  std::array<char, 32> bytes{};
  std::to_chars(bytes.data(), bytes.data() + bytes.size() - 1, number);
  return bytes;
}

// The server that makes filters in this way.
enum class Maker { nestline, redisbloom };

void replicate_reserve(const Call& call, const Settings& settings, Maker maker) {
  const auto seed = digits(settings.seed), error = digits(settings.error);
  std::array<const char*, 8> more{};  // words of ours with their values
  std::string format = "slclclcl";
  std::size_t used = 0;
  const auto add = [&](const char* word, const char* value) {
    more[used++] = word;
    more[used++] = value;
    format += "cc";
  };
  if (maker == Maker::nestline) {
    if (settings.error != 0) add("ERROR", error.data());
    add("SEED", seed.data());
    if (settings.all_widths) add("WIDTHS", "5");
    if (settings.turns_over) add("TURNSOVER", "1");
  }
  // Arguments that the format does not name are not read.
  api.Replicate(call.context, "CF.RESERVE", format.c_str(), call.key(),
                static_cast<long long>(settings.capacity), "BUCKETSIZE",
                static_cast<long long>(settings.bucket_size), "MAXITERATIONS",
                static_cast<long long>(settings.max_iterations), "EXPANSION",
                static_cast<long long>(settings.expansion), more[0], more[1], more[2], more[3],
                more[4], more[5], more[6], more[7]);
}

std::uint64_t draw_seed(const Call& call) {
  std::uint64_t seed = 0;
  if (!is_replayed(call)) {
    std::array<unsigned char, sizeof seed> bytes{};
    api.GetRandomBytes(bytes.data(), bytes.size());
    for (const unsigned char byte : bytes) seed = seed << 8 | byte;
  }
  return seed;
}

// Reads the options of CF.RESERVE; each method replies with the error and returns false.
class ReserveOptions {
 public:
  explicit ReserveOptions(const Call& call) : call_(call) {}

  // Which argument belongs to which word. If a word occurs twice, the last one counts.
  bool find() {
    for (int i = 3; i < call_.count; i += 2) {
      const auto* const word = std::ranges::find_if(kWords, [&](std::string_view candidate) {
        return is_word(call_.arguments[i], candidate);
      });
      if (word != kWords.end()) {
        values_[static_cast<std::size_t>(word - kWords.begin())] = call_.arguments[i + 1];
      } else if (!is_replayed(call_)) {
        return fail(kUnknownArgument);
      }
    }
    if (values_[kTime] != nullptr && !has_window() && !is_replayed(call_)) {
      return fail(kUnknownArgument);
    }
    if (!is_of_redisbloom()) return true;
    for (const std::size_t ours : {kWidths, kTurnsOver}) values_[ours] = nullptr;
    // RedisBloom looks for a word in all arguments and takes what follows its first occurrence.
    for (const std::size_t option : {kIterations, kBucketSize, kExpansion}) {
      values_[option] = nullptr;
      for (int i = 1; i + 1 < call_.count && values_[option] == nullptr; ++i) {
        if (is_word(call_.arguments[i], kWords[option])) values_[option] = call_.arguments[i + 1];
      }
    }
    return true;
  }

  // Whether RedisBloom has already carried out the command.
  [[nodiscard]] bool is_of_redisbloom() const {
    return is_replayed(call_) && values_[kSeed] == nullptr && values_[kError] == nullptr;
  }
  [[nodiscard]] bool has_window() const {
    return values_[kWindow] != nullptr && !is_of_redisbloom();
  }

  bool read(Settings& settings) {
    const Configuration& standard = configuration();
    const long long most_bucket = is_replayed(call_) ? kMaxBucketSize : most_bucket_size();
    const auto capacity = integer(call_.arguments[2]);
    if (!capacity) return fail(kBadCapacity);
    if (!number(kIterations, 1, kMaxIterations, standard.max_iterations, settings.max_iterations) ||
        !number(kBucketSize, 1, most_bucket, standard.bucket_size, settings.bucket_size) ||
        !number(kExpansion, 0, kMaxExpansion, standard.expansion, settings.expansion) ||
        !error(settings, lowest_error(settings.expansion)) || !seed(settings) ||
        !widths(settings) || !turns_over(settings)) {
      return false;
    }
    if (*capacity < 2 * settings.bucket_size || *capacity > kMaxCapacity) {
      return fail("Capacity must be in the range [2 * BUCKETSIZE, 1073741824]");
    }
    settings.capacity = static_cast<std::uint64_t>(*capacity);
    return true;
  }

  // The same for a filter with a window. Its time is that of AT, which replicas get, or now.
  bool read(WindowSettings& settings, std::uint64_t& time) {
    const auto capacity = integer(call_.arguments[2]);
    if (!capacity) return fail(kBadCapacity);
    for (const std::size_t option : {kIterations, kBucketSize, kExpansion, kWidths, kTurnsOver}) {
      if (values_[option] == nullptr) continue;
      return fail("ERR a filter with WINDOW does not grow and has no " +
                  std::string(kWords[option]));
    }
    if (*capacity < 1 || *capacity > kMaxCapacity) {
      return fail("Capacity must be in the range [1, 1073741824] with WINDOW");
    }
    settings.capacity = static_cast<std::uint64_t>(*capacity);
    const auto window = natural(values_[kWindow]);
    if (!window) return fail("Couldn't parse WINDOW");
    if (*window < 1 || *window > kMaxWindow) {
      return fail("WINDOW: value must be in the range [1, " + std::to_string(kMaxWindow) +
                  "] seconds");
    }
    settings.window = *window;
    if (!error(settings, 0)) return false;
    const auto at = values_[kTime] == nullptr ? wall_now() : natural(values_[kTime]);
    if (!at || *at > kMaxTime) return fail("Couldn't parse AT");
    time = *at;
    return seed(settings);
  }

 private:
  static constexpr std::size_t kIterations = 0, kBucketSize = 1, kExpansion = 2, kError = 3,
                               kSeed = 4, kWindow = 5, kTime = 6, kWidths = 7, kTurnsOver = 8;
  static constexpr std::array<std::string_view, 9> kWords = {
      "MAXITERATIONS", "BUCKETSIZE", "EXPANSION", "ERROR",    "SEED",
      "WINDOW",        "AT",         "WIDTHS",    "TURNSOVER"};

  bool fail(const std::string& text) {
    reply_error(call_, text.c_str());
    return false;
  }

  bool number(std::size_t option, long long least, long long most, long long standard,
              std::uint16_t& result) {
    const std::string name(kWords[option]);
    const bool is_given = values_[option] != nullptr;
    const auto value = is_given ? integer(values_[option]) : standard;
    if (!value) return fail("Couldn't parse " + name);
    if (is_given && (*value < least || *value > most)) {
      return fail(name + ": value must be in the range [" + std::to_string(least) + ", " +
                  std::to_string(most) + "]");
    }
    result = static_cast<std::uint16_t>(*value);
    return true;
  }

  // `least` 0: anything above it.
  bool error(auto& settings, double least) {
    if (values_[kError] == nullptr) return true;
    const auto rate = fraction(values_[kError]);
    if (!rate) return fail("Couldn't parse ERROR");
    if (*rate > 0 && *rate >= least && *rate < 1) {
      settings.error = *rate;
      return true;
    }
    return fail(least == 0 ? "ERROR: value must be above 0 and below 1"
                           : std::string("ERROR: value must be in the range [") +
                                 digits(least).data() + ", 1)");
  }

  bool seed(auto& settings) {
    const auto value = values_[kSeed] == nullptr ? draw_seed(call_) : natural(values_[kSeed]);
    if (!value) return fail("Couldn't parse SEED");
    settings.seed = *value;
    return true;
  }

  bool widths(Settings& settings) {
    if (values_[kWidths] == nullptr) return true;
    const auto count = natural(values_[kWidths]);
    if (!count || (*count != 3 && *count != 5)) return fail("WIDTHS: value must be 3 or 5");
    settings.all_widths = count == 5;
    if (!settings.all_widths || may_have_all_widths(settings)) return true;
    return fail("WIDTHS: 5 needs ERROR and EXPANSION 0");
  }

  bool turns_over(Settings& settings) {
    if (values_[kTurnsOver] == nullptr) {
      settings.turns_over = !is_replayed(call_) && configuration().turns_over != 0;
      return true;
    }
    const auto value = natural(values_[kTurnsOver]);
    if (!value || *value > 1) return fail("TURNSOVER: value must be 0 or 1");
    settings.turns_over = *value == 1;
    return true;
  }

  const Call& call_;
  std::array<String*, kWords.size()> values_{};
};

// Calls make(), which makes a filter in server_memory(), below maxmemory unless the command is
// replayed. False when that is not possible, after a reply with the reason.
template <typename Make>
bool make_within_memory(const Call& call, const Make& make) {
  try {
    const WithinMaxmemory limited(call.context, is_replayed(call));
    make();
    return true;
  } catch (const AboveMaxmemory& above) {
    ++counters.refused_by_maxmemory;
    reply_error(call, (std::string(kInsufficientMemoryToCreate) + ": it takes " +
                       std::to_string(above.wanted) + " bytes and maxmemory leaves " +
                       std::to_string(above.room))
                          .c_str());
  } catch (const std::bad_alloc&) {
    reply_error(call, kInsufficientMemoryToCreate);
  } catch (const std::exception& error) {
    reply_error(call, (std::string(kCouldNotCreate) + ": " + error.what()).c_str());
  }
  return false;
}

// Makes a filter as `maker` does for the key and replicates CF.RESERVE. Null: it replied why not.
CuckooValue* create(const Call& call, OpenedKey& key, const Settings& settings, Maker maker) {
  std::unique_ptr<CuckooValue> made;
  const bool is_made = make_within_memory(call, [&] {
    made = maker == Maker::nestline ? CuckooValue::create(settings, &server_memory())
                                    : CuckooValue::create_as_redisbloom(settings, &server_memory());
  });
  if (!is_made) return nullptr;
  CuckooValue& value = key.set(std::move(made));
  replicate_reserve(call, maker == Maker::nestline ? value.settings() : settings, maker);
  notify_change(call, "cf.reserve");
  return &value;
}

// The same for a filter with a window, which begins at this time. Replies.
int reserve_windowed(const Call& call, OpenedKey& key, const WindowSettings& settings,
                     std::uint64_t time) {
  std::unique_ptr<WindowedValue> made;
  const bool is_made = make_within_memory(
      call, [&] { made = WindowedValue::create(settings, time, &server_memory()); });
  if (!is_made) return kOk;
  if (!is_loading(call)) made->begun = steady_now();
  key.set(std::move(made));
  const auto error = digits(settings.error), seed = digits(settings.seed);
  // An error of 0 is that of the library, which CF.RESERVE does not take.
  api.Replicate(call.context, "CF.RESERVE", settings.error != 0 ? "slclclcccc" : "slclclcc",
                call.key(), static_cast<long long>(settings.capacity), "WINDOW",
                static_cast<long long>(settings.window), "AT", static_cast<long long>(time), "SEED",
                seed.data(), "ERROR", error.data());
  notify_change(call, "cf.reserve");
  return reply_ok(call);
}

}  // namespace

void replicate_opening(const Call& call, const CuckooValue& filter) {
  replicate_reserve(call, filter.settings(), Maker::nestline);
}

CuckooValue* create_by_default(const Call& call, OpenedKey& key,
                               std::optional<long long> capacity) {
  const Configuration& standard = configuration();
  const Maker maker = is_replayed(call) ? Maker::redisbloom : Maker::nestline;
  Settings settings;
  settings.capacity = static_cast<std::uint64_t>(capacity.value_or(standard.initial_size));
  settings.bucket_size = static_cast<std::uint16_t>(standard.bucket_size);
  settings.max_iterations = static_cast<std::uint16_t>(standard.max_iterations);
  settings.expansion = static_cast<std::uint16_t>(standard.expansion);
  if (maker == Maker::nestline) {
    settings.seed = draw_seed(call);
    settings.turns_over = standard.turns_over != 0;
  }
  return create(call, key, settings, maker);
}

int reserve(const Call& call) {
  if (call.count % 2 == 0) return api.WrongArity(call.context);
  ReserveOptions options(call);
  Settings settings;
  if (!options.find()) return kOk;
  if (options.has_window()) {
    WindowSettings window;
    std::uint64_t time = 0;
    if (!options.read(window, time)) return kOk;
    OpenedKey key(call, kWrite);
    if (key.windowed() == nullptr && key.refuse()) return kOk;
    if (key.windowed() != nullptr || key.filter() != nullptr) return reply_error(call, kItemExists);
    return reserve_windowed(call, key, window, time);
  }
  const Maker maker = options.is_of_redisbloom() ? Maker::redisbloom : Maker::nestline;
  OpenedKey key(call, kWrite);
  CuckooValue* const old = key.filter();
  if (is_replayed(call) && maker == Maker::nestline && old != nullptr &&
      old->follows_redisbloom()) {
    old->open_generation();
    api.ReplicateVerbatim(call.context);
    return reply_ok(call);
  }
  if (!options.read(settings)) return kOk;
  if (key.refuse(nullptr, kItemExists)) return kOk;
  if (old != nullptr) return reply_error(call, kItemExists);
  if (create(call, key, settings, maker) == nullptr) return kOk;
  return reply_ok(call);
}

}}}  // namespace nestline::redis
