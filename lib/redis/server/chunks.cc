// CF.SCANDUMP, LOADCHUNK: a filter's content piece by piece, in a format of the value.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>
#include <stdexcept>
#include <string>

#include "lib/redis/server/commands.h"
#include "lib/redis/server/info_section.h"
#include "lib/redis/server/server_memory.h"

namespace nestline::redis {
namespace {

// Neither RedisBloom's head nor its RDB value has a seed, so every copy of the data takes this one.
constexpr std::uint64_t kSeedOfRedisBloom = 0;

std::span<const std::byte> bytes_of(String* argument) {
  const std::string_view bytes = text(argument);
  return std::as_bytes(std::span(bytes.data(), bytes.size()));
}

// A server that begins with a file of its own from which a piece does not load would answer without
// it, so it does not begin. A piece stands there only if it was loaded before.
int refuse(const Call& call, const char* text) {
  if ((api.GetContextFlags(call.context) & kContextLoading) == 0) return reply_error(call, text);
  const std::string key(nestline::redis::text(call.key()));
  api.Log(call.context, "warning",
          "the append-only file has a piece of the cuckoo filter '%s' that cannot be loaded (%s); "
          "the server ends, since without this piece it would deny items",
          key.c_str(), text);
  std::_Exit(1);
}

int load_head(const Call& call, OpenedKey& key) {
  if (key.filter() != nullptr) return reply_error(call, kItemExists);
  const auto head = bytes_of(call.arguments[3]);
  try {
    // A header of 38 bytes may claim any size.
    const WithinMaxmemory limited(call.context, is_replayed(call), Unlimited::machine);
    key.set(CuckooValue::from_head(head, kSeedOfRedisBloom, &server_memory()));
  } catch (const std::invalid_argument&) {
    const bool is_redisbloom = head.size() == kRedisBloomHeaderBytes;
    return refuse(call, is_redisbloom ? kCouldNotCreateFromHeader : kInvalidHeader);
  } catch (const AboveMaxmemory&) {
    ++counters.refused_by_maxmemory;
    return reply_error(call, kCouldNotCreateFromHeader);
  } catch (const std::bad_alloc&) {
    return refuse(call, kCouldNotCreateFromHeader);
  }
  replicate(call, "cf.loadchunk");
  return reply_ok(call);
}

}  // namespace

int scan_dump(const Call& call) {
  const auto iterator = integer(call.arguments[2]);
  if (!iterator || *iterator < 0) return reply_error(call, kInvalidPosition);
  const OpenedKey key(call, kRead);
  if (key.refuse(kNotFound)) return kOk;
  Chunk chunk;  // of an empty filter: the end; not of one whose pieces are still to come
  if (key->items() != 0 || !key->is_complete()) {
    chunk = key->dump_chunk(static_cast<std::uint64_t>(*iterator));
  }
  api.ReplyWithArray(call.context, 2);
  api.ReplyWithLongLong(call.context, static_cast<long long>(chunk.next));
  if (chunk.next == 0) return api.ReplyWithNull(call.context);
  return api.ReplyWithStringBuffer(call.context, reinterpret_cast<const char*>(chunk.bytes.data()),
                                   chunk.bytes.size());
}

int load_chunk(const Call& call) {
  const auto iterator = integer(call.arguments[2]);
  if (!iterator || *iterator == 0) return reply_error(call, kInvalidPosition);
  OpenedKey key(call, kWrite);
  if (key.refuse(*iterator == 1 ? nullptr : kNotFound)) return kOk;
  if (*iterator == 1) return load_head(call, key);
  if (*iterator < 0 ||
      !key->load_chunk(static_cast<std::uint64_t>(*iterator), bytes_of(call.arguments[3]))) {
    return refuse(call, kCouldNotLoadChunk);
  }
  replicate(call, "cf.loadchunk");
  return reply_ok(call);
}

}  // namespace nestline::redis
