// Where the blocks of a filter lie: in pages from the system, or in memory of the caller's.
//
//   CountedMemory memory;  // derives from std::pmr::memory_resource
//   nestline::Filter filter({.capacity = 1'000'000, .memory = &memory});
//
// What the library asks of a resource in Options::memory, and what the resource promises:
//
// - Each table of blocks is one allocation: a multiple of 64 bytes, aligned to 64. grow,
//   merge and an insert that makes the filter grow ask for the new table before they give the old
//   one back. Nothing but blocks comes from the resource; the few hundred bytes around them come
//   from operator new.
// - The library writes zeros over what it gets, unless the resource is a ZeroedMemory.
// - It must outlive every filter that uses it: the one made with it, and those made from that one
//   by moving, growing, merging into it or copying.
// - allocate may throw std::bad_alloc and types derived from it. Anything else ends the program
//   when it comes out of an insert, which is noexcept. deallocate must not throw.
// - It is called by whichever thread creates, grows, shrinks, merges or destroys a filter, also
//   by an insert or an erase. One that serves
//   filters of several threads, or a ConcurrentFilter, must be safe for that, as
//   std::pmr::synchronized_pool_resource is.
#ifndef NESTLINE_MEMORY_H_
#define NESTLINE_MEMORY_H_

#include <memory_resource>

#include "nestline/export.h"

namespace nestline { inline namespace v0_3 {

/// A resource whose allocate gives bytes that are all 0, as fresh pages are. Derive from it: then
/// the library writes no zeros, and pages take memory only when they are first used.
class NESTLINE_EXPORT ZeroedMemory : public std::pmr::memory_resource {};

/// The resource that filters have when Options::memory is null: memory of std::aligned_alloc for
/// what fits into a page, fresh pages from the system for each larger allocation. From 2 MiB on
/// they are aligned to 2 MiB and the system is asked for huge pages: a filter is read at random,
/// and with small pages most of the time goes into waiting for page tables. Windows gives small
/// ones. A resource of your own may pass its calls on to it. Lives as long as the process. Safe in
/// any thread.
NESTLINE_EXPORT ZeroedMemory& mapped_memory() noexcept;

}}  // namespace nestline

#endif  // NESTLINE_MEMORY_H_
