// Maplets to and from files, sinks and bytes: the format of filters, whose code does the work.
#include <span>
#include <utility>

#include "lib/concurrent/concurrent_state.h"
#include "lib/file/filter_bytes.h"
#include "lib/file/replacement.h"
#include "lib/file/sources.h"
#include "lib/maplet/maplet_state.h"
#include "nestline/maplet.h"

namespace nestline {
namespace {

Maplet maplet_of(Filter&& read) {
  ConcurrentFilter::register_thread();
  return MapletAccess::make(FilterAccess::take(std::move(read)));
}

// Copies the maplet, so that its bytes are of one instant and writers need not wait for a disk.
template <typename Write>
void save_copy(const Maplet& maplet, Write&& write) {
  const Maplet copy = maplet.snapshot();
  MapletAccess::state(copy).read([&](const Filter::State& table) { write(table); });
}

}  // namespace

void save(const Maplet& maplet, const std::filesystem::path& path) {
  save_copy(maplet, [&](const Filter::State& table) {
    replace_file(path, [&](const ByteSink& sink) { write_filter(table, sink); });
  });
}

void save(const Maplet& maplet, const ByteSink& sink) {
  save_copy(maplet, [&](const Filter::State& table) { write_filter(table, sink); });
}

void save(Maplet&& maplet, const ByteSink& sink) {
  const Maplet own = std::move(maplet);
  const Maplet::State::Pause alone(MapletAccess::state(own));  // counts the keys
  write_filter(alone.table(), sink);
}

Maplet load_maplet(const std::filesystem::path& path) {
  return maplet_of(read_filter(FileSource(path), nullptr, FileContent::maplet));
}

Maplet load_maplet(const ByteSource& source) {
  StreamSource stream(source);
  return maplet_of(read_filter(stream, nullptr, FileContent::maplet));
}

Maplet load_maplet(std::span<const std::byte> bytes) {
  return maplet_of(read_filter(MemorySource("bytes", bytes), nullptr, FileContent::maplet));
}

}  // namespace nestline
