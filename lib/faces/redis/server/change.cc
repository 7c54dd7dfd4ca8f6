// CF.DEL, MDEL, CLEAR, UPDATE, MERGE, COMPACT.
//
// A command that changes nothing is not replicated.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/faces/redis/server/commands.h"
#include "lib/faces/redis/server/configuration.h"

namespace nestline { inline namespace v0_3 { namespace redis {

int erase(const Call& call) {
  const OpenedKey key(call, kWrite);
  if (key.refuse(kNothingToDelete)) return kOk;
  const bool erased = key->erase(call.item(2));
  counters.items_deleted += erased;
  if (erased) replicate(call, "cf.del");
  return api.ReplyWithBool(call.context, erased);
}

int erase_many(const Call& call) {
  const OpenedKey key(call, kWrite);
  if (key.refuse(kNothingToDelete)) return kOk;
  std::vector<String*> erased;
  erased.reserve(static_cast<std::size_t>(call.count - 2));
  const std::vector<std::string_view> items = items_of(call);
  api.ReplyWithArray(call.context, call.count - 2);  // from here on one reply for each item
  key->in_turn(items, [&](std::size_t i) {
    try {
      const bool done = key->erase(items[i]);
      counters.items_deleted += done;
      if (done) erased.push_back(call.arguments[i + 2]);
      api.ReplyWithBool(call.context, done);
    } catch (const std::bad_alloc&) {
      reply_error(call, kInsufficientMemory);
    }
  });
  if (!erased.empty()) {
    // Not replicated as it came: another copy may have memory where this one had none.
    api.Replicate(call.context, "CF.MDEL", "sv", call.key(), erased.data(), erased.size());
    notify_change(call, "cf.mdel");
  }
  return kOk;
}

int clear(const Call& call) {
  const OpenedKey key(call, kWrite);
  if (WindowedValue* const windowed = key.windowed()) {
    if (refuse_incomplete(call, *windowed)) return kOk;
    windowed->clear();
  } else {
    if (key.refuse(kNotFound)) return kOk;
    key->clear();
  }
  replicate(call, "cf.clear");
  return reply_ok(call);
}

int update(const Call& call) {
  const OpenedKey key(call, kWrite);
  if (key.refuse(kNotFound)) return kOk;
  const Outcome outcome = within_limits(
      call, [&](const Limits& limits) { return key->update(call.item(2), call.item(3), limits); });
  if (outcome != Outcome::stored) return reply_not_inserted(call, outcome);
  ++counters.items_deleted;
  replicate(call, "cf.update");
  return api.ReplyWithBool(call.context, 1);
}

int merge(const Call& call) {
  OpenedKey destination(call, kWrite);
  if (destination.refuse(nullptr, kWindowDoesNotMerge)) return kOk;
  std::vector<std::unique_ptr<OpenedKey>> sources;
  for (int i = 2; i < call.count; ++i) {
    sources.push_back(std::make_unique<OpenedKey>(call, call.arguments[i], kRead));
    if (sources.back()->refuse(kNotFound, kWindowDoesNotMerge)) return kOk;
  }
  CuckooValue* const old = destination.filter();
  // The missing pieces of a source would be lost for the destination in silence.
  bool is_whole = old == nullptr || !is_incomplete(call, *old);
  for (const auto& source : sources) is_whole &= !is_incomplete(call, *source->filter());
  if (!is_whole) return reply_error(call, kIncomplete);
  // Filters that add up make every further merge slower.
  const std::uint64_t most_generations =
      is_replayed(call) ? kMaxGenerations
                        : static_cast<std::uint64_t>(configuration().max_expansions);
  if (old != nullptr && sources.size() == 1 && sources[0]->filter() != old) {
    old->merge(*sources[0]->filter(), most_generations);  // all or nothing
  } else {
    // Merged into a copy, so that the destination gets all of them or none.
    auto merged = (old != nullptr ? old : sources[0]->filter())->copy();
    for (std::size_t i = old != nullptr ? 0 : 1; i < sources.size(); ++i) {
      merged->merge(*sources[i]->filter(), most_generations);
    }
    // In place: the key keeps its time to live, and a source that is the destination its value.
    if (old != nullptr) {
      *old = std::move(*merged);
    } else {
      destination.set(std::move(merged));
    }
  }
  replicate(call, "cf.merge");
  return reply_ok(call);
}

int compact(const Call& call) {
  const OpenedKey key(call, kWrite);
  if (key.refuse(kNothingToCompact, kWindowDoesNotGrow)) return kOk;
  key->compact();
  replicate(call, "cf.compact");
  return reply_ok(call);
}

}}}  // namespace nestline::redis
