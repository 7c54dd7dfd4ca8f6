// How commands make a missing filter, the same on every copy of the data.
//
// A new filter depends on settings that only this server knows (its configuration) and on a random
// seed. So creation is replicated as a CF.RESERVE that names all of them, in front of the command
// that caused it. A command that is replayed, from a primary or from an append-only file, finds its
// filter there already.
//
// If it does not, or a CF.RESERVE that is replayed names neither SEED nor ERROR, RedisBloom wrote
// the stream. Its stream has the commands, not what they did: a CF.DEL that found nothing looks
// like one that did. So the filter is made and changed as RedisBloom does it (add_as_redisbloom in
// value.h): then each command does here what it did there. Settings that such a command leaves out
// were in RedisBloom's configuration; this server's configuration, which has the same names, is
// used instead.
//
// This ends for a filter when a client of this server adds to it. Then a CF.RESERVE with SEED is
// replicated first, which tells copies of this server to open a generation beside the tables.
#ifndef NESTLINE_LIB_REDIS_SERVER_CREATION_H_
#define NESTLINE_LIB_REDIS_SERVER_CREATION_H_

#include <optional>

#include "lib/redis/server/commands.h"
#include "lib/redis/server/configuration.h"
#include "lib/redis/server/opened_key.h"
#include "lib/redis/value/value.h"

namespace nestline::redis {

// Whether the command comes from a primary or from an append-only file.
bool is_replayed(const Call& call);

// Whether pieces of the filter are missing, so that the command, if it is a client's own, must not
// take it for a whole one.
inline bool is_incomplete(const Call& call, const CuckooValue& filter) {
  return !filter.is_complete() && !is_replayed(call);
}

// What additions by clients of this server keep to. Items of a replayed command were acknowledged
// before: they are added without limits.
Limits limits_for_clients();

// Makes a filter with the defaults of the configuration, and this capacity if there is one, gives
// it to the key and replicates its CF.RESERVE. When that is not possible, replies with the reason
// and returns null.
CuckooValue* create_by_default(const Call& call, OpenedKey& key, std::optional<long long> capacity);

// Replicates that the filter's first generation was opened beside tables of RedisBloom.
void tell_opened_beside_tables(const Call& call, const CuckooValue& filter);

}  // namespace nestline::redis

#endif  // NESTLINE_LIB_REDIS_SERVER_CREATION_H_
