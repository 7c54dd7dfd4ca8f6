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
// What was not asked for longest goes, beyond so many filters or bytes; the newest always stays. A
// thread that has one in use keeps it.
#ifndef NESTLINE_LIB_DUCKDB_FILTERS_H_
#define NESTLINE_LIB_DUCKDB_FILTERS_H_

#include <list>
#include <mutex>
#include <random>
#include <unordered_map>

#include "lib/embed/blob_filter.h"
#include "nestline/filter.h"

namespace nestline::inline v0_2::duckdb {

class Filters {
 public:
  Filters(std::size_t most, std::size_t most_bytes) : most_(most), most_bytes_(most_bytes) {}
  using Handle = std::array<std::byte, 12>;
  struct Opened {
    std::shared_ptr<const Filter> filter;
    std::uint64_t bytes;  // of its blob
    Handle handle;
  };

  // The filter in these bytes, or of this handle. Throws FormatError, std::bad_alloc, and
  // std::runtime_error for the handle of a filter that has gone. Safe in any thread. O(1), and
  // O(bytes) for the first time.
  Opened open(std::span<const std::byte> bytes);

 private:
  using Identity = BlobFilter::Identity;
  static constexpr std::uint32_t kMark = 0x7473656e;  // "nest": a handle begins with it
  struct Kept {
    std::uint64_t number;
    Identity identity;
    Opened opened;
  };
  Opened keep(Kept kept);

  const std::size_t most_;
  const std::size_t most_bytes_;
  const std::uint64_t seed_ = std::random_device()();
  std::mutex mutex_;
  std::list<Kept> kept_;  // the newest first
  std::unordered_map<std::uint64_t, std::list<Kept>::iterator> places_;
  std::size_t bytes_ = 0;
};

// The same of the filters of the process.
Filters::Opened opened(std::span<const std::byte> bytes);

}  // namespace nestline::inline v0_2::duckdb

#endif  // NESTLINE_LIB_DUCKDB_FILTERS_H_
