// What a store holds: its segments, the index of their records, and how many keys there are.
//
// A store that writes has one Content all its life. One that only reads exchanges it when it cannot
// follow the log any more.
#ifndef NESTLINE_LIB_STORE_CONTENT_H_
#define NESTLINE_LIB_STORE_CONTENT_H_

#include <atomic>
#include <cstdint>
#include <memory>

#include "lib/store/index.h"
#include "lib/store/record.h"
#include "lib/store/segment_table.h"

namespace nestline {

struct Content {
  Content(std::uint64_t id, AddressFormat format, std::unique_ptr<Index> first)
      : store_id(id), table(format), index(first.release()) {}
  ~Content() { delete index.load(); }
  Content(const Content&) = delete;
  Content& operator=(const Content&) = delete;

  // The record at `address` counts from now on, or does not any more. For one thread at a time.
  void now_live(std::uint64_t address, std::uint64_t bytes, Space space) {
    SegmentCounts::add(table.find(address)->counts.live, bytes);
    if (space == Space::keys) SegmentCounts::add(keys, 1);
  }
  void now_dead(std::uint64_t address, std::uint64_t bytes, Space space) {
    SegmentCounts::subtract(table.find(address)->counts.live, bytes);
    if (space == Space::keys) SegmentCounts::subtract(keys, 1);
  }

  const std::uint64_t store_id;
  SegmentTable table;
  std::atomic<Index*> index;  // exchanged when it is worn
  std::atomic<std::uint64_t> keys{0};
};

}  // namespace nestline

#endif  // NESTLINE_LIB_STORE_CONTENT_H_
