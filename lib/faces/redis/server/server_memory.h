// The server's allocator as a source of blocks: they count in used_memory, maxmemory, MEMORY USAGE.
//
// Unlike mapped_memory() it does not use huge pages unless it is told to: after a fork each page
// that is written is copied, and copying one of 2 MiB takes as long as copying 512 small ones.
#ifndef NESTLINE_LIB_FACES_REDIS_SERVER_SERVER_MEMORY_H_
#define NESTLINE_LIB_FACES_REDIS_SERVER_SERVER_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>

#include "lib/faces/redis/server/module_api.h"
#include "nestline/memory.h"

namespace nestline { inline namespace v0_3 { namespace redis {

// Lives as long as the process. Safe in any thread, such as the server's for freeing.
ZeroedMemory& server_memory() noexcept;
// Whether allocations from now on ask the system for huge pages, for the whole ones inside.
void use_huge_pages(bool yes) noexcept;

// What is allocated now for blocks: once for a sub_filter, and for all tables of one header.
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

// What is refused where maxmemory is 0: nothing, or what the machine has no memory for.
enum class Unlimited : bool { nothing, machine };

// While it lives, server_memory() refuses what does not fit below maxmemory, at which the server
// looks only before a command (deny-oom), when a new filter has no memory yet. With an eviction
// policy all of maxmemory counts as room, since the server can free the rest. Not used for replayed
// commands, whose filter exists elsewhere. Only in the main thread, one at a time.
class WithinMaxmemory {
 public:
  WithinMaxmemory(Context* context, bool is_replayed, Unlimited unlimited = Unlimited::nothing);
  ~WithinMaxmemory();
  WithinMaxmemory& operator=(WithinMaxmemory&&) = delete;
  void take(std::size_t bytes);  // Counts `bytes` as taken. Throws AboveMaxmemory.

 private:
  Context* context_;
  Unlimited unlimited_;
  std::optional<std::uint64_t> room_;  // found out when it is first needed, because that takes time
};

}}}  // namespace nestline::redis

#endif  // NESTLINE_LIB_FACES_REDIS_SERVER_SERVER_MEMORY_H_
