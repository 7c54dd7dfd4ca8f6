#include "lib/faces/redis/server/configuration.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "lib/faces/redis/server/commands.h"
#include "lib/faces/redis/server/server_memory.h"
#include "lib/faces/redis/server/workers.h"

namespace nestline { inline namespace v0_3 { namespace redis {
namespace {

Configuration current;

// One number that can be set, and its widest range.
struct Setting {
  const char* name;
  long long Configuration::*member;
  long long least;
  long long most;
};

constexpr std::array<Setting, 10> kSettings = {{
    {"cf-bucket-size", &Configuration::bucket_size, 1, kMaxBucketSize},
    {"cf-initial-size", &Configuration::initial_size, 2, kMaxCapacity},
    {"cf-max-iterations", &Configuration::max_iterations, 1, kMaxIterations},
    {"cf-expansion-factor", &Configuration::expansion, 0, kMaxExpansion},
    {"cf-turns-over", &Configuration::turns_over, 0, 1},
    {"cf-max-expansions", &Configuration::max_expansions, 1, kMaxExpansions},
    {"cf-threads", &Configuration::threads, 0, Workers::kMaxThreads},
    {"cf-thread-items", &Configuration::thread_items, 1, kMaxThreadItems},
    {"cf-window-timer", &Configuration::window_timer, 0, 1},
    {"cf-huge-pages", &Configuration::huge_pages, 0, 1},
}};

// Why the value is not between these, if it is not.
std::optional<std::string> refusal(const Setting& setting, long long value, long long least,
                                   long long most) {
  if (value >= least && value <= most) return std::nullopt;
  return std::string("Value for `") + setting.name + "` must be in the range [" +
         std::to_string(least) + ", " + std::to_string(most) + "]";
}

// Sets it, or returns why not. Its range is the widest one, whatever the others are.
std::optional<std::string> set(const Setting& setting, long long value) {
  if (auto reason = refusal(setting, value, setting.least, setting.most)) return reason;
  if (setting.member == &Configuration::expansion) {
    if (value != 0) value = static_cast<long long>(std::bit_ceil(static_cast<unsigned>(value)));
  }
  current.*setting.member = value;
  if (setting.member == &Configuration::threads) workers().want(static_cast<unsigned>(value));
  if (setting.member == &Configuration::huge_pages) use_huge_pages(value != 0);
  return std::nullopt;
}

long long get_number(const char*, void* data) {
  return current.*static_cast<const Setting*>(data)->member;
}

// Why the value does not go with the others. Asked once all are set: so their order is free.
std::optional<std::string> clash(const Setting& setting) {
  const bool is_size = setting.member == &Configuration::initial_size;
  const bool is_bucket_size = setting.member == &Configuration::bucket_size;
  return refusal(setting, current.*setting.member,
                 is_size ? 2 * current.bucket_size : setting.least,
                 is_bucket_size ? most_bucket_size() : setting.most);
}

int refuse(const std::optional<std::string>& reason, String** error) {
  if (!reason) return kOk;
  *error = api.CreateString(nullptr, reason->data(), reason->size());
  return kError;
}

int set_number(const char*, long long value, void* data, String** error) {
  return refuse(set(*static_cast<const Setting*>(data), value), error);
}

// After all of a CONFIG SET; where this refuses one, the server puts the old ones back.
int apply_number(Context*, void* data, String** error) {
  return refuse(clash(*static_cast<const Setting*>(data)), error);
}

// Takes the arguments: pairs of a name and a number. Returns what is wrong, if anything.
std::optional<std::string> take(String** arguments, int count) {
  for (int i = 0; i < count; i += 2) {
    const std::string_view name = text(arguments[i]);
    const auto* const setting = std::ranges::find_if(kSettings, [&](const Setting& candidate) {
      return is_word(name, candidate.name) || (candidate.member == &Configuration::max_expansions &&
                                               is_word(name, "CF_MAX_EXPANSIONS"));
    });
    if (setting == kSettings.end()) return "Unknown argument `" + std::string(name) + "`";
    const auto value = i + 1 < count ? integer(arguments[i + 1]) : std::nullopt;
    if (!value) return std::string("Invalid value for `") + setting->name + "`";
    if (auto reason = set(*setting, *value)) return reason;
  }
  return std::nullopt;
}

}  // namespace

const Configuration& configuration() { return current; }
long long most_bucket_size() { return std::min(kMaxBucketSize, current.initial_size / 2); }

long long default_threads() {
  const long long cores = std::thread::hardware_concurrency();
  return std::clamp(cores - 1, 0ll, static_cast<long long>(Workers::kMaxThreads));
}

bool configure(Context* context, String** arguments, int count) {
  workers().want(static_cast<unsigned>(current.threads));
  if (const auto reason = take(arguments, count)) {
    api.Log(context, "warning", "%s", reason->c_str());
    return false;
  }
  for (const Setting& setting : kSettings) {
    // Wider than the range. set() has its own message for that.
    constexpr long long kMax = std::numeric_limits<long long>::max();
    void* const data = const_cast<Setting*>(&setting);
    if (api.RegisterNumericConfig(context, setting.name, current.*setting.member, kConfigDefault,
                                  -kMax, kMax, get_number, set_number, apply_number, data) != kOk) {
      api.Log(context, "warning", "cannot register the configuration name %s", setting.name);
      return false;
    }
  }
  if (api.LoadConfigs(context) != kOk) return false;
  for (const Setting& setting : kSettings) {
    if (const auto reason = clash(setting)) {
      api.Log(context, "warning", "%s", reason->c_str());
      return false;
    }
  }
  return true;
}

}}}  // namespace nestline::redis
