// ExpiringFilter to and from files, in the format of filters, whose code does the work; and on a
// mapped file, which does not change: so its tick stands, and every lookup finds its blocks steady.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <memory_resource>
#include <optional>
#include <span>
#include <utility>

#include "lib/filters/expiring/expiring_state.h"
#include "lib/filters/file/filter_bytes.h"
#include "lib/filters/file/mapped.h"
#include "lib/filters/filter/batch.h"
#include "nestline/expiring_filter.h"

namespace nestline { inline namespace v0_3 {

// Copies the filter, so that its bytes are of one instant and writers need not wait for a disk.
void save(const ExpiringFilter& filter, const Output& to) {
  Shape shape;
  const auto copy = ExpiringAccess::state(filter).copy_all(shape);
  write_filter(to, shape, *copy);
}

ExpiringFilter ExpiringFilter::load(const Input& from, std::pmr::memory_resource* memory) {
  Stored stored = read_filter(from, memory, kExpiringFilters);
  return ExpiringAccess::make(std::move(stored.blocks), stored.header);
}

ExpiringFilter ExpiringFilter::snapshot() const {
  Shape shape;
  auto copy = state_->copy_all(shape);
  return ExpiringAccess::make(std::move(copy), shape);
}

struct MappedExpiringFilter::State : Mapped, LookupFallback {
  template <class Place>
  State(const Place& place, Verify verify)
      : Mapped(place, kExpiringFilters, verify),
        LookupFallback{[](const LookupFallback&, std::uint64_t) noexcept { return true; }} {}

  // Whether the blocks that this key needs can be trusted: their sections are good, and nobody has
  // left a lock in them, for whose end a reader would wait.
  [[nodiscard]] bool is_sound(std::uint64_t hash) const noexcept {
    return visit_expiring_layout(blocks.bits, [&](auto layout) {
      return all_read(home_of<decltype(layout)>(blocks.view.geometry, hash), [&](auto block) {
        return is_good(block) && (blocks.view.blocks[block].header() & kHeaderLock) == 0;
      });
    });
  }

  [[nodiscard]] bool may_contain(std::uint64_t hash) const noexcept {
    if (!all_good() && !is_sound(hash)) return true;
    return operations().contains(blocks.view, *this, hash);
  }

  // Looks up a chunk of keys, as batch::look_up wants it.
  [[nodiscard]] const LookupOperations& operations() const { return blocks.engine->lookups; }
  void operator()(const Inputs& inputs, std::uint64_t* bitmap) const {
    batch::ChunkBitmap undecided;
    if (all_good() && !operations().contains_batch(blocks.view, inputs, bitmap, undecided.data())) {
      return;
    }
    std::fill_n(bitmap, (inputs.count + 63) / 64, std::uint64_t{0});
    for (std::size_t i = 0; i < inputs.count; ++i) {
      const bool found = may_contain(inputs.hash(i, blocks.view.secrets));
      bitmap[i / 64] |= std::uint64_t{found} << i % 64;
    }
  }
};

MappedExpiringFilter::MappedExpiringFilter(internal::OwnedState<State> state) noexcept
    : state_(std::move(state)), hash_of_(state_->blocks.hasher()) {}
MappedExpiringFilter::MappedExpiringFilter(MappedExpiringFilter&& other) noexcept = default;
MappedExpiringFilter& MappedExpiringFilter::operator=(MappedExpiringFilter&& other) noexcept =
    default;
MappedExpiringFilter::~MappedExpiringFilter() = default;

MappedExpiringFilter MappedExpiringFilter::open(const std::filesystem::path& path, Verify verify) {
  return MappedExpiringFilter(std::make_unique<State>(path, verify));
}

MappedExpiringFilter MappedExpiringFilter::view(std::span<const std::byte> bytes, Verify verify) {
  return MappedExpiringFilter(std::make_unique<State>(bytes, verify));
}

void MappedExpiringFilter::verify() const { state_->verify(); }
std::optional<FormatError> MappedExpiringFilter::damage() const { return state_->damage(); }

bool MappedExpiringFilter::may_contain_one(Hash key) const noexcept {
  return state_->may_contain(key.value);
}

void MappedExpiringFilter::fetch(Hash key) const noexcept {
  prefetch_home(state_->blocks.view, key.value);
}

std::size_t MappedExpiringFilter::look_up(KeySpan keys, const internal::Answers& answers) const {
  return batch::look_up(*state_, keys, seed(), answers);
}

unsigned MappedExpiringFilter::remaining_ticks_one(Hash key) const noexcept {
  if (!state_->is_sound(key.value)) return ExpiringFilter::kMaxTtlTicks;
  const Place home = home_of(state_->blocks.bits, state_->blocks.view.geometry, key.value);
  return state_->blocks.engine->of_expiring_filters().operations.one_writer.ticks_left(
      state_->blocks.view, home, nullptr);
}

std::uint64_t MappedExpiringFilter::now() const noexcept { return state_->header.tick; }
std::uint64_t MappedExpiringFilter::size() const noexcept { return state_->blocks.size; }
std::uint64_t MappedExpiringFilter::capacity() const noexcept { return state_->blocks.capacity; }
unsigned MappedExpiringFilter::ttl_ticks() const noexcept { return state_->header.life; }
int MappedExpiringFilter::bits() const noexcept { return fingerprint_bits(state_->blocks.bits); }
std::uint64_t MappedExpiringFilter::slots() const noexcept {
  return state_->blocks.shape().slots();
}
double MappedExpiringFilter::load_factor() const noexcept {
  return nestline::load_factor(state_->blocks, size());
}
double MappedExpiringFilter::expected_fpr() const noexcept {
  return nestline::expected_fpr(state_->blocks, size());
}
std::uint64_t MappedExpiringFilter::seed() const noexcept { return state_->blocks.seed; }
std::size_t MappedExpiringFilter::memory_bytes() const noexcept { return state_->source().size(); }

}}  // namespace nestline
