// The data type of filters in the server: how a value is saved, loaded, copied, measured and freed.
//
// Its name and encoding version are those of RedisBloom's cuckoo filters. Their values are loaded
// and, as long as nothing else was added to them, saved as they were. data_type.cc has what
// follows the type in an RDB file.
#ifndef NESTLINE_LIB_REDIS_SERVER_DATA_TYPE_H_
#define NESTLINE_LIB_REDIS_SERVER_DATA_TYPE_H_

#include <memory>

#include "lib/redis/server/module_api.h"
#include "lib/redis/value/value.h"

namespace nestline::redis {

// What the server keeps as a value. Batches that worker threads are busy with hold the filter too
// (batch.h), so it may live on after its key.
using KeptValue = std::shared_ptr<CuckooValue>;

// What register_data_type got from the server.
Type* data_type();

// Only for use while the module is being loaded. False, with a line in the log, when the server
// refuses.
bool register_data_type(Context* context);

}  // namespace nestline::redis

#endif  // NESTLINE_LIB_REDIS_SERVER_DATA_TYPE_H_
