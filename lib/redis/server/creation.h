// How commands make a filter where there is none, the same on every copy of the data.
//
// What a filter is depends on settings that only this server knows (its configuration) and on a
// seed that is drawn at random. So creation is replicated as a CF.RESERVE that names all of them,
// in front of the command that brought it about. A command that is replayed, from a primary or from
// an append-only file, finds its filter there already.
//
// If it does not, or a CF.RESERVE that is replayed names neither SEED nor ERROR, RedisBloom wrote
// the stream. It tells of commands, not of what they did: of a CF.DEL that found nothing as of one
// that did. So the filter is made and changed as RedisBloom does it (add_as_redisbloom in value.h):
// then each command does here what it did there. What such a command leaves out stands in
// RedisBloom's configuration; this server's, which has the same names, is taken for it.
//
// That ends for a filter when a client of this server adds to it. Then a CF.RESERVE with SEED is
// replicated in front, which tells copies of this server to open a generation beside the tables.
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

// Makes a filter with the defaults of the configuration, and this capacity if there is one, gives
// it to the key and replicates its CF.RESERVE. Null when that is not possible; then it has replied
// with the reason.
CuckooValue* create_by_default(const Call& call, OpenedKey& key, std::optional<long long> capacity);

// Replicates that the filter's first generation was opened beside tables of RedisBloom.
void tell_opened_beside_tables(const Call& call, const CuckooValue& filter);

}  // namespace nestline::redis

#endif  // NESTLINE_LIB_REDIS_SERVER_CREATION_H_
