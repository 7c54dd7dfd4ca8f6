#include "lib/faces/redis/server/server_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <mutex>
#include <unordered_map>

namespace nestline { inline namespace v0_3 { namespace redis {
namespace {

constexpr std::size_t kBlockAlignment = 64;
constexpr std::size_t kPage = 4096;
constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::size_t kLarge = std::size_t{1} << 20;  // below this, memset is as fast

// How many bytes after `memory` the next multiple of `alignment` is.
std::size_t distance_to(std::size_t alignment, const void* memory) {
  return (alignment - reinterpret_cast<std::uintptr_t>(memory) % alignment) % alignment;
}

// Advises the system on the whole pages in the memory, whose bounds `begin` and `end` become.
bool advise(std::byte*& begin, std::byte*& end, std::size_t page, int advice) {
  begin += distance_to(page, begin);
  end -= reinterpret_cast<std::uintptr_t>(end) % page;
  return begin < end && ::madvise(begin, static_cast<std::size_t>(end - begin), advice) == 0;
}

// For memory that may have several huge pages.
void advise_huge(std::byte* memory, std::size_t size, int advice) {
  if (size < 2 * kHugePage) return;
  std::byte* end = memory + size;
  (void)advise(memory, end, kHugePage, advice);
}

std::atomic<bool> wants_huge{false};
std::atomic<bool> has_huge{false};  // ever

// Writes zeros. A large allocation's pages are given back to the system, which is faster.
void clear(std::byte* memory, std::size_t size) {
  if (size >= kLarge) {
    std::byte* begin = memory;
    std::byte* end = memory + size;
    // Private anonymous pages come back as zeros. The system refuses if they are locked.
    if (advise(begin, end, kPage, MADV_DONTNEED)) {
      std::memset(memory, 0, static_cast<std::size_t>(begin - memory));
      std::memset(end, 0, static_cast<std::size_t>(memory + size - end));
      return;
    }
  }
  std::memset(memory, 0, size);
}

WithinMaxmemory* limit = nullptr;

std::uint64_t room_of_server(Context* context, Unlimited unlimited) {
  constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();
  ServerInfo* const info = api.GetServerInfo(context, "memory");
  if (info == nullptr) return kNoLimit;
  int unknown = 0;
  const std::uint64_t most = api.ServerInfoGetFieldUnsigned(info, "maxmemory", &unknown);
  const std::uint64_t used = api.ServerInfoGetFieldUnsigned(info, "used_memory", &unknown);
  const std::uint64_t machine =
      api.ServerInfoGetFieldUnsigned(info, "total_system_memory", &unknown);
  const char* const policy = api.ServerInfoGetFieldC(info, "maxmemory_policy");
  const bool evicts = policy != nullptr && std::strcmp(policy, "noeviction") != 0;
  api.FreeServerInfo(context, info);
  if (unknown != 0) return kNoLimit;
  if (most == 0) return unlimited == Unlimited::machine ? machine : kNoLimit;
  return evicts ? most : most - std::min(most, used);
}

class ServerMemory final : public ZeroedMemory {
 public:
  [[nodiscard]] ServerMemoryUse use() const noexcept {
    return {blocks_.load(), block_bytes_.load()};
  }

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    if (bytes > std::numeric_limits<std::size_t>::max() / 2) throw std::bad_alloc();
    if (limit != nullptr) limit->take(bytes);
    void* memory = api.TryAlloc(bytes);
    // jemalloc aligns multiples of 64 bytes to 64. Others get a request with room to align.
    if (memory != nullptr && distance_to(alignment, memory) != 0) {
      api.Free(memory);
      memory = allocate_shifted(bytes, alignment);
    }
    if (memory == nullptr) throw std::bad_alloc();
    if (wants_huge) advise_huge(static_cast<std::byte*>(memory), bytes, MADV_HUGEPAGE);
    clear(static_cast<std::byte*>(memory), bytes);
    if (is_for_blocks(alignment)) {
      ++blocks_;
      block_bytes_ += bytes;
    }
    return memory;
  }

  // What a filter asks for (nestline/memory.h). Entries of a ledger are aligned as words are.
  static bool is_for_blocks(std::size_t alignment) { return alignment >= kBlockAlignment; }

  // Null when there is no memory.
  void* allocate_shifted(std::size_t bytes, std::size_t alignment) {
    void* const given = api.TryAlloc(bytes + alignment);
    if (given == nullptr) return nullptr;
    void* const memory = static_cast<std::byte*>(given) + distance_to(alignment, given);
    if (memory == given) return memory;
    try {
      const std::scoped_lock lock(shifting_);
      shifted_.emplace(memory, given);
      has_shifted_.store(true);
    } catch (const std::bad_alloc&) {
      api.Free(given);
      return nullptr;
    }
    return memory;
  }

  void do_deallocate(void* memory, std::size_t bytes, std::size_t alignment) override {
    // The server may use it for anything then.
    if (has_huge) advise_huge(static_cast<std::byte*>(memory), bytes, MADV_NOHUGEPAGE);
    if (is_for_blocks(alignment)) {
      --blocks_;
      block_bytes_ -= bytes;
    }
    if (has_shifted_.load()) {
      const std::scoped_lock lock(shifting_);
      if (const auto entry = shifted_.find(memory); entry != shifted_.end()) {
        memory = entry->second;
        shifted_.erase(entry);
      }
    }
    api.Free(memory);
  }

  [[nodiscard]] bool do_is_equal(const memory_resource& other) const noexcept override {
    return this == &other;
  }

  // For blocks that begin after the start of their allocation: where that start is.
  std::unordered_map<void*, void*> shifted_;
  std::mutex shifting_;
  std::atomic<bool> has_shifted_{false};  // ever
  std::atomic<std::uint64_t> blocks_{0};  // allocations of them
  std::atomic<std::uint64_t> block_bytes_{0};
};

ServerMemory& the_memory() noexcept {
  // Never destroyed: a thread of the server may free a value while the process ends.
  alignas(ServerMemory) static std::byte place[sizeof(ServerMemory)];
  static ServerMemory* const memory = new (place) ServerMemory;
  return *memory;
}

}  // namespace

ZeroedMemory& server_memory() noexcept { return the_memory(); }
void use_huge_pages(bool yes) noexcept {
  wants_huge = yes;
  if (yes) has_huge = true;
}
ServerMemoryUse server_memory_use() noexcept { return the_memory().use(); }

WithinMaxmemory::WithinMaxmemory(Context* context, bool is_replayed, Unlimited unlimited)
    : context_(context), unlimited_(unlimited) {
  if (!is_replayed) limit = this;
}

WithinMaxmemory::~WithinMaxmemory() { limit = nullptr; }

void WithinMaxmemory::take(std::size_t bytes) {
  if (!room_) room_ = room_of_server(context_, unlimited_);
  if (bytes > *room_) {
    AboveMaxmemory above;
    above.wanted = bytes;
    above.room = *room_;
    throw above;
  }
  *room_ -= bytes;
}

}}}  // namespace nestline::redis
