#include "lib/faces/command/which/named_lines.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <unordered_set>
#include <utility>

#include "lib/engine/place/little_endian.h"
#include "lib/faces/command/io/input_file.h"

namespace nestline { inline namespace v0_3 { namespace command {
namespace {

constexpr std::uint64_t kVersion = 1;
constexpr std::size_t kNumber = sizeof(std::uint64_t);
constexpr std::size_t kHead = 4 * kNumber;  // magic, version, how many names, where the maplet is
constexpr std::size_t kUnit = 64;           // the maplet begins at a multiple of this

// All that is before the maplet.
std::vector<std::byte> start_of(const Names& names) {
  std::vector<std::byte> bytes(kHead);
  for (const std::string& name : names) {
    bytes.resize(bytes.size() + kNumber);
    put(std::span(bytes), bytes.size() - kNumber, std::uint64_t{name.size()});
    const auto text = std::as_bytes(std::span(name));
    bytes.insert(bytes.end(), text.begin(), text.end());
  }
  bytes.resize((bytes.size() + kNumber + kUnit - 1) / kUnit * kUnit);
  const std::array<std::uint64_t, 4> head = {kNamedLinesMagic, kVersion, names.size(),
                                             bytes.size()};
  for (std::size_t i = 0; i < head.size(); ++i) put(std::span(bytes), i * kNumber, head[i]);
  const auto before = std::span(bytes).first(bytes.size() - kNumber);
  // A string's hash under seed 0 is its XXH3.
  put(std::span(bytes), before.size(), hash_key(std::span<const std::byte>(before), 0).value);
  return bytes;
}

}  // namespace

NamedLinesFile::NamedLinesFile(const std::string& path) : NamedLinesFile(RegularFile(path), path) {
  read_names();
}

NamedLinesFile::NamedLinesFile(const RegularFile& file, std::string path)
    : path_(std::move(path)), bytes_(file.size() > 0 ? file.map() : std::span<std::byte>()) {}

void NamedLinesFile::read_names() {
  const auto require = [&](bool good, std::size_t offset, const char* cause) {
    if (!good) throw FormatError(path_, offset, cause);
  };
  const auto number = [&](std::size_t at) { return get<std::uint64_t>(bytes_, at); };
  require(bytes_.size() < kNumber || number(0) == kNamedLinesMagic, 0,
          "this is not a file of nestline which");
  require(bytes_.size() >= kHead + kNumber, bytes_.size(), "the file ends here; it is not whole");
  require(number(kNumber) == kVersion, kNumber,
          "this version of nestline does not know this kind of file");
  const std::uint64_t size = number(3 * kNumber);
  require(size >= kHead + kNumber, 3 * kNumber, "the lines cannot begin there");
  require(size < bytes_.size(), bytes_.size(), "the file ends here; it is not whole");
  start_ = static_cast<std::size_t>(size);
  const std::size_t end = start_ - kNumber;
  std::unordered_set<std::string> known;
  std::size_t at = kHead;
  std::uint64_t left = number(2 * kNumber);
  require(left <= kMostNames, 2 * kNumber, "there are too many names");
  for (; left > 0; --left) {
    require(end - at >= kNumber, at, "there are not so many names");
    const std::uint64_t length = number(at);
    require(length <= end - at - kNumber, at, "this name is too long");
    const auto text = bytes_.subspan(at + kNumber, static_cast<std::size_t>(length));
    const std::string& name =
        names_.emplace_back(reinterpret_cast<const char*>(text.data()), text.size());
    require(name.empty() || (is_name(name) && known.insert(name).second), at,
            "this is no name, or one that another number has");
    at += kNumber + text.size();
  }
  require(std::ranges::equal(start_of(names_), bytes_.first(start_)), end,
          "the names do not match their checksum");
}

NamedLines load_named(const std::string& path) {
  const NamedLinesFile file(path);
  NamedLines all{file.names(), file.with_maplet([](auto bytes) { return Maplet::load(bytes); })};
  if (all.lines.value_bits() > 16 || all.names.size() > all.lines.max_value()) {
    throw FormatError(path, 2 * kNumber, "the maplet has no values for so many names");
  }
  return all;
}

void save_named(NamedLines&& all, const std::string& file) {
  replace_file(file, [&](const ByteSink& sink) {
    sink(start_of(all.names));
    save(std::move(all.lines), sink);
  });
}

}}}  // namespace nestline::command
