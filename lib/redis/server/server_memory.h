// The server's allocator as a source of blocks: so they are part of used_memory, of maxmemory and
// of what MEMORY USAGE tells.
//
// It differs from mapped_memory() on purpose: no huge pages, since after a fork each page that is
// written is copied, and one of 2 MiB takes as long as 512.
#ifndef NESTLINE_LIB_REDIS_SERVER_SERVER_MEMORY_H_
#define NESTLINE_LIB_REDIS_SERVER_SERVER_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>

#include "lib/redis/server/module_api.h"
#include "nestline/memory.h"

namespace nestline::redis {

// Lives as long as the process. Safe in any thread: values are also freed by the server's thread
// for freeing.
ZeroedMemory& server_memory() noexcept;

// What is out now. A generation is one allocation, and so are RedisBloom's tables of one header.
struct ServerMemoryUse {
  std::uint64_t allocations;
  std::uint64_t bytes;
};
ServerMemoryUse server_memory_use() noexcept;

// What server_memory() throws inside a scope of WithinMaxmemory.
struct AboveMaxmemory : std::bad_alloc {
  std::uint64_t wanted = 0;  // bytes
  std::uint64_t room = 0;    // bytes that maxmemory leaves
};

// While it lives, server_memory() refuses what does not fit below maxmemory. The server looks at
// maxmemory before a command (its flag deny-oom), when a filter that is to be made has no memory
// yet. With a policy of eviction all of maxmemory counts as room, since the server can free the
// rest; else what is not used. Not in a command that is replayed, whose filter is there already on
// the server that it comes from. Only in the main thread, one at a time.
class WithinMaxmemory {
 public:
  WithinMaxmemory(Context* context, bool is_replayed);
  ~WithinMaxmemory();
  WithinMaxmemory(const WithinMaxmemory&) = delete;
  WithinMaxmemory& operator=(const WithinMaxmemory&) = delete;

  // Counts `bytes` as taken. Throws AboveMaxmemory.
  void take(std::size_t bytes);

 private:
  Context* context_;
  std::optional<std::uint64_t> room_;  // asked for when it is first needed: that takes time
};

}  // namespace nestline::redis

#endif  // NESTLINE_LIB_REDIS_SERVER_SERVER_MEMORY_H_
