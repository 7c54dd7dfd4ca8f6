// CF.ADD, ADDNX, INSERT, INSERTNX.
//
// What is replicated is what was done. A command whose items all found their end by the filter
// alone is replicated as it is. Where this server stopped an item, by cf-max-expansions or for want
// of memory, a replica would not: then a CF.INSERT of the items that were added takes its place.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "lib/faces/redis/server/commands.h"
#include "lib/faces/redis/server/configuration.h"

namespace nestline { inline namespace v0_3 { namespace redis {
namespace {

// Items of a command that are added by one call of the value. Their bytes are not copied.
constexpr std::size_t kTogether = 128;

Outcome insert_item(const Call& call, CuckooValue& filter, std::string_view item, Unless unless) {
  if (!filter.follows_redisbloom() || !is_replayed(call)) {
    return within_limits(call,
                         [&](const Limits& limits) { return filter.insert(item, limits, unless); });
  }
  const Outcome outcome = filter.insert_as_redisbloom(item, unless);
  count_outcome(outcome);
  return outcome;
}

// The first sub_filter beside tables of RedisBloom is replicated before the items in it.
void replicate_if_opened(const Call& call, const CuckooValue& filter, bool followed_redisbloom) {
  if (followed_redisbloom && !filter.follows_redisbloom()) replicate_opening(call, filter);
}

int insert_one(const Call& call, Unless unless, const char* event) {
  const bool has_life = call.count == 5 && is_word(call.arguments[3], "EX");
  if (call.count != 3 && !has_life) return api.WrongArity(call.context);
  OpenedKey key(call, kWrite);
  if (WindowedValue* const windowed = key.windowed())
    return insert_windowed(call, *windowed, event);
  if (key.refuse()) return kOk;
  if (has_life) return reply_error(call, kExpiryNeedsWindow);
  CuckooValue* filter = key.filter();
  if (filter == nullptr) filter = create_by_default(call, key, std::nullopt);
  if (filter == nullptr) return kOk;
  const bool followed_redisbloom = filter->follows_redisbloom();
  const Outcome outcome = insert_item(call, *filter, call.item(2), unless);
  if (outcome != Outcome::stored) return reply_not_inserted(call, outcome);
  replicate_if_opened(call, *filter, followed_redisbloom);
  replicate(call, event);
  return api.ReplyWithBool(call.context, 1);
}

struct InsertOptions {
  std::optional<long long> capacity;
  bool may_create = true;
  int first_item = 0;
};

// A command that is replayed may be RedisBloom's, which looks at the first letter only.
bool is_option(const Call& call, String* argument, std::string_view word) {
  return is_word(argument, word) ||
         (is_word(text(argument).substr(0, 1), word.substr(0, 1)) && is_replayed(call));
}

// False: it has replied with the error.
bool read(const Call& call, InsertOptions& options) {
  int i = 2;
  for (; i < call.count && !is_option(call, call.arguments[i], "ITEMS"); ++i) {
    if (is_option(call, call.arguments[i], "NOCREATE")) {
      options.may_create = false;
    } else if (is_option(call, call.arguments[i], "CAPACITY")) {
      if (++i == call.count) break;
      options.capacity = integer(call.arguments[i]);
      if (!options.capacity) {
        reply_error(call, kBadCapacity);
        return false;
      }
      const long long least = is_replayed(call) ? 1 : 2 * configuration().bucket_size;
      if (*options.capacity < least || *options.capacity > kMaxCapacity) {
        reply_error(call, "Capacity must be in the range [cf-bucket-size * 2, 1073741824]");
        return false;
      }
    } else {
      reply_error(call, kUnknownArgument);
      return false;
    }
  }
  options.first_item = i + 1;
  if (options.first_item < call.count) return true;
  api.WrongArity(call.context);
  return false;
}

int insert_many(const Call& call, Unless unless, const char* event) {
  InsertOptions options;
  if (!read(call, options)) return kOk;
  OpenedKey key(call, kWrite);
  if (WindowedValue* const windowed = key.windowed()) {
    return insert_many_windowed(call, *windowed, options.first_item, unless, event);
  }
  if (key.refuse()) return kOk;
  CuckooValue* filter = key.filter();
  if (filter == nullptr) {
    if (!options.may_create) return reply_error(call, kNotFound);
    filter = create_by_default(call, key, options.capacity);
    if (filter == nullptr) return kOk;
  }
  const bool followed_redisbloom = filter->follows_redisbloom();
  std::vector<String*> added;
  added.reserve(static_cast<std::size_t>(call.count - options.first_item));
  bool is_whole = true;
  api.ReplyWithArray(call.context, call.count - options.first_item);
  const bool replayed = is_replayed(call);
  const Limits limits = replayed ? kUnlimited : limits_for_clients();
  std::array<std::string_view, kTogether> items;
  std::array<Outcome, kTogether> outcomes;
  for (int first = options.first_item; first < call.count;) {
    const auto count = std::min(kTogether, static_cast<std::size_t>(call.count - first));
    for (std::size_t i = 0; i < count; ++i) items[i] = call.item(first + static_cast<int>(i));
    if (filter->follows_redisbloom() && replayed) {
      for (std::size_t i = 0; i < count; ++i) {
        outcomes[i] = filter->insert_as_redisbloom(items[i], unless);
      }
    } else {
      filter->insert(std::span(items).first(count), unless, limits,
                     std::span(outcomes).first(count));
    }
    for (std::size_t i = 0; i < count; ++i, ++first) {
      count_outcome(outcomes[i]);
      if (outcomes[i] == Outcome::stored) {
        added.push_back(call.arguments[first]);
      } else if (outcomes[i] != Outcome::present) {
        is_whole = false;
      }
      reply_outcome(call, outcomes[i], unless);
    }
  }
  if (added.empty()) return kOk;
  replicate_if_opened(call, *filter, followed_redisbloom);
  if (is_whole) {
    api.ReplicateVerbatim(call.context);
  } else {
    api.Replicate(call.context, "CF.INSERT", "sccv", call.key(), "NOCREATE", "ITEMS", added.data(),
                  added.size());
  }
  notify_change(call, event);
  return kOk;
}

}  // namespace

Limits limits_for_clients() {
  return {static_cast<std::uint64_t>(configuration().max_expansions), true};
}

int add(const Call& call) { return insert_one(call, Unless::never, "cf.add"); }
int add_unique(const Call& call) { return insert_one(call, Unless::present, "cf.addnx"); }
int insert(const Call& call) { return insert_many(call, Unless::never, "cf.insert"); }
int insert_unique(const Call& call) { return insert_many(call, Unless::present, "cf.insertnx"); }

}}}  // namespace nestline::redis
