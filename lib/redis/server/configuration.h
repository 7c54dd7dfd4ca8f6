// What the administrator sets: the defaults of new filters, the limit of their expansions, the
// worker threads, and what memory is asked for.
//
//   cf-bucket-size        2      1 to min(255, cf-initial-size / 2)
//   cf-initial-size       1024   2 * cf-bucket-size to 2^30
//   cf-max-iterations     20     1 to 65535
//   cf-expansion-factor   1      0 to 32768, rounded up to a power of two
//   cf-max-expansions     32     1 to 65536
//   cf-threads            cores less 1    0 to 256; 0: the server's thread answers everything
//   cf-thread-items       8192   1 to 2^30; smaller batches stay on the server's thread
//   cf-window-timer       1      1: the primary moves the time of filters with a WINDOW on; 0: only
//                                CF.ADVANCE does
//   cf-huge-pages         0      1: filters from 4 MiB on that are made from now on ask for huge
//                                pages
//
// Each is an argument of the module, `name value` (also CF_MAX_EXPANSIONS), and, with the prefix
// "nestline.", a name for CONFIG GET and SET and for redis.conf. Replayed commands depend on them
// only if they came from RedisBloom: see create.cc.
#ifndef NESTLINE_LIB_REDIS_SERVER_CONFIGURATION_H_
#define NESTLINE_LIB_REDIS_SERVER_CONFIGURATION_H_

#include "lib/redis/server/module_api.h"

namespace nestline::redis {

// As many as there are cores besides the one of the server's thread.
long long default_threads();

struct Configuration {
  long long bucket_size = 2;
  long long initial_size = 1024;
  long long max_iterations = 20;
  long long expansion = 1;
  long long max_expansions = 32;
  long long threads = default_threads();
  long long thread_items = 8192;
  long long window_timer = 1;
  long long huge_pages = 0;
};

inline constexpr long long kMaxBucketSize = 255;
inline constexpr long long kMaxCapacity = 1ll << 30;
inline constexpr long long kMaxIterations = 65535;
inline constexpr long long kMaxExpansion = 32768;
inline constexpr long long kMaxExpansions = 65536;
inline constexpr long long kMaxThreadItems = 1ll << 30;

// As it is now.
const Configuration& configuration();

// The largest value that cf-bucket-size and the option BUCKETSIZE may have now.
long long most_bucket_size();

// Takes the module's arguments and registers the names for CONFIG. False, with a line in the log,
// when an argument is wrong.
bool configure(Context* context, String** arguments, int count);

}  // namespace nestline::redis

#endif  // NESTLINE_LIB_REDIS_SERVER_CONFIGURATION_H_
