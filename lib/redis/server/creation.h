// How commands make a filter where there is none, the same on every copy of the data.
//
// What a filter is depends on settings that only this server knows (its configuration) and on a
// seed that is drawn at random. So creation is replicated as a CF.RESERVE that names all of them,
// in front of the command that brought it about. A command that is replayed, from a primary or from
// an append-only file, finds its filter there already. If it does not, because another program
// wrote the stream, neither configuration nor chance is asked: it gets the values that stand in
// configuration.h as the first ones, and seed 0.
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

// What holds for the options that a command leaves out.
Configuration defaults(const Call& call);

// The seed for a filter whose command names none.
std::uint64_t draw_seed(const Call& call);

// Makes a filter, gives it to the key and replicates its CF.RESERVE. Null when that is not
// possible; then it has replied with the reason.
CuckooValue* create(const Call& call, OpenedKey& key, const Settings& settings);

// The same with the defaults, and this capacity if there is one.
CuckooValue* create_by_default(const Call& call, OpenedKey& key, std::optional<long long> capacity);

}  // namespace nestline::redis

#endif  // NESTLINE_LIB_REDIS_SERVER_CREATION_H_
