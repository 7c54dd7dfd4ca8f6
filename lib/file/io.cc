// Filters to and from files, byte arrays, streams and callbacks. file_format.h says what the bytes
// mean, replacement.h how a file is replaced.
#include "nestline/io.h"

#include <algorithm>
#include <istream>
#include <new>
#include <ostream>
#include <string>
#include <system_error>

#include "lib/file/filter_bytes.h"
#include "lib/file/replacement.h"
#include "lib/file/sources.h"

namespace nestline {
namespace {

[[noreturn]] void fail_stream(const char* what) {
  throw std::system_error(std::make_error_code(std::io_errc::stream), what);
}

}  // namespace

void save(const Filter& filter, const std::filesystem::path& path) {
  replace_file(path,
               [&](const ByteSink& sink) { write_filter(FilterAccess::state(filter), sink); });
}

void save(const Filter& filter, const ByteSink& sink) {
  write_filter(FilterAccess::state(filter), sink);
}

void save(const Filter& filter, std::ostream& stream) {
  const auto require_good = [&] {
    if (!stream) fail_stream("the filter cannot be written to the stream");
  };
  require_good();
  save(filter, [&](std::span<const std::byte> bytes) {
    stream.write(reinterpret_cast<const char*>(bytes.data()),
                 static_cast<std::streamsize>(bytes.size()));
    require_good();
  });
  stream.flush();
  require_good();
}

Filter load(const std::filesystem::path& path, std::pmr::memory_resource* memory) {
  return read_filter(FileSource(path), memory);
}

Filter load(const ByteSource& source, std::pmr::memory_resource* memory) {
  StreamSource stream(source);
  return read_filter(stream, memory);
}

Filter load(std::istream& stream, std::pmr::memory_resource* memory) {
  const auto require_good = [&] {
    // The end is no error here: the format's checks report what is missing.
    if (stream.bad() || (stream.fail() && !stream.eof())) {
      fail_stream("the filter cannot be read from the stream");
    }
  };
  require_good();
  const auto source = [&](std::span<std::byte> to) {
    stream.read(reinterpret_cast<char*>(to.data()), static_cast<std::streamsize>(to.size()));
    require_good();
    return static_cast<std::size_t>(stream.gcount());
  };
  return load(source, memory);
}

std::vector<std::byte> to_bytes(const Filter& filter) {
  const Filter::State& state = FilterAccess::state(filter);
  std::vector<std::byte> all;
  all.reserve(static_cast<std::size_t>(header_of(state).file_bytes()));
  write_filter(state, [&](std::span<const std::byte> bytes) {
    all.insert(all.end(), bytes.begin(), bytes.end());
  });
  return all;
}

Filter from_bytes(std::span<const std::byte> bytes, std::pmr::memory_resource* memory) {
  return read_filter(MemorySource("bytes", bytes), memory);
}

}  // namespace nestline
