// The filter on a mapped file; see mapped_filter.h. While sections are unchecked or damaged it uses
// CheckedLookup, otherwise the Filter that it inherits from.
#include "nestline/mapped_filter.h"

#include <memory>
#include <string>
#include <utility>

#include "lib/file/checked_lookup.h"
#include "lib/file/filter_bytes.h"
#include "lib/file/section_checks.h"
#include "lib/file/sources.h"
#include "lib/filter/batch_questions.h"
#include "lib/filter/span_checks.h"

namespace nestline {
namespace {

MemorySource mapped_bytes(const Filter& filter) {
  const Filter::State& state = FilterAccess::state(filter);
  return {state.path.string(), state.storage.bytes()};
}

std::span<const std::byte> checksums_of(const MemorySource& source, const FileHeader& header) {
  return source.at(header.checksums_offset(), static_cast<std::size_t>(header.checksums_bytes()));
}

}  // namespace

MappedFilter::MappedFilter(Filter&& filter, std::unique_ptr<SectionChecks> checks) noexcept
    : Filter(std::move(filter)), checks_(std::move(checks)) {}
MappedFilter::MappedFilter(MappedFilter&& other) noexcept = default;
MappedFilter& MappedFilter::operator=(MappedFilter&& other) noexcept = default;
MappedFilter::~MappedFilter() = default;

MappedFilter MappedFilter::open(const std::filesystem::path& path, Verify verify) {
  // The header is read, not mapped, so that later code uses exactly what was checked here.
  const FileSource file(path);
  const FileHeader header = read_header(file);
  Filter filter =
      make_filter(header, Storage::map(file.descriptor(), file.size(), path), kHeaderBytes, path);
  std::unique_ptr<SectionChecks> checks;
  if (verify == Verify::lazily) {
    const MemorySource bytes = mapped_bytes(filter);
    require(bytes.name(), ContentCheck(header, checksums_of(bytes, header)).checksums());
    checks = std::make_unique<SectionChecks>(header, bytes.at(0, bytes.size()));
  }
  MappedFilter mapped(std::move(filter), std::move(checks));
  if (verify == Verify::all) mapped.verify();
  return mapped;
}

void MappedFilter::verify() const {
  const MemorySource bytes = mapped_bytes(*this);
  const FileHeader header = read_header(bytes);
  check_content(bytes.name(), header, checksums_of(bytes, header), [&](std::uint64_t i) {
    return bytes.at(FileHeader::section_offset(i), header.section_bytes(i));
  });
}

std::optional<FormatError> MappedFilter::damage() const {
  const auto flaw = checks_ == nullptr ? std::nullopt : checks_->damage();
  if (!flaw) return std::nullopt;
  return FormatError(mapped_bytes(*this).name(), flaw->offset, flaw->cause);
}

Filter MappedFilter::snapshot(std::pmr::memory_resource* memory) const {
  return read_filter(mapped_bytes(*this), memory);
}

bool MappedFilter::needs_checks() const noexcept {
  return checks_ != nullptr && !checks_->all_good();
}

bool MappedFilter::may_contain_one(std::uint64_t key) const noexcept {
  if (!needs_checks()) return Filter::may_contain(key);
  const State& state = FilterAccess::state(*this);
  return CheckedLookup(state, *checks_).may_contain(state.hash(key));
}
bool MappedFilter::may_contain_one(std::string_view key) const noexcept {
  return may_contain(Hash{FilterAccess::state(*this).hash(key)});
}
bool MappedFilter::may_contain_one(Hash key) const noexcept {
  if (!needs_checks()) return Filter::may_contain(key);
  return CheckedLookup(FilterAccess::state(*this), *checks_).may_contain(key.value);
}

unsigned MappedFilter::count_one(std::uint64_t key) const noexcept {
  return count(Hash{FilterAccess::state(*this).hash(key)});
}
unsigned MappedFilter::count_one(std::string_view key) const noexcept {
  return count(Hash{FilterAccess::state(*this).hash(key)});
}
unsigned MappedFilter::count_one(Hash key) const noexcept {
  if (!needs_checks()) return Filter::count(key);
  return CheckedLookup(FilterAccess::state(*this), *checks_).count(key.value);
}

std::size_t MappedFilter::may_contain(KeySpan keys, std::span<std::uint8_t> out) const {
  if (!needs_checks()) return Filter::may_contain(keys, out);
  return batch::may_contain(CheckedLookup(FilterAccess::state(*this), *checks_), keys, seed(), out);
}

std::size_t MappedFilter::may_contain_bits(KeySpan keys, std::span<std::uint64_t> bitmap) const {
  if (!needs_checks()) return Filter::may_contain_bits(keys, bitmap);
  return batch::may_contain_bits(CheckedLookup(FilterAccess::state(*this), *checks_), keys, seed(),
                                 bitmap);
}

std::size_t MappedFilter::select(KeySpan keys, std::span<std::uint32_t> positions) const {
  if (!needs_checks()) return Filter::select(keys, positions);
  return batch::select(CheckedLookup(FilterAccess::state(*this), *checks_), keys, seed(),
                       positions);
}

std::size_t MappedFilter::select(KeySpan keys, std::span<const std::uint32_t> selection,
                                 std::span<std::uint32_t> positions) const {
  if (!needs_checks()) return Filter::select(keys, selection, positions);
  return batch::select(CheckedLookup(FilterAccess::state(*this), *checks_), keys, seed(), selection,
                       positions);
}

void MappedFilter::count(KeySpan keys, std::span<std::uint8_t> out) const {
  if (!needs_checks()) return Filter::count(keys, out);
  check_length("out", out.size(), keys.size());
  const CheckedLookup lookup(FilterAccess::state(*this), *checks_);
  for (KeyChunks chunks(keys, seed()); chunks.next();) {
    lookup.count(chunks.inputs(), out.data() + chunks.first());
  }
}

}  // namespace nestline
