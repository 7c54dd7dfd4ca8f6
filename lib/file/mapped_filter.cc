// The filter on a mapped file; see mapped_filter.h.
#include "nestline/mapped_filter.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "lib/file/filter_bytes.h"
#include "lib/file/sources.h"
#include "lib/filter/batch.h"
#include "lib/place/geometry.h"

namespace nestline {
namespace {

MemorySource mapped_bytes(const Filter& filter) {
  const Blocks& state = FilterAccess::blocks(filter);
  return {state.path.string(), state.storage.bytes()};
}

// Lookups that check a section before they look at a block in it, until all sections are known to
// be good. A key that may be in a damaged section counts as having all the copies it could have, so
// an inserted key is never missed.
struct CheckedLookup {
  const Blocks& state;
  SectionChecks* checks;  // null: nothing is checked

  [[nodiscard]] bool all_good() const noexcept { return checks == nullptr || checks->all_good(); }
  [[nodiscard]] const FilterKernels& kernels() const { return state.kernels->of_filter(); }

  [[nodiscard]] bool may_contain(std::uint64_t hash) const noexcept {
    if (all_good()) return kernels().contains(state.view, hash);
    return copies(hash, true) != 0;
  }
  // How many copies there are, or of `any` whether there is one.
  [[nodiscard]] unsigned copies(std::uint64_t hash, bool any) const noexcept {
    return copies(home_of(state.bits, state.view.geometry, hash), any);
  }
  [[nodiscard]] unsigned copies(const Place& home, bool any) const noexcept {
    bool good = all_good() || checks->is_good(home.block);
    if (!good) return most_copies(state.bits);
    const unsigned found = count_copies(kernels(), state.view.geometry, home, any,
                                        [&](std::uint64_t block) -> const Block& {
                                          good = all_good() || checks->is_good(block);
                                          return state.view.blocks[block];
                                        });
    return good ? found : most_copies(state.bits);
  }
  // Calls take(i, copies) for each key of a chunk.
  template <typename Take>
  void for_each(const Inputs& inputs, bool any, const Take& take) const {
    std::array<Place, kMaxLocated> homes;
    for (std::size_t first = 0; first < inputs.count; first += kMaxLocated) {
      const Inputs group = inputs.from(first).first(kMaxLocated);
      kernels().locate_batch(state.view, group.keys, group.count, group.kind, homes.data());
      for (std::size_t i = 0; i < group.count; ++i) take(first + i, copies(homes[i], any));
    }
  }
  // As batch.h wants it.
  void operator()(const Inputs& inputs, std::uint64_t* bitmap) const {
    if (all_good()) {
      kernels().contains_batch(state.view, inputs.keys, inputs.count, inputs.kind, bitmap);
      return;
    }
    std::fill_n(bitmap, (inputs.count + 63) / 64, std::uint64_t{0});
    for_each(inputs, true, [&](std::size_t i, unsigned copies) {
      bitmap[i / 64] |= std::uint64_t{copies != 0} << i % 64;
    });
  }
};

}  // namespace

MappedFilter::MappedFilter(Filter&& filter, std::unique_ptr<SectionChecks> checks) noexcept
    : Filter(std::move(filter)), checks_(std::move(checks)) {}
MappedFilter::MappedFilter(MappedFilter&& other) noexcept = default;
MappedFilter& MappedFilter::operator=(MappedFilter&& other) noexcept = default;
MappedFilter::~MappedFilter() = default;

MappedFilter MappedFilter::open(const std::filesystem::path& path, Verify verify) {
  auto [header, blocks] = map_filter(path);
  Filter filter = FilterAccess::make(std::move(blocks));
  std::unique_ptr<SectionChecks> checks;
  if (verify == Verify::lazily) {
    const MemorySource bytes = mapped_bytes(filter);
    checks = std::make_unique<SectionChecks>(bytes.name(), header, bytes.at(0, bytes.size()));
  }
  MappedFilter mapped(std::move(filter), std::move(checks));
  if (verify == Verify::all) mapped.verify();
  return mapped;
}

void MappedFilter::verify() const {
  const MemorySource bytes = mapped_bytes(*this);
  const FileHeader header = read_header(bytes);
  check_content(bytes.name(), header, checksums_of(header, bytes.at(0, bytes.size())),
                [&](std::uint64_t i) {
                  return bytes.at(FileHeader::section_offset(i), header.section_bytes(i));
                });
}

std::optional<FormatError> MappedFilter::damage() const {
  const auto flaw = checks_ == nullptr ? std::nullopt : checks_->damage();
  if (!flaw) return std::nullopt;
  return FormatError(mapped_bytes(*this).name(), flaw->offset, flaw->cause);
}

Filter MappedFilter::snapshot(std::pmr::memory_resource* memory) const {
  return FilterAccess::make(read_filter(mapped_bytes(*this), memory).blocks);
}

bool MappedFilter::may_contain_one(Hash key) const noexcept {
  return CheckedLookup{FilterAccess::blocks(*this), checks_.get()}.may_contain(key.value);
}

unsigned MappedFilter::count_one(Hash key) const noexcept {
  return CheckedLookup{FilterAccess::blocks(*this), checks_.get()}.copies(key.value, false);
}

std::size_t MappedFilter::look_up(KeySpan keys, const internal::Answers& answers) const {
  const CheckedLookup lookup{FilterAccess::blocks(*this), checks_.get()};
  return batch::look_up(lookup, keys, seed(), answers);
}

void MappedFilter::count(KeySpan keys, std::span<std::uint8_t> out) const {
  const CheckedLookup lookup{FilterAccess::blocks(*this), checks_.get()};
  if (lookup.all_good()) return Filter::count(keys, out);
  check_length("out", out.size(), keys.size());
  for (KeyChunks chunks(keys, seed()); chunks.next();) {
    lookup.for_each(chunks.inputs(), false, [&](std::size_t i, unsigned copies) {
      out[chunks.first() + i] = static_cast<std::uint8_t>(copies);
    });
  }
}

}  // namespace nestline
