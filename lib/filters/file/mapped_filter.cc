// The filter on a mapped file; see mapped_filter.h.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <memory_resource>
#include <optional>
#include <span>
#include <utility>

#include "lib/filters/file/filter_bytes.h"
#include "lib/filters/file/mapped.h"
#include "lib/filters/filter/batch.h"

namespace nestline { inline namespace v0_3 {
namespace {

// Lookups that check a section before they look at a block in it, until all sections are known to
// be good. A key that may be in a damaged section counts as having all the copies it could have, so
// an inserted key is never missed.
struct CheckedLookup {
  const Mapped& mapped;
  const Blocks& state = mapped.blocks;

  [[nodiscard]] const LookupOperations& operations() const { return state.engine->lookups; }

  [[nodiscard]] bool may_contain(std::uint64_t hash) const noexcept {
    if (mapped.all_good())
      return state.engine->of_filters().lookups_alone.contains(state.view, hash);
    return copies(hash, true) != 0;
  }
  // How many copies there are, or of `any` whether there is one.
  [[nodiscard]] unsigned copies(std::uint64_t hash, bool any) const noexcept {
    return copies(home_of(state.bits, state.view.geometry, hash), any);
  }
  [[nodiscard]] unsigned copies(const Place& home, bool any) const noexcept {
    bool good = mapped.is_good(home.block);
    if (!good) return most_copies(state.bits);
    const unsigned found = count_copies(state.engine->block, state.view.geometry, home, any,
                                        [&](std::uint64_t block) -> const Block& {
                                          good = mapped.is_good(block);
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
      operations().locate(state.view, group, homes.data());
      for (std::size_t i = 0; i < group.count; ++i) take(first + i, copies(homes[i], any));
    }
  }
  // As batch.h wants it.
  void operator()(const Inputs& inputs, std::uint64_t* bitmap) const {
    if (mapped.all_good()) {
      state.engine->of_filters().lookups_alone.contains_batch(state.view, inputs, bitmap);
      return;
    }
    std::fill_n(bitmap, (inputs.count + 63) / 64, std::uint64_t{0});
    for_each(inputs, true, [&](std::size_t i, unsigned copies) {
      bitmap[i / 64] |= std::uint64_t{copies != 0} << i % 64;
    });
  }
};

}  // namespace

MappedFilter::MappedFilter(internal::OwnedState<internal::Mapped> mapped) noexcept
    : state_(std::move(mapped)), hash_of_(state_->blocks.hasher()) {}
MappedFilter::MappedFilter(MappedFilter&& other) noexcept = default;
MappedFilter& MappedFilter::operator=(MappedFilter&& other) noexcept = default;
MappedFilter::~MappedFilter() = default;

MappedFilter MappedFilter::open(const std::filesystem::path& path, Verify verify) {
  return MappedFilter(std::make_unique<Mapped>(path, kFilters, verify));
}

MappedFilter MappedFilter::view(std::span<const std::byte> bytes, Verify verify) {
  return MappedFilter(std::make_unique<Mapped>(bytes, kFilters, verify));
}

void MappedFilter::verify() const { state_->verify(); }
std::optional<FormatError> MappedFilter::damage() const { return state_->damage(); }

Filter MappedFilter::snapshot(std::pmr::memory_resource* memory) const {
  return FilterAccess::make(read_filter(state_->source(), memory).blocks);
}

bool MappedFilter::may_contain_one(Hash key) const noexcept {
  return CheckedLookup{*state_}.may_contain(key.value);
}

unsigned MappedFilter::count_one(Hash key) const noexcept {
  return CheckedLookup{*state_}.copies(key.value, false);
}

void MappedFilter::fetch(Hash key) const noexcept { prefetch_home(state_->blocks.view, key.value); }

std::size_t MappedFilter::look_up(KeySpan keys, const internal::Answers& answers) const {
  return batch::look_up(CheckedLookup{*state_}, keys, seed(), answers);
}

void MappedFilter::count(KeySpan keys, std::span<std::uint8_t> out) const {
  const Blocks& blocks = state_->blocks;
  check_length("out", out.size(), keys.size());
  for (KeyChunks chunks(keys, seed()); chunks.next();) {
    if (state_->all_good()) {
      blocks.engine->of_filters().operations.alone.count_run(blocks.view, chunks.inputs(),
                                                             out.data() + chunks.first(), nullptr);
      continue;
    }
    CheckedLookup{*state_}.for_each(chunks.inputs(), false, [&](std::size_t i, unsigned copies) {
      out[chunks.first() + i] = static_cast<std::uint8_t>(copies);
    });
  }
}

std::uint64_t MappedFilter::size() const noexcept { return state_->blocks.size; }
std::uint64_t MappedFilter::capacity() const noexcept { return state_->blocks.capacity; }
std::uint64_t MappedFilter::max_capacity() const noexcept { return state_->blocks.max_capacity; }
unsigned MappedFilter::growth() const noexcept { return state_->blocks.view.geometry.growth; }
bool MappedFilter::turns_over() const noexcept {
  return state_->blocks.view.geometry.placement != Placement::anywhere;
}
std::uint64_t MappedFilter::slots() const noexcept { return state_->blocks.shape().slots(); }
double MappedFilter::load_factor() const noexcept {
  return nestline::load_factor(state_->blocks, size());
}
double MappedFilter::expected_fpr() const noexcept {
  return nestline::expected_fpr(state_->blocks, size());
}
int MappedFilter::bits() const noexcept { return state_->blocks.bits; }
std::uint64_t MappedFilter::seed() const noexcept { return state_->blocks.seed; }
std::uint32_t MappedFilter::key_kinds() const noexcept { return state_->blocks.key_kinds; }
std::size_t MappedFilter::memory_bytes() const noexcept { return state_->source().size(); }

}}  // namespace nestline
