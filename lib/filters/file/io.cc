// Filters to and from files, byte arrays, streams and callbacks. file_format.h documents what the
// bytes mean.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <ios>
#include <istream>
#include <memory>
#include <memory_resource>
#include <optional>
#include <ostream>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "lib/engine/kernels/build_kernels.h"
#include "lib/filters/file/filter_bytes.h"

namespace nestline { inline namespace v0_3 {
namespace {

// The most blocks of a stream to allocate at once on its header's word; beyond that, at most twice
// as many as the stream has delivered.
constexpr std::uint64_t kFirstBlocks = (std::uint64_t{16} << 20) / kBlockBytes;

[[noreturn]] void fail_stream(const char* what) {
  throw std::system_error(std::make_error_code(std::io_errc::stream), what);
}

}  // namespace

std::size_t StreamSource::read_some(std::span<std::byte> to) {
  std::size_t filled = 0;
  while (filled < to.size()) {
    const auto rest = to.subspan(filled);
    const std::size_t count = give_(rest);
    if (count > rest.size()) {
      throw std::invalid_argument("the function that gives the bytes of a filter says it gave " +
                                  std::to_string(count) + " bytes, but it was asked for " +
                                  std::to_string(rest.size()) + " at most");
    }
    if (count == 0) break;
    filled += count;
  }
  offset_ += filled;
  return filled;
}

void StreamSource::read(std::span<std::byte> to, std::uint64_t wanted) {
  if (read_some(to) == to.size()) return;
  const Flaw flaw = ends_too_early(offset_, wanted);
  throw FormatError(name_, flaw.offset, flaw.cause);
}

void write_filter(const FileHeader& header, const Blocks& blocks, const ByteSink& sink) {
  HeaderBytes room;
  sink(encode_header(header, room));
  const auto* const first = reinterpret_cast<const std::byte*>(blocks.view.blocks);
  std::vector<std::byte> checksums;
  checksums.reserve(static_cast<std::size_t>(header.checksums_bytes()));
  const auto add_checksum = [&](std::span<const std::byte> bytes) {
    const ChecksumBytes checksum = encode_checksum(bytes);
    checksums.insert(checksums.end(), checksum.begin(), checksum.end());
  };
  for (std::uint64_t i = 0; i < header.sections(); ++i) {
    const std::span section(first + static_cast<std::size_t>(i) * kSectionBytes,
                            header.section_bytes(i));
    add_checksum(section);
    sink(section);
  }
  add_checksum(checksums);
  sink(checksums);
}

namespace {

#if !NESTLINE_SMALL  // which changes no filter with guest lanes
// Whether a resident of a class above kOlderLanesTop may be a guest: by the other blocks' marks.
template <class L>
bool has_unknown(const Blocks& state, std::uint64_t number) {
  const BlocksView& view = state.view;
  for (std::uint32_t slot = 0; slot < L::kSlots; ++slot) {
    const std::uint32_t fingerprint = L::get(view.blocks[number], slot);
    if (class_of(fingerprint) <= kOlderLanesTop) continue;
    const std::uint64_t other = alternate_of(view.geometry, {number, 0, fingerprint, 0});
    if (eviction_rank(fingerprint) < view.blocks[other].overflow_mark()) return true;
  }
  return false;
}

// Makes a filter of hash version 3 one of version 4.
void take_over_version_3(Blocks& state) {
  Geometry geometry = state.view.geometry;
  geometry.placement = Placement::guest_lanes;
  const auto classes = [&](std::uint64_t i) { return block_classes(state.bits, geometry, i); };
  visit_layout(state.bits, [&](auto layout) {
    for (std::uint64_t i = 0; i < state.view.geometry.blocks(); ++i) {
      state.engine->build->take_over_version_3(state.blocks()[i], classes(i),
                                               has_unknown<decltype(layout)>(state, i));
    }
  });
  state.view.geometry = geometry;
}
#endif

}  // namespace

Stored make_stored(FileHeader header, Storage storage, std::size_t offset) {
  auto blocks = std::make_unique<Blocks>(header, std::move(storage), offset);
  blocks->size = header.keys;
  if (is_expiring(header.bits)) set_tick(blocks->blocks(), header.tick);
#if !NESTLINE_SMALL
  if (header.geometry.placement == Placement::older_lanes) take_over_version_3(*blocks);
#endif
  header.geometry = blocks->view.geometry;
  return {header, std::move(blocks)};
}

Stored read_filter(StreamSource& source, std::pmr::memory_resource* memory,
                   const KindOfFilter& kind) {
  FileHeader header;
  HeaderBytes start;
  std::size_t count = source.read_some(std::span(start).first(kLeastHeaderBytes));
  if (count == kLeastHeaderBytes) {
    const std::size_t all = header_bytes_of(std::span(start).first(count));
    count += source.read_some(std::span(start).first(all).subspan(count));
  }
  require(source.name(), decode_header(std::span(start).first(count), std::nullopt, header, kind));

  const std::uint64_t head = header.head_blocks();
  const std::uint64_t blocks = header.stored_blocks();
  Storage storage;
  for (std::uint64_t done = 0; done < blocks;) {
    const std::uint64_t next = std::min(blocks, std::max(kFirstBlocks, 2 * done));
    Storage larger = Storage::allocate(head + next, memory);
    std::copy_n(storage.bytes().begin(), storage.bytes().size(), larger.bytes().begin());
    storage = std::move(larger);
    source.read(storage.bytes().subspan(static_cast<std::size_t>(head + done) * kBlockBytes),
                header.file_bytes());
    done = next;
  }
  std::vector<std::byte> checksums(static_cast<std::size_t>(header.checksums_bytes()));
  source.read(checksums, header.file_bytes());
  check_content(source.name(), header, checksums, [&](std::uint64_t i) {
    return storage.bytes().subspan(
        static_cast<std::size_t>(head) * kBlockBytes + static_cast<std::size_t>(i) * kSectionBytes,
        header.section_bytes(i));
  });
  return make_stored(header, std::move(storage), static_cast<std::size_t>(head) * kBlockBytes);
}

namespace {

void require_good(const std::ostream& stream) {
  if (!stream) fail_stream("the filter cannot be written to the stream");
}

void require_good(const std::istream& stream) {
  // The end is no error here: the format's checks report what is missing.
  if (stream.bad() || (stream.fail() && !stream.eof())) {
    fail_stream("the filter cannot be read from the stream");
  }
}

std::size_t read_some(std::istream& stream, std::span<std::byte> to) {
  stream.read(reinterpret_cast<char*>(to.data()), static_cast<std::streamsize>(to.size()));
  require_good(stream);
  return static_cast<std::size_t>(stream.gcount());
}

}  // namespace

Stored read_filter(const Input& from, std::pmr::memory_resource* memory, const KindOfFilter& kind) {
  if (const auto* path = std::get_if<std::filesystem::path>(&from.from())) {
    return read_filter(RegularFile(*path), memory, kind);
  }
  if (const auto* bytes = std::get_if<std::span<const std::byte>>(&from.from())) {
    return read_filter(MemorySource("bytes", *bytes), memory, kind);
  }
  ByteSource give;
  if (const auto* stream = std::get_if<std::reference_wrapper<std::istream>>(&from.from())) {
    require_good(*stream);
    give = [stream](std::span<std::byte> to) { return read_some(*stream, to); };
  }
  StreamSource source(give ? give : std::get<ByteSource>(from.from()));
  return read_filter(source, memory, kind);
}

void write_filter(const Output& to, const Shape& shape, const Blocks& blocks) {
  const FileHeader header{shape, blocks.size,
                          to.head() == Head::page ? kPageVersion : kSmallVersion};
  const auto produce = [&](const ByteSink& sink) { write_filter(header, blocks, sink); };
  if (const auto* path = std::get_if<std::filesystem::path>(&to.to())) {
    return replace_file(*path, produce);
  }
  if (const auto* sink = std::get_if<ByteSink>(&to.to())) return produce(*sink);
  std::ostream& stream = std::get<std::reference_wrapper<std::ostream>>(to.to());
  require_good(stream);
  produce([&](std::span<const std::byte> bytes) {
    stream.write(reinterpret_cast<const char*>(bytes.data()),
                 static_cast<std::streamsize>(bytes.size()));
    require_good(stream);
  });
  stream.flush();
  require_good(stream);
}

void save(const Filter& filter, const Output& to) {
  const Blocks& blocks = FilterAccess::blocks(filter);
  write_filter(to, blocks.shape(), blocks);
}

Filter Filter::load(const Input& from, std::pmr::memory_resource* memory) {
  return FilterAccess::make(read_filter(from, memory, kFilters).blocks);
}

}}  // namespace nestline
