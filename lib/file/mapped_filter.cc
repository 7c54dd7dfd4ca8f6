// The filter on a mapped file; see mapped_filter.h.
#include "nestline/mapped_filter.h"

#include <utility>

#include "lib/file/filter_bytes.h"
#include "lib/file/sources.h"

namespace nestline {
namespace {

MemorySource mapped_bytes(const Filter& filter) {
  const Filter::State& state = FilterAccess::state(filter);
  return MemorySource(state.path.string(), state.storage.bytes());
}

}  // namespace

MappedFilter::MappedFilter(Filter&& filter) noexcept : Filter(std::move(filter)) {}

MappedFilter MappedFilter::open(const std::filesystem::path& path) {
  // The header is read, not mapped: what was judged here is what is used later.
  const FileSource source(path);
  const FileHeader header = read_header(source);
  return MappedFilter(make_filter(header, Storage::map(source.descriptor(), source.size(), path),
                                  kHeaderBytes, path));
}

Filter MappedFilter::snapshot(std::pmr::memory_resource* memory) const {
  return read_filter(mapped_bytes(*this), memory);
}

void MappedFilter::verify() const {
  const MemorySource source = mapped_bytes(*this);
  const FileHeader header = read_header(source);
  const auto checksums =
      source.at(header.checksums_offset(), static_cast<std::size_t>(header.checksums_bytes()));
  check_content(source.name(), header, checksums, [&](std::uint64_t i) {
    return source.at(FileHeader::section_offset(i), header.section_bytes(i));
  });
}

}  // namespace nestline
