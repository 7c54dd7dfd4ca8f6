// CF.ADVANCE, and what the other commands do with a filter that has a WINDOW.
//
// All commands that add are replicated as they came, also of items that were seen or found no room:
// a renewal changes a life, and each add may sweep (windowed_value.h). Neither configuration nor
// memory decides, so all copies do the same. The server's thread answers all lookups.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/faces/redis/server/ticker.h"

namespace nestline { inline namespace v0_3 { namespace redis {
namespace {

// The life that the command gives its item. Nothing: it has replied with the error.
std::optional<unsigned> life_of(const Call& call, const WindowedValue& value) {
  if (call.count == 3) return WindowedValue::kLife;
  const auto seconds = natural(call.arguments[4]);
  if (seconds && *seconds >= 1 && *seconds <= value.window()) return value.life_of(*seconds);
  reply_error(call, ("ERR EX takes whole seconds, from 1 to the window of this filter, which is " +
                     std::to_string(value.window()))
                        .c_str());
  return std::nullopt;
}

}  // namespace

bool refuse_incomplete(const Call& call, const WindowedValue& value) {
  if (value.is_complete()) return false;
  reply_error(call, kIncomplete);
  return true;
}

int insert_windowed(const Call& call, WindowedValue& value, const char* event) {
  if (refuse_incomplete(call, value)) return kOk;
  const auto life = life_of(call, value);
  if (!life) return kOk;
  apply_pending_ticks(call, value);
  const Outcome outcome = value.insert(call.item(2), *life);
  count_outcome(outcome);
  replicate(call, event);
  replicate_insert_time(call, value);
  // To a primary no error is sent.
  if (outcome == Outcome::full && !is_replayed(call)) return reply_error(call, kFull);
  return api.ReplyWithBool(call.context, outcome == Outcome::stored);
}

int insert_many_windowed(const Call& call, WindowedValue& value, int first_item, Unless unless,
                         const char* event) {
  if (refuse_incomplete(call, value)) return kOk;
  const std::vector<std::string_view> items = items_of(call, first_item);
  std::vector<Outcome> outcomes(items.size());
  apply_pending_ticks(call, value);
  value.insert(items, outcomes);
  replicate(call, event);
  replicate_insert_time(call, value);
  api.ReplyWithArray(call.context, static_cast<long>(items.size()));
  for (const Outcome outcome : outcomes) {
    count_outcome(outcome);
    reply_outcome(call, outcome, unless);
  }
  return kOk;
}

int info_windowed(const Call& call, const WindowedValue& value, bool is_full) {
  const ExpiringFilter& filter = value.filter();
  const std::uint64_t blocks = value.blocks();
  api.ReplyWithMap(call.context, is_full ? 15 : 8);
  reply_pair(call, "Size", std::uint64_t{value.memory_bytes()});
  reply_pair(call, "Number of buckets", blocks);
  reply_pair(call, "Number of filters", std::uint64_t{1});
  reply_pair(call, "Number of items inserted", filter.size());
  reply_pair(call, "Number of items deleted", std::uint64_t{0});
  reply_pair(call, "Bucket size", filter.slots() / blocks);
  reply_pair(call, "Expansion rate", std::uint64_t{0});
  reply_pair(call, "Max iterations", std::uint64_t{0});
  if (!is_full) return kOk;
  reply_pair(call, "Window", value.window());
  reply_pair(call, "Ticks", value.tick());
  reply_pair(call, "Alive", filter.size());
  reply_pair(call, "Capacity", filter.capacity());
  reply_pair(call, "Expected error rate", filter.expected_fpr());
  reply_pair(call, "Seed", std::to_string(filter.seed()));
  reply_pair(call, "Hash version", std::uint64_t{hash_version()});
  return kOk;
}

int debug_windowed(const Call& call, const WindowedValue& value) {
  const ExpiringFilter& filter = value.filter();
  const std::uint64_t blocks = value.blocks();
  const std::string line =
      "bktsize:" + std::to_string(filter.slots() / blocks) + " buckets:" + std::to_string(blocks) +
      " items:" + std::to_string(filter.size()) +
      " deletes:0 filters:1 max_iterations:0 expansion:0 window:" + std::to_string(value.window()) +
      " tick:" + std::to_string(value.tick()) + " unswept:" + std::to_string(value.unswept()) +
      " time:" + std::to_string(value.time());
  return api.ReplyWithStringBuffer(call.context, line.data(), line.size());
}

int advance(const Call& call) {
  if (call.count % 2 == 0) return api.WrongArity(call.context);
  std::optional<std::uint64_t> time, slice;
  for (int i = 3; i < call.count; i += 2) {
    const bool is_time = is_word(call.arguments[i], "AT");
    if (!is_time && !is_word(call.arguments[i], "SWEEP")) {
      return reply_error(call, kUnknownArgument);
    }
    const auto number = natural(call.arguments[i + 1]);
    if (!number || *number > kMaxTime) {
      return reply_error(call, is_time ? "Couldn't parse AT" : "Couldn't parse SWEEP");
    }
    (is_time ? time : slice) = number;
  }
  const auto tick = natural(call.arguments[2]);
  if (!tick || *tick > kMaxTick) return reply_error(call, "Couldn't parse tick");
  const OpenedKey key(call, is_replayed(call) ? kUnseen : kWrite);
  WindowedValue* const value = key.windowed();
  if (value == nullptr) {
    (void)key.refuse(kNotFound);
    return key.filter() != nullptr ? reply_error(call, kNoWindow) : kOk;
  }
  if (refuse_incomplete(call, *value)) return kOk;
  // Here, since a place that was missed would stand still when this replica is promoted.
  if (is_replayed(call)) tick_key(*value, api.GetSelectedDb(call.context), text(call.key()));
  const auto now = static_cast<long long>(*tick);
  if (value->advance(*tick, time.value_or(wall_now()))) {
    value->pending_ticks = 0;
    value->begun = is_loading(call) ? std::nullopt : std::optional(steady_now());
    api.Replicate(call.context, "CF.ADVANCE", "slcl", call.key(), now, "AT",
                  static_cast<long long>(value->time()));
    notify_change(call, "cf.advance");
  } else if (is_replayed(call) && time && *tick == value->tick() && value->delay(*time)) {
    api.ReplicateVerbatim(call.context);
  }
  if (slice && value->unswept() != 0) {
    value->sweep(*slice);
    api.Replicate(call.context, "CF.ADVANCE", "slcl", call.key(), now, "SWEEP",
                  static_cast<long long>(*slice));
  }
  return api.ReplyWithLongLong(call.context, static_cast<long long>(value->tick()));
}

}}}  // namespace nestline::redis
