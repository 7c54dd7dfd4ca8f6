// The server's allocator as a source of blocks: so they are part of used_memory, of maxmemory and
// of what MEMORY USAGE tells.
//
// It differs from mapped_memory() on purpose: no huge pages, since after a fork each page that is
// written is copied, and one of 2 MiB takes as long as 512.
#ifndef NESTLINE_LIB_REDIS_SERVER_SERVER_MEMORY_H_
#define NESTLINE_LIB_REDIS_SERVER_SERVER_MEMORY_H_

#include "nestline/memory.h"

namespace nestline::redis {

// Lives as long as the process. Safe in any thread: values are also freed by the server's thread
// for freeing.
ZeroedMemory& server_memory() noexcept;

}  // namespace nestline::redis

#endif  // NESTLINE_LIB_REDIS_SERVER_SERVER_MEMORY_H_
