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
  const auto add_within = [&](std::uint64_t most_generations) {
    return unless == Unless::present ? filter.add_unique(item, most_generations)
                                     : filter.add(item, most_generations);
  };
  const auto most = static_cast<std::uint64_t>(configuration().max_expansions);
  const Added added = add_within(most);
  // The limit is that of clients of this server; asked for last, since the answer takes time.
  const Added last =
      added == Added::too_many && is_replayed(call) ? add_within(kMostGenerations) : added;
  count_outcome(last);
  return last;
}

int add_one(const Call& call, Unless unless, const char* event) {
  OpenedKey key(call, kWrite);
  if (key.is_other()) return reply_error(call, kWrongType);
  CuckooValue* filter = key.filter();
  if (filter == nullptr) filter = create_by_default(call, key, std::nullopt);
  if (filter == nullptr) return kOk;
  switch (add_item(call, *filter, call.item(2), unless)) {
    case Added::added:
      api.ReplicateVerbatim(call.context);
      tell_change(call, event);
      return api.ReplyWithBool(call.context, 1);
    case Added::full:
      return reply_error(call, kFull);
    case Added::too_many:
      return reply_error(call, kMaximumExpansions);
    case Added::no_memory:
      return reply_error(call, kInsufficientMemory);
    case Added::present:
    case Added::missing:
      break;
  }
  return api.ReplyWithBool(call.context, 0);
}

struct InsertOptions {
  std::optional<long long> capacity;
  bool may_create = true;
  int first_item = 0;
};

// False: it has replied with the error.
bool read(const Call& call, InsertOptions& options) {
  int i = 2;
  for (; i < call.count && !is_word(call.arguments[i], "ITEMS"); ++i) {
    if (is_word(call.arguments[i], "NOCREATE")) {
      options.may_create = false;
    } else if (is_word(call.arguments[i], "CAPACITY")) {
      if (++i == call.count) break;
      options.capacity = integer(call.arguments[i]);
      if (!options.capacity) {
        reply_error(call, kBadCapacity);
        return false;
      }
      if (*options.capacity < 2 * defaults(call).bucket_size || *options.capacity > kMostCapacity) {
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
  std::vector<String*> added;
  added.reserve(static_cast<std::size_t>(call.count - options.first_item));
  bool is_whole = true;
  api.ReplyWithArray(call.context, call.count - options.first_item);
  for (int i = options.first_item; i < call.count; ++i) {
    const Added outcome = add_item(call, *filter, call.item(i), unless);
    if (outcome == Added::added) {
      added.push_back(call.arguments[i]);
    } else if (outcome != Added::present) {
      is_whole = false;
    }
    reply_outcome(call, outcome, unless);
  }
  if (added.empty()) return kOk;
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
