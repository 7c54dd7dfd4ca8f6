// The section "nestline" of INFO, and its counters. Each event adds to a counter, so INFO needs no
// pass over the data.
#ifndef NESTLINE_LIB_REDIS_SERVER_INFO_SECTION_H_
#define NESTLINE_LIB_REDIS_SERVER_INFO_SECTION_H_

#include <atomic>
#include <cstdint>

#include "lib/redis/server/module_api.h"
#include "lib/redis/value/value.h"

namespace nestline::redis {

// Counts since the module was loaded, unless stated otherwise. Those that the server's thread for
// freeing changes too are atomic.
struct Counters {
  std::atomic<std::uint64_t> values{0};  // now, with those that wait to be freed
  std::uint64_t items_added = 0;
  std::uint64_t items_deleted = 0;
  std::uint64_t stopped_by_max_expansions = 0;  // items
  std::uint64_t stopped_by_memory = 0;          // items
  std::uint64_t refused_by_maxmemory = 0;       // filters that would not have fitted
  std::uint64_t refused_payloads = 0;           // of RDB files and RESTORE
  std::uint64_t batches = 0;                    // of questions that went to the worker threads
  std::uint64_t answers_left_open = 0;          // by them, for the server's thread
};
extern Counters counters;

// Counts the outcome of adding an item.
void count_outcome(Added outcome);

// False, with a line in the log, when the server refuses.
bool register_info_section(Context* context);

}  // namespace nestline::redis

#endif  // NESTLINE_LIB_REDIS_SERVER_INFO_SECTION_H_
