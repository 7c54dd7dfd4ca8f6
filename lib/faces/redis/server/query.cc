// CF.EXISTS, MEXISTS, COUNT, INFO, DEBUG.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "lib/faces/redis/server/commands.h"

namespace nestline { inline namespace v0_3 { namespace redis {
namespace {

// Here, since the bytes of the items have just come into this thread's cache.
std::vector<std::uint64_t> hashes_of(const Call& call, const CuckooValue& filter) {
  std::vector<std::uint64_t> hashes(static_cast<std::size_t>(call.count - 2));
  for (std::size_t i = 0; i < hashes.size(); ++i) {
    hashes[i] = hash_key(call.item(static_cast<int>(i) + 2), filter.settings().seed).value;
  }
  return hashes;
}

}  // namespace

int exists(const Call& call) {
  const OpenedKey key(call, kRead);
  if (const WindowedValue* const windowed = key.windowed()) {
    return api.ReplyWithBool(call.context, windowed->exists(call.item(2)));
  }
  if (key.refuse()) return kOk;
  const CuckooValue* const filter = key.filter();
  return api.ReplyWithBool(call.context, filter != nullptr && filter->exists(call.item(2)));
}

int exists_many(const Call& call) {
  const OpenedKey key(call, kRead);
  const WindowedValue* const windowed = key.windowed();
  if (windowed == nullptr && key.refuse()) return kOk;
  const auto count = static_cast<std::size_t>(call.count - 2);
  if (key.filter() != nullptr && is_for_workers(call, count) &&
      hand_over(call, key, Reply::booleans, hashes_of(call, *key.filter()))) {
    return kOk;
  }
  std::vector<std::uint8_t> answers(count);
  if (windowed != nullptr) {
    windowed->exists(items_of(call), answers);
  } else if (key.filter() != nullptr) {
    key->exists(items_of(call), answers);
  }
  api.ReplyWithArray(call.context, static_cast<long>(count));
  for (const std::uint8_t answer : answers) api.ReplyWithBool(call.context, answer);
  return kOk;
}

int count(const Call& call) {
  const OpenedKey key(call, kRead);
  if (key.refuse(nullptr, kWindowHasNoCopies)) return kOk;
  const CuckooValue* const filter = key.filter();
  return api.ReplyWithLongLong(
      call.context, filter == nullptr ? 0 : static_cast<long long>(filter->count(call.item(2))));
}

int info(const Call& call) {
  if (call.count > 3) return api.WrongArity(call.context);
  const bool is_full = call.count == 3;
  if (is_full && !is_word(call.arguments[2], "FULL")) return reply_error(call, kUnknownArgument);
  const OpenedKey key(call, kRead);
  if (const WindowedValue* const windowed = key.windowed()) {
    return info_windowed(call, *windowed, is_full);
  }
  if (key.refuse(kNotFound)) return kOk;
  const Info info = key->info(is_full);
  api.ReplyWithMap(call.context, is_full ? 15 : 8);
  reply_pair(call, "Size", info.memory_bytes);
  reply_pair(call, "Number of buckets", info.buckets);
  reply_pair(call, "Number of filters", info.filters);
  reply_pair(call, "Number of items inserted", info.items);
  reply_pair(call, "Number of items deleted", info.deletes);
  reply_pair(call, "Bucket size", std::uint64_t{info.settings.bucket_size});
  reply_pair(call, "Expansion rate", std::uint64_t{info.settings.expansion});
  reply_pair(call, "Max iterations", std::uint64_t{info.settings.max_iterations});
  // Some clients refuse a reply with fields that they do not know.
  if (!is_full) return kOk;
  reply_pair(call, "Error rate", info.promised_fpr);
  reply_pair(call, "Expected error rate", info.expected_fpr);
  reply_pair(call, "Items in RedisBloom filters", info.redisbloom_items);
  reply_pair(call, "Corrections", info.ledger_entries);
  // A string, as CF.RESERVE takes it: integers of the protocol end at 2^63 - 1.
  reply_pair(call, "Seed", std::to_string(info.settings.seed));
  reply_pair(call, "Hash version", std::uint64_t{hash_version()});
  reply_pair(call, "Turns over", std::uint64_t{info.settings.turns_over});
  return kOk;
}

int debug(const Call& call) {
  const OpenedKey key(call, kRead);
  if (const WindowedValue* const windowed = key.windowed()) return debug_windowed(call, *windowed);
  if (key.refuse(kNotFound)) return kOk;
  const Info info = key->info(false);
  const std::string line =
      "bktsize:" + std::to_string(info.settings.bucket_size) +
      " buckets:" + std::to_string(info.buckets) + " items:" + std::to_string(info.items) +
      " deletes:" + std::to_string(info.deletes) + " filters:" + std::to_string(info.filters) +
      " max_iterations:" + std::to_string(info.settings.max_iterations) +
      " expansion:" + std::to_string(std::uint64_t{info.settings.expansion});
  return api.ReplyWithStringBuffer(call.context, line.data(), line.size());
}

}}}  // namespace nestline::redis
