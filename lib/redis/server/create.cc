// CF.RESERVE, and creation by other commands. See creation.h.
#include <array>
#include <charconv>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <string>

#include "lib/redis/server/creation.h"
#include "lib/redis/server/info_section.h"
#include "lib/redis/server/server_memory.h"

namespace nestline::redis {
namespace {

// A number as the shortest text that is read back as the same number, with a NUL at the end.
template <typename Number>
std::array<char, 32> digits(Number number) {
  std::array<char, 32> bytes{};
  std::to_chars(bytes.data(), bytes.data() + bytes.size() - 1, number);
  return bytes;
}

// Who makes filters in this way.
enum class Maker { nestline, redisbloom };

void replicate_reserve(const Call& call, const Settings& settings, Maker maker) {
  const auto capacity = static_cast<long long>(settings.capacity);
  const long long bucket_size = settings.bucket_size, iterations = settings.max_iterations;
  const long long expansion = settings.expansion;
  const auto seed = digits(settings.seed);
  if (maker == Maker::redisbloom) {
    api.Replicate(call.context, "CF.RESERVE", "slclclcl", call.key(), capacity, "BUCKETSIZE",
                  bucket_size, "MAXITERATIONS", iterations, "EXPANSION", expansion);
  } else if (settings.error == 0) {
    api.Replicate(call.context, "CF.RESERVE", "slclclclcc", call.key(), capacity, "BUCKETSIZE",
                  bucket_size, "MAXITERATIONS", iterations, "EXPANSION", expansion, "SEED",
                  seed.data());
  } else {
    const auto error = digits(settings.error);
    api.Replicate(call.context, "CF.RESERVE", "slclclclcccc", call.key(), capacity, "BUCKETSIZE",
                  bucket_size, "MAXITERATIONS", iterations, "EXPANSION", expansion, "ERROR",
                  error.data(), "SEED", seed.data());
  }
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
      String* const word = call_.arguments[i];
      String* const value = call_.arguments[i + 1];
      if (is_word(word, "MAXITERATIONS")) {
        iterations_ = value;
      } else if (is_word(word, "BUCKETSIZE")) {
        bucket_size_ = value;
      } else if (is_word(word, "EXPANSION")) {
        expansion_ = value;
      } else if (is_word(word, "ERROR")) {
        error_ = value;
      } else if (is_word(word, "SEED")) {
        seed_ = value;
      } else if (!is_replayed(call_)) {
        return fail(kUnknownArgument);
      }
    }
    if (is_of_redisbloom()) find_as_redisbloom();
    return true;
  }

  // Whether RedisBloom has already carried out the command.
  [[nodiscard]] bool is_of_redisbloom() const {
    return is_replayed(call_) && seed_ == nullptr && error_ == nullptr;
  }

  bool read(Settings& settings) {
    const Configuration& standard = configuration();
    const long long most_bucket = is_replayed(call_) ? kMostBucketSize : most_bucket_size();
    const auto capacity = integer(call_.arguments[2]);
    if (!capacity) return fail(kBadCapacity);
    if (!number(iterations_, "MAXITERATIONS", 1, kMostIterations, standard.max_iterations,
                settings.max_iterations) ||
        !number(bucket_size_, "BUCKETSIZE", 1, most_bucket, standard.bucket_size,
                settings.bucket_size) ||
        !number(expansion_, "EXPANSION", 0, kMostExpansion, standard.expansion,
                settings.expansion) ||
        !error(settings) || !seed(settings)) {
      return false;
    }
    if (*capacity < 2 * settings.bucket_size || *capacity > kMostCapacity) {
      return fail("Capacity must be in the range [2 * BUCKETSIZE, 1073741824]");
    }
    settings.capacity = static_cast<std::uint64_t>(*capacity);
    return true;
  }

 private:
  // RedisBloom looks for a word in all arguments and takes what follows its first occurrence.
  void find_as_redisbloom() {
    const auto following = [&](std::string_view word) -> String* {
      for (int i = 1; i + 1 < call_.count; ++i) {
        if (is_word(call_.arguments[i], word)) return call_.arguments[i + 1];
      }
      return nullptr;
    };
    iterations_ = following("MAXITERATIONS");
    bucket_size_ = following("BUCKETSIZE");
    expansion_ = following("EXPANSION");
  }

  bool fail(const std::string& text) {
    reply_error(call_, text.c_str());
    return false;
  }

  bool number(String* argument, const std::string& name, long long least, long long most,
              long long standard, std::uint16_t& result) {
    auto value = argument == nullptr ? standard : integer(argument);
    if (!value) return fail("Couldn't parse " + name);
    if (argument != nullptr && (*value < least || *value > most)) {
      return fail(name + ": value must be in the range [" + std::to_string(least) + ", " +
                  std::to_string(most) + "]");
    }
    result = static_cast<std::uint16_t>(*value);
    return true;
  }

  bool error(Settings& settings) {
    if (error_ == nullptr) return true;
    const auto rate = fraction(error_);
    if (!rate) return fail("Couldn't parse ERROR");
    const double least = lowest_error(settings.expansion);
    if (*rate < least || *rate >= 1) {
      return fail(std::string("ERROR: value must be in the range [") + digits(least).data() +
                  ", 1)");
    }
    settings.error = *rate;
    return true;
  }

  bool seed(Settings& settings) {
    const auto value = seed_ == nullptr ? draw_seed(call_) : natural(seed_);
    if (!value) return fail("Couldn't parse SEED");
    settings.seed = *value;
    return true;
  }

  const Call& call_;
  String* iterations_ = nullptr;
  String* bucket_size_ = nullptr;
  String* expansion_ = nullptr;
  String* error_ = nullptr;
  String* seed_ = nullptr;
};

}  // namespace

bool is_replayed(const Call& call) {
  return (api.GetContextFlags(call.context) & (kContextReplicated | kContextLoading)) != 0;
}

void tell_opened_beside_tables(const Call& call, const CuckooValue& filter) {
  replicate_reserve(call, filter.settings(), Maker::nestline);
}

namespace {

// Makes a filter as `maker` does, gives it to the key and replicates its CF.RESERVE. When that is
// not possible, replies with the reason and returns null.
CuckooValue* create(const Call& call, OpenedKey& key, const Settings& settings, Maker maker) {
  std::unique_ptr<CuckooValue> made;
  try {
    const WithinMaxmemory limited(call.context, is_replayed(call));
    made = maker == Maker::nestline ? CuckooValue::create(settings, &server_memory())
                                    : CuckooValue::create_as_redisbloom(settings, &server_memory());
  } catch (const AboveMaxmemory& above) {
    ++counters.refused_by_maxmemory;
    reply_error(call, (std::string(kInsufficientMemoryToCreate) + ": it takes " +
                       std::to_string(above.wanted) + " bytes and maxmemory leaves " +
                       std::to_string(above.room))
                          .c_str());
    return nullptr;
  } catch (const std::bad_alloc&) {
    reply_error(call, kInsufficientMemoryToCreate);
    return nullptr;
  } catch (const std::exception& error) {
    reply_error(call, (std::string(kCouldNotCreate) + ": " + error.what()).c_str());
    return nullptr;
  }
  CuckooValue& value = key.set(std::move(made));
  replicate_reserve(call, maker == Maker::nestline ? value.settings() : settings, maker);
  tell_change(call, "cf.reserve");
  return &value;
}

}  // namespace

CuckooValue* create_by_default(const Call& call, OpenedKey& key,
                               std::optional<long long> capacity) {
  const Configuration& standard = configuration();
  const Maker maker = is_replayed(call) ? Maker::redisbloom : Maker::nestline;
  Settings settings;
  settings.capacity = static_cast<std::uint64_t>(capacity.value_or(standard.initial_size));
  settings.bucket_size = static_cast<std::uint16_t>(standard.bucket_size);
  settings.max_iterations = static_cast<std::uint16_t>(standard.max_iterations);
  settings.expansion = static_cast<std::uint16_t>(standard.expansion);
  if (maker == Maker::nestline) settings.seed = draw_seed(call);
  return create(call, key, settings, maker);
}

int reserve(const Call& call) {
  if (call.count % 2 == 0) return api.WrongArity(call.context);
  ReserveOptions options(call);
  Settings settings;
  if (!options.find()) return kOk;
  const Maker maker = options.is_of_redisbloom() ? Maker::redisbloom : Maker::nestline;
  OpenedKey key(call, kWrite);
  CuckooValue* const old = key.filter();
  if (is_replayed(call) && maker == Maker::nestline && old != nullptr &&
      old->follows_redisbloom()) {
    old->open_beside_tables();
    api.ReplicateVerbatim(call.context);
    return reply_ok(call);
  }
  if (!options.read(settings)) return kOk;
  if (key.is_other()) return reply_error(call, kWrongType);
  if (old != nullptr) return reply_error(call, kItemExists);
  if (create(call, key, settings, maker) == nullptr) return kOk;
  return reply_ok(call);
}

}  // namespace nestline::redis
