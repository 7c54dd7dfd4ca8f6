#include "lib/file/filter_bytes.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

namespace nestline {
namespace {

// The most blocks of a stream to allocate at once on its header's word; beyond that, at most twice
// as many as the stream has delivered.
constexpr std::uint64_t kFirstBlocks = (std::uint64_t{16} << 20) / kBlockBytes;

}  // namespace

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

Filter read_filter(StreamSource& source, std::pmr::memory_resource* memory, FileContent content) {
  HeaderBytes start;
  const std::size_t count = source.read_some(start);
  FileHeader header;
  require(source.name(),
          decode_header(std::span(start).first(count), std::nullopt, header, content));

  const std::uint64_t blocks = header.geometry.blocks();
  Storage storage;
  for (std::uint64_t done = 0; done < blocks;) {
    const std::uint64_t next = std::min(blocks, std::max(kFirstBlocks, 2 * done));
    Storage larger = Storage::allocate(next, memory);
    std::copy_n(storage.bytes().begin(), storage.bytes().size(), larger.bytes().begin());
    storage = std::move(larger);
    source.read(storage.bytes().subspan(static_cast<std::size_t>(done) * kBlockBytes),
                header.file_bytes());
    done = next;
  }
  std::vector<std::byte> checksums(static_cast<std::size_t>(header.checksums_bytes()));
  source.read(checksums, header.file_bytes());
  check_content(source.name(), header, checksums, [&](std::uint64_t i) {
    return storage.bytes().subspan(static_cast<std::size_t>(i) * kSectionBytes,
                                   header.section_bytes(i));
  });
  return make_filter(header, std::move(storage), 0, {});
}

}  // namespace nestline
