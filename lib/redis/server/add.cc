// CF.ADD, ADDNX, INSERT, INSERTNX.
//
// What is replicated is what was done. A command whose items all found their end by the filter
// alone is replicated as it is. Where this server stopped an item, by cf-max-expansions or for want
// of memory, a replica would not: then a CF.INSERT of the items that were added takes its place.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "lib/redis/server/configuration.h"
#include "lib/redis/server/creation.h"
#include "lib/redis/server/info_section.h"
#include "lib/redis/server/opened_key.h"

namespace nestline::redis {
namespace {

enum class Unless { never, present };

Added add_item(const Call& call, CuckooValue& filter, std::string_view item, Unless unless) {
  const auto add_within = [&](const Limits& limits) {
    return unless == Unless::present ? filter.add_unique(item, limits) : filter.add(item, limits);
  };
  Added added = Added::full;
  if (filter.follows_redisbloom() && is_replayed(call)) {
    added = filter.add_as_redisbloom(item, unless == Unless::present);
  } else {
    added = add_within({static_cast<std::uint64_t>(configuration().max_expansions), true});
    // Limits are for clients of this server: what is replayed was acknowledged. Asked for last,
    // since the answer takes time.
    const bool is_limited = added == Added::too_many || added == Added::full;
    if (is_limited && is_replayed(call)) added = add_within(kUnlimited);
  }
  count_outcome(added);
  return added;
}

// The first generation beside tables of RedisBloom is told before the items in it.
void replicate_opening(const Call& call, const CuckooValue& filter, bool followed_redisbloom) {
  if (followed_redisbloom && !filter.follows_redisbloom()) tell_opened_beside_tables(call, filter);
}

int add_one(const Call& call, Unless unless, const char* event) {
  OpenedKey key(call, kWrite);
  if (key.is_other()) return reply_error(call, kWrongType);
  CuckooValue* filter = key.filter();
  if (filter == nullptr) filter = create_by_default(call, key, std::nullopt);
  if (filter == nullptr) return kOk;
  const bool followed_redisbloom = filter->follows_redisbloom();
  const Added outcome = add_item(call, *filter, call.item(2), unless);
  if (outcome != Added::added) return reply_not_added(call, outcome);
  replicate_opening(call, *filter, followed_redisbloom);
  api.ReplicateVerbatim(call.context);
  tell_change(call, event);
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
      if (*options.capacity < least || *options.capacity > kMostCapacity) {
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

// One element of the reply. "No" is a boolean in RESP3 and cannot tell its reason.
void reply_outcome(const Call& call, Added outcome, Unless unless) {
  if (unless == Unless::present) {
    api.ReplyWithLongLong(call.context, outcome == Added::added     ? 1
                                        : outcome == Added::present ? 0
                                                                    : -1);
  } else if (outcome == Added::added) {
    api.ReplyWithBool(call.context, 1);
  } else if ((api.GetContextFlags(call.context) & kContextResp3) != 0) {
    api.ReplyWithBool(call.context, 0);
  } else {
    api.ReplyWithLongLong(call.context, -1);
  }
}

int insert_items(const Call& call, Unless unless, const char* event) {
  InsertOptions options;
  if (!read(call, options)) return kOk;
  OpenedKey key(call, kWrite);
  if (key.is_other()) return reply_error(call, kWrongType);
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
  for (int i = options.first_item; i < call.count; ++i) {
    if ((i - options.first_item) % kAhead == 0) prefetch_items(call, *filter, i);
    const Added outcome = add_item(call, *filter, call.item(i), unless);
    if (outcome == Added::added) {
      added.push_back(call.arguments[i]);
    } else if (outcome != Added::present) {
      is_whole = false;
    }
    reply_outcome(call, outcome, unless);
  }
  if (added.empty()) return kOk;
  replicate_opening(call, *filter, followed_redisbloom);
  if (is_whole) {
    api.ReplicateVerbatim(call.context);
  } else {
    api.Replicate(call.context, "CF.INSERT", "sccv", call.key(), "NOCREATE", "ITEMS", added.data(),
                  added.size());
  }
  tell_change(call, event);
  return kOk;
}

}  // namespace

int add(const Call& call) { return add_one(call, Unless::never, "cf.add"); }
int add_unique(const Call& call) { return add_one(call, Unless::present, "cf.addnx"); }
int insert(const Call& call) { return insert_items(call, Unless::never, "cf.insert"); }
int insert_unique(const Call& call) { return insert_items(call, Unless::present, "cf.insertnx"); }

}  // namespace nestline::redis
