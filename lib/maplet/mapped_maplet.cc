// A maplet on a mapped file. Nobody changes it, so its lookups need neither locks nor sections; but
// until every section of the file is known to be good, each is checked before a block in it is
// read. A filter answers "maybe" for a damaged section; a maplet has no such answer, and throws.
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "lib/file/filter_bytes.h"
#include "lib/kernels/kernels.h"
#include "lib/maplet/maplet_state.h"
#include "lib/place/geometry.h"
#include "nestline/maplet.h"

namespace nestline {

struct MappedMaplet::State {
  explicit State(const std::filesystem::path& path)
      : mapped(map_filter(path, Kind::maplet)),
        table(*mapped.blocks),
        checks(path.string(), mapped.header, table.storage.bytes()) {}

  std::size_t find(std::uint64_t hash, std::span<std::uint64_t, Maplet::kMaxCandidates> values) {
    if (!checks.all_good()) check(hash);
    const std::size_t count = kernels.find(table.view, hash, values.data());
    if (count == MapletKernels::kBusy) refuse_lock();
    return count;
  }

  // Nobody locks a mapped block, so the bytes were wrong when they were written.
  [[noreturn]] void refuse_lock() const {
    throw FormatError(table.path.string(), kHeaderBytes,
                      "a block's lock is not 0; the file was not written by nestline, build it "
                      "again");
  }

  // Throws FormatError unless the sections that this key needs are good.
  void check(std::uint64_t hash) {
    const Place home = home_of<MapletLayout>(table.view.geometry, hash);
    if (!checks.is_good(home.block)) refuse();
    const std::uint32_t mark = table.view.blocks[home.block].mark();
    Place away;
    if (may_be_away(table.view.geometry, mark, home, away) && !checks.is_good(away.block)) refuse();
  }
  [[noreturn]] void refuse() const {
    const std::optional<Flaw> flaw = checks.damage();
    throw FormatError(table.path.string(), flaw->offset, flaw->cause);
  }

  Stored mapped;
  const Blocks& table;
  const MapletKernels& kernels = maplet_kernels();
  SectionChecks checks;
};

MappedMaplet::MappedMaplet(const std::filesystem::path& path)
    : state_(std::make_unique<State>(path)) {}
MappedMaplet::MappedMaplet(MappedMaplet&& other) noexcept = default;
MappedMaplet& MappedMaplet::operator=(MappedMaplet&& other) noexcept = default;
MappedMaplet::~MappedMaplet() = default;

std::size_t MappedMaplet::find(Key key,
                               std::span<std::uint64_t, Maplet::kMaxCandidates> values) const {
  return state_->find(state_->table.hasher()(key).value, values);
}

std::size_t MappedMaplet::find(KeySpan keys, std::vector<std::uint32_t>& first,
                               std::vector<std::uint64_t>& values) const {
  State& state = *state_;
  CandidateLists lists(keys.size(), first, values);
  for (KeyChunks chunks(keys, seed()); chunks.next();) {
    const Inputs& inputs = chunks.inputs();
    for (std::size_t i = 0; i < inputs.count && !state.checks.all_good(); ++i) {
      state.check(inputs.hash(i, state.table.view.secrets));
    }
    find_chunk(state.kernels, state.table.view, inputs, lists,
               [&](const Inputs&, std::size_t, auto) -> std::size_t { state.refuse_lock(); });
  }
  return lists.finish();
}

std::uint64_t MappedMaplet::size() const noexcept { return state_->table.size; }
std::uint64_t MappedMaplet::capacity() const noexcept { return state_->table.capacity; }
std::uint64_t MappedMaplet::seed() const noexcept { return state_->table.seed; }
std::size_t MappedMaplet::memory_bytes() const noexcept {
  return state_->table.view.geometry.blocks() * kBlockBytes;
}

}  // namespace nestline
