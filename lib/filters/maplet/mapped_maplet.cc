// A maplet on a mapped file. Its lookups need neither locks nor sections. A filter answers "maybe"
// for a damaged section; a maplet has no such answer, and throws.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "lib/filters/file/mapped.h"
#include "lib/filters/maplet/maplet_state.h"

namespace nestline { inline namespace v0_3 {

struct MappedMaplet::State : Mapped {
  using Mapped::Mapped;

  std::size_t find(std::uint64_t hash,
                   std::span<std::uint64_t, Maplet::kMaxCandidates> values) const {
    check(hash);
    const std::size_t count =
        blocks.engine->of_maplets().values.find(blocks.view, hash, values.data());
    if (count == MapletLookups::kBusy) refuse_lock();
    return count;
  }

  std::uint64_t find_set(std::uint64_t hash, const ValueSets& sets) const {
    check(hash);
    const auto [set, done] = blocks.engine->of_maplets().values.find_set(blocks.view, hash, sets);
    if (!done) refuse_lock();
    return set;
  }

  [[nodiscard]] ValueSets sets(std::uint64_t anywhere) const {
    return {anywhere, highest_value_of(blocks.bits)};
  }

  // Throws unless the sections that these keys need are good.
  void check_all(const Inputs& inputs) const {
    for (std::size_t i = 0; i < inputs.count && !all_good(); ++i) {
      check(inputs.hash(i, blocks.view.secrets));
    }
  }

  // Nobody locks a mapped block, so the bytes were wrong when they were written.
  [[noreturn]] void refuse_lock() const {
    throw FormatError(blocks.path.string(), header.header_bytes(),
                      "a block's lock is not 0; the file was not written by nestline, build it "
                      "again");
  }

  // Throws FormatError unless the sections that this key needs are good.
  void check(std::uint64_t hash) const {
    if (all_good()) return;
    const Place home = home_of(blocks.bits, blocks.view.geometry, hash);
    if (!all_read(home, [&](std::uint64_t block) { return is_good(block); })) throw *damage();
  }
};

MappedMaplet::MappedMaplet(internal::OwnedState<State> state) noexcept
    : state_(std::move(state)), hash_of_(state_->blocks.hasher()) {}
MappedMaplet::MappedMaplet(MappedMaplet&& other) noexcept = default;
MappedMaplet& MappedMaplet::operator=(MappedMaplet&& other) noexcept = default;
MappedMaplet::~MappedMaplet() = default;

MappedMaplet MappedMaplet::open(const std::filesystem::path& path, Verify verify) {
  return MappedMaplet(std::make_unique<State>(path, kMaplets, verify));
}

MappedMaplet MappedMaplet::view(std::span<const std::byte> bytes, Verify verify) {
  return MappedMaplet(std::make_unique<State>(bytes, kMaplets, verify));
}

void MappedMaplet::verify() const { state_->verify(); }
std::optional<FormatError> MappedMaplet::damage() const { return state_->damage(); }

std::size_t MappedMaplet::find_one(Hash key,
                                   std::span<std::uint64_t, Maplet::kMaxCandidates> values) const {
  return state_->find(key.value, values);
}

std::size_t MappedMaplet::find(KeySpan keys, std::vector<std::uint32_t>& first,
                               std::vector<std::uint64_t>& values) const {
  const State& state = *state_;
  CandidateLists lists(keys.size(), first, values,
                       [&](std::size_t, auto) -> std::size_t { state.refuse_lock(); });
  for (KeyChunks chunks(keys, seed()); chunks.next();) {
    state.check_all(chunks.inputs());
    state.blocks.engine->of_maplets().values.find_lists(state.blocks.view, chunks.inputs(), lists);
  }
  return lists.finish();
}

std::uint64_t MappedMaplet::find_set_one(Hash key, std::uint64_t anywhere) const {
  return state_->find_set(key.value, state_->sets(anywhere));
}

void MappedMaplet::find_sets(KeySpan keys, std::span<std::uint64_t> sets,
                             std::uint64_t anywhere) const {
  const State& state = *state_;
  check_length("sets", sets.size(), keys.size());
  for (KeyChunks chunks(keys, seed()); chunks.next();) {
    const Inputs& inputs = chunks.inputs();
    state.check_all(inputs);
    find_chunk_sets(state.blocks.engine->of_maplets().values, state.blocks.view, inputs,
                    state.sets(anywhere), sets.data() + chunks.first(),
                    [&](std::size_t) -> std::uint64_t { state.refuse_lock(); });
  }
}

int MappedMaplet::value_bits() const noexcept { return value_bits_of(state_->blocks.bits); }
int MappedMaplet::bits() const noexcept { return fingerprint_bits(state_->blocks.bits); }
std::uint64_t MappedMaplet::max_value() const noexcept {
  return highest_value_of(state_->blocks.bits);
}
std::uint64_t MappedMaplet::anywhere() const noexcept { return max_value(); }
std::size_t MappedMaplet::max_copies() const noexcept { return most_copies(state_->blocks.bits); }
std::uint64_t MappedMaplet::size() const noexcept { return state_->blocks.size; }
std::uint64_t MappedMaplet::capacity() const noexcept { return state_->blocks.capacity; }
std::uint64_t MappedMaplet::seed() const noexcept { return state_->blocks.seed; }
std::size_t MappedMaplet::memory_bytes() const noexcept {
  return state_->blocks.view.geometry.blocks() * kBlockBytes;
}

}}  // namespace nestline
