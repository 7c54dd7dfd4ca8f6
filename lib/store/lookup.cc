#include "lib/store/lookup.h"

#include "lib/store/segment_format.h"

namespace nestline {

void throw_damaged(const Disk& disk, std::uint64_t segment, std::uint64_t offset,
                   const std::string& what) {
  throw StoreError(disk.path_of(segment_name(segment)).string() + ": damaged at byte " +
                   std::to_string(offset) + ": " + what +
                   "; repair_store() or 'nestline store repair' keeps what is whole");
}

void Lookup::check_other(const Segment& segment, std::uint64_t offset) const {
  if (!read_record(segment.from(offset), segment.place(offset))) {
    throw_damaged(disk_, segment.header.number, offset, "there is no valid record");
  }
}

void Lookup::throw_lost(std::uint64_t address) const {
  throw StoreError(disk_.path_of("index.nest").string() + ": the index points to a file that is " +
                   "not there (address " + std::to_string(address) +
                   "): remove this file, and the store reads its log");
}

}  // namespace nestline
