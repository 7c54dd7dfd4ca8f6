#include "lib/file/filter_bytes.h"

#include <memory>
#include <utility>
#include <vector>

namespace nestline {

FileHeader header_of(const Filter::State& state) {
  return {state.bits, state.view.geometry, state.seed,
          state.size, state.capacity,      state.max_capacity};
}

void write_filter(const Filter::State& state, const ByteSink& sink) {
  const FileHeader header = header_of(state);
  sink(encode_header(header));
  const auto* const blocks = reinterpret_cast<const std::byte*>(state.view.blocks);
  std::vector<std::byte> checksums;
  checksums.reserve(static_cast<std::size_t>(header.checksums_bytes()));
  const auto add_checksum = [&](std::span<const std::byte> bytes) {
    const ChecksumBytes checksum = encode_checksum(bytes);
    checksums.insert(checksums.end(), checksum.begin(), checksum.end());
  };
  for (std::uint64_t i = 0; i < header.sections(); ++i) {
    const std::span section(blocks + static_cast<std::size_t>(i) * kSectionBytes,
                            header.section_bytes(i));
    add_checksum(section);
    sink(section);
  }
  add_checksum(checksums);
  sink(checksums);
}

Filter make_filter(const FileHeader& header, Storage storage, std::size_t offset,
                   std::filesystem::path path) {
  auto state = std::make_unique<Filter::State>(header.bits, header.geometry, header.seed,
                                               header.capacity, std::move(storage), offset);
  state->size = header.keys;
  state->max_capacity = header.max_capacity;
  state->path = std::move(path);
  return FilterAccess::make(std::move(state));
}

}  // namespace nestline
