// What the module tells in INFO, section "nestline", and the counters behind it. Each costs an
// addition where it happens, and nothing is walked through to answer.
#ifndef NESTLINE_LIB_REDIS_SERVER_INFO_SECTION_H_
#define NESTLINE_LIB_REDIS_SERVER_INFO_SECTION_H_

#include <atomic>
#include <cstdint>

#include "lib/redis/server/module_api.h"
#include "lib/redis/value/value.h"

namespace nestline::redis {

// Since the module was loaded, where nothing else is said. Atomic is what the server's thread for
// freeing changes too.
struct Counters {
  std::atomic<std::uint64_t> values{0};  // now, with those that wait to be freed
  std::uint64_t items_added = 0;
  std::uint64_t items_deleted = 0;
  std::uint64_t stopped_by_max_expansions = 0;  // items
  std::uint64_t stopped_by_memory = 0;          // items
  std::uint64_t refused_by_maxmemory = 0;       // filters that would not have fitted
  std::uint64_t refused_payloads = 0;           // of RDB files and RESTORE
};
extern Counters counters;

// Counts how an item ended that was to be added.
void count_outcome(Added outcome);

// False, with a line in the log, when the server refuses.
bool register_info_section(Context* context);

}  // namespace nestline::redis

#endif  // NESTLINE_LIB_REDIS_SERVER_INFO_SECTION_H_
