// ExpiringFilter to and from files, in the format of filters, whose code does the work; and on a
// mapped file, which nobody changes: so its tick stands, and every lookup finds its blocks steady.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <utility>

#include "lib/expiring/expiring_state.h"
#include "lib/file/filter_bytes.h"
#include "lib/filter/batch.h"
#include "nestline/expiring_filter.h"

namespace nestline {

// Copies the filter, so that its bytes are of one instant and writers need not wait for a disk.
void save(const ExpiringFilter& filter, const Output& to) {
  Shape shape;
  const auto copy = ExpiringAccess::state(filter).copy_all(shape);
  const FileHeader header{shape, copy->size};
  write_to(to, [&](const ByteSink& sink) { write_filter(header, *copy, sink); });
}

ExpiringFilter ExpiringFilter::load(const Input& from, std::pmr::memory_resource* memory) {
  Stored stored = read_filter(from, memory, Kind::expiring);
  return ExpiringAccess::make(std::move(stored.blocks), stored.header);
}

ExpiringFilter ExpiringFilter::snapshot() const {
  Shape shape;
  auto copy = state_->copy_all(shape);
  return ExpiringAccess::make(std::move(copy), shape);
}

struct MappedExpiringFilter::State : SecondLook {
  explicit State(const std::filesystem::path& path)
      : SecondLook{[](const SecondLook&, std::uint64_t) noexcept { return true; }},
        mapped(map_filter(path, Kind::expiring)),
        table(*mapped.blocks),
        checks(path.string(), mapped.header, table.storage.bytes()) {}

  // Whether the blocks that this key needs can be trusted: their sections are good, and nobody has
  // left a lock in them, for whose end a reader would wait.
  [[nodiscard]] bool is_sound(std::uint64_t hash) noexcept {
    return visit_expiring_layout(table.bits, [&](auto layout) {
      const Place home = home_of<decltype(layout)>(table.view.geometry, hash);
      const auto sound = [&](std::uint64_t block) {
        return (checks.all_good() || checks.is_good(block)) &&
               (table.view.blocks[block].header() & kHeaderLock) == 0;
      };
      if (!sound(home.block)) return false;
      Place away;
      const std::uint32_t mark = table.view.blocks[home.block].mark();
      return !may_be_away(table.view.geometry, mark, home, away) || sound(away.block);
    });
  }

  [[nodiscard]] bool may_contain(std::uint64_t hash) noexcept {
    if (!checks.all_good() && !is_sound(hash)) return true;
    return table.kernels->lookups().contains_beside(table.view, *this, hash);
  }

  Stored mapped;
  const Blocks& table;
  SectionChecks checks;
};

MappedExpiringFilter::MappedExpiringFilter(const std::filesystem::path& path)
    : state_(std::make_unique<State>(path)) {}
MappedExpiringFilter::MappedExpiringFilter(MappedExpiringFilter&& other) noexcept = default;
MappedExpiringFilter& MappedExpiringFilter::operator=(MappedExpiringFilter&& other) noexcept =
    default;
MappedExpiringFilter::~MappedExpiringFilter() = default;

bool MappedExpiringFilter::may_contain(Key key) const noexcept {
  return state_->may_contain(state_->table.hasher()(key).value);
}

std::size_t MappedExpiringFilter::may_contain(KeySpan keys, std::span<std::uint8_t> out) const {
  struct Lookup {
    State& state;
    [[nodiscard]] const LookupKernels& kernels() const { return state.table.kernels->lookups(); }
    void operator()(const Inputs& inputs, std::uint64_t* bitmap) const {
      const Blocks& table = state.table;
      batch::ChunkBitmap undecided;
      if (state.checks.all_good() &&
          !kernels().contains_batch_beside(table.view, inputs.keys, inputs.count, inputs.kind,
                                           bitmap, undecided.data())) {
        return;
      }
      std::fill_n(bitmap, (inputs.count + 63) / 64, std::uint64_t{0});
      for (std::size_t i = 0; i < inputs.count; ++i) {
        const bool found = state.may_contain(inputs.hash(i, table.view.secrets));
        bitmap[i / 64] |= std::uint64_t{found} << i % 64;
      }
    }
  };
  return batch::look_up(Lookup{*state_}, keys, seed(), {out});
}

unsigned MappedExpiringFilter::left(Key key) const noexcept {
  const std::uint64_t hash = state_->table.hasher()(key).value;
  if (!state_->is_sound(hash)) return ExpiringFilter::kMaxLife;
  return with_expiring_table<OneWriter>(
      state_->table, [&](const auto& blocks) { return blocks.left(blocks.home(hash)); });
}

std::uint64_t MappedExpiringFilter::now() const noexcept { return state_->mapped.header.tick; }
std::uint64_t MappedExpiringFilter::size() const noexcept { return state_->table.size; }
std::uint64_t MappedExpiringFilter::capacity() const noexcept { return state_->table.capacity; }
unsigned MappedExpiringFilter::life() const noexcept { return state_->mapped.header.life; }
int MappedExpiringFilter::bits() const noexcept { return fingerprint_bits(state_->table.bits); }
std::uint64_t MappedExpiringFilter::seed() const noexcept { return state_->table.seed; }

}  // namespace nestline
