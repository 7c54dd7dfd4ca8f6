// What the administrator sets: defaults of new filters, their expansions, workers, kinds of memory.
//
// Each has a name (configuration.cc) that is an argument of the module, `name value` (also
// CF_MAX_EXPANSIONS), and, with the prefix "nestline.", one for CONFIG GET and SET and redis.conf.
// Replayed commands depend on them only if they came from RedisBloom: see create.cc.
#ifndef NESTLINE_LIB_FACES_REDIS_SERVER_CONFIGURATION_H_
#define NESTLINE_LIB_FACES_REDIS_SERVER_CONFIGURATION_H_

#include "lib/faces/redis/server/module_api.h"

namespace nestline { inline namespace v0_3 { namespace redis {

// As many as there are cores besides the one of the server's thread.
long long default_threads();

struct Configuration {
  long long bucket_size = 2;  // of new filters, as the next four
  long long initial_size = 1024;
  long long max_iterations = 20;
  long long expansion = 1;   // rounded up to a power of two
  long long turns_over = 0;  // 1: new filters of this server's clients turn over
  long long max_expansions = 32;
  long long threads = default_threads();  // 0: the server's thread answers everything
  long long thread_items = 8192;          // smaller batches stay on the server's thread
  long long window_timer = 1;             // 0: only CF.ADVANCE moves the time of filters on
  long long huge_pages = 0;               // 1: new filters from 4 MiB on ask for huge pages
};

inline constexpr long long kMaxBucketSize = 255;
inline constexpr long long kMaxCapacity = 1ll << 30;
inline constexpr long long kMaxIterations = 65535;
inline constexpr long long kMaxExpansion = 32768;
inline constexpr long long kMaxExpansions = 65536;
inline constexpr long long kMaxThreadItems = 1ll << 30;
const Configuration& configuration();
// The largest value that cf-bucket-size and the option BUCKETSIZE may have now.
long long most_bucket_size();
// Takes the module's arguments and registers their names. False, with a line in the log, on errors.
bool configure(Context* context, String** arguments, int count);

}}}  // namespace nestline::redis

#endif  // NESTLINE_LIB_FACES_REDIS_SERVER_CONFIGURATION_H_
