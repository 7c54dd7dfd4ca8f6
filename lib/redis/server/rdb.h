// A value in an RDB file, and so in DUMP and RESTORE, MIGRATE and the copy for a new replica.
//
// RedisBloom, encoding 4, all numbers unsigned: tables, buckets of table 0, items, deletes, bucket
// size, max iterations, expansion; then for each table its buckets and a string of its slots. In
// encodings below 4, bucket size, max iterations, expansion and deletes are missing. So are the
// buckets before each string: all tables have as many as table 0.
//
// Ours: the number 0 in place of "tables", which RedisBloom refuses; then the pieces of the value's
// image (value.h) as strings, with an empty one at the end.
//
// A value that consists of RedisBloom's tables only is saved as RedisBloom's.
#ifndef NESTLINE_LIB_REDIS_SERVER_RDB_H_
#define NESTLINE_LIB_REDIS_SERVER_RDB_H_

#include <memory>

#include "lib/redis/server/module_api.h"
#include "lib/redis/value/value.h"

namespace nestline::redis {

inline constexpr int kEncodingVersion = 4;

void save(Io* io, const CuckooValue& value);

// Null when the bytes are wrong or end early, or when there is not enough memory: the server then
// refuses them. Takes no more memory than a small multiple of the size of the bytes.
std::unique_ptr<CuckooValue> load(Io* io, int encoding_version);

}  // namespace nestline::redis

#endif  // NESTLINE_LIB_REDIS_SERVER_RDB_H_
