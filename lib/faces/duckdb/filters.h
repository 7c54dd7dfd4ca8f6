// The filters that statements ask, opened once for the process.
//
// DuckDB hands a filter over in each chunk of rows, as a pointer to bytes that may lie anywhere and
// be gone after the call. So a filter is known by what is in it: the fields of its header and the
// checksum of all checksums, which are read each time. It is checked, and copied to aligned blocks,
// when it comes for the first time. All threads and connections share the copy.
//
// DuckDB copies values of rows that pass a join or a filter: a blob of a megabyte that comes from a
// subquery, for each of them. So nestline_open returns a handle instead, a hash of that identity
// under a seed of the process. Its 12 bytes are in the value itself, which costs nothing to copy.
//
// Beyond so many filters or bytes some go, those that were not asked for longest: first filters
// without a handle, then, when a handle for one more is made, those that have one. So other blobs
// never take a filter from its handle. The newest always stays, and so does what a thread has in
// use.
#ifndef NESTLINE_LIB_FACES_DUCKDB_FILTERS_H_
#define NESTLINE_LIB_FACES_DUCKDB_FILTERS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <random>
#include <span>
#include <unordered_map>

#include "lib/faces/embed/identity.h"
#include "nestline/filter.h"

namespace nestline { inline namespace v0_3 { namespace duckdb {

class Filters {
 public:
  struct Size {
    std::uint64_t filters;
    std::uint64_t bytes;
  };
  explicit Filters(Size most) : most_(most) {}
  using Handle = std::array<std::byte, 12>;
  struct Opened {
    std::shared_ptr<const Filter> filter;
    std::uint64_t bytes;  // of its blob
    Handle handle;
    Identity identity;
  };

  enum class For { once, handle };  // whether the handle is given away
  // The filter in these bytes, or of this handle. Throws FormatError, std::bad_alloc, and
  // std::runtime_error for the handle of a filter that has gone. Safe in any thread. O(1), and
  // O(bytes) for the first time.
  Opened open(std::span<const std::byte> bytes, For use = For::once);
  // What tells this filter from others.
  [[nodiscard]] std::uint64_t number_of(std::span<const std::byte> bytes) const;
  // Sets the limits, and lets go what is beyond. Safe in any thread.
  void limit(Size most);
  struct State {
    Size most;
    Size open;
  };
  [[nodiscard]] State state();

 private:
  struct Kept {
    std::uint64_t number;
    Opened opened;
    bool has_handle;
  };
  using List = std::list<Kept>;
  List& list_of(bool has_handle) { return has_handle ? with_handle_ : others_; }
  Opened keep(Kept kept);
  // Moves it to the front of its list.
  const Opened& renewed(List::iterator kept, For use);
  // What is beyond the limits, to be freed without the lock: all but the newest of a list.
  List beyond(const List& newest);

  const std::uint64_t seed_ = std::random_device()();
  std::mutex mutex_;
  Size most_;
  List with_handle_;  // the newest first
  List others_;
  std::unordered_map<std::uint64_t, List::iterator> places_;
  std::uint64_t bytes_ = 0;
};

// Those of the process.
Filters& filters();
// One of them.
Filters::Opened opened(std::span<const std::byte> bytes);

}}}  // namespace nestline::duckdb

#endif  // NESTLINE_LIB_FACES_DUCKDB_FILTERS_H_
