// Pieces that no file has. When a file is deleted or replaced, its manifest is dead, and names the
// pieces that may go until its segment is compacted. So before that, and before everything else in
// compact(), those of its pieces that no other file has are erased, as keys are.
//
// Which those are needs all manifests that live, so the whole log is read, when there is a dead
// manifest of which a piece is there, and once for a call of compact(). A piece that is being put
// or read is pinned: before, and while the answer is used (kept_). A segment whose dead manifests
// name such a piece stays, so that the piece can go later. So does one with a dead manifest of
// which a piece was a file's that has gone meanwhile: the answer may still count that, and when
// the segment is gone nothing names the piece. A record under a digest that no manifest has named
// is no piece, whatever its value.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "lib/filters/concurrent/reclaim.h"
#include "lib/store/manifests.h"
#include "lib/store/state.h"

namespace nestline { inline namespace v0_3 {
namespace {

// Digests that have these bytes in common keep each other.
std::uint64_t short_of(std::string_view digest) {
  return load_number<std::uint64_t>(reinterpret_cast<const std::byte*>(digest.data()));
}
template <typename With>
void for_each_digest(std::string_view name, std::string_view manifest, const With& with) {
  const Manifest all(name, manifest);
  for (std::uint64_t i = 0; i < all.pieces(); ++i) with(short_of(all.digest(i)));
}

}  // namespace

Store::State::Keeping::Keeping(State& of) : state(of) {
  const std::lock_guard lock(state.pinning_);
  KeptPieces kept;
  for (const auto& weak : state.pins_) {
    if (const auto pins = weak.lock()) kept.pinned.insert(pins->begin(), pins->end());
  }
  state.kept_ = std::move(kept);
}

void Store::State::keep_pieces() {
  if (kept_->of_files) return;
  std::vector<std::uint64_t> pieces;
  visit(Space::manifests, [&](std::string_view name, std::string_view bytes) {
    for_each_digest(name, bytes, [&](std::uint64_t digest) { pieces.push_back(digest); });
  });
  std::ranges::sort(pieces);
  kept_->of_files = std::move(pieces);
}

Store::State::Keeping::~Keeping() {
  const std::lock_guard lock(state.pinning_);
  state.kept_.reset();
}

void Store::State::note_dying_manifest(const HashedKey& name) {
  const std::lock_guard lock(pinning_);
  if (!kept_) return;
  try {
    for_each_digest(name.key, locate(name, Purpose::value)->value,
                    [&](std::uint64_t digest) { kept_->dying.insert(digest); });
  } catch (const StoreError&) {  // damaged: who reads it is told
  }
}

bool Store::State::names_dying_piece(std::string_view name, std::string_view bytes) {
  const std::lock_guard lock(pinning_);
  bool found = false;
  if (kept_->dying.empty()) return found;
  for_each_digest(name, bytes,
                  [&](std::uint64_t digest) { found = found || kept_->dying.contains(digest); });
  return found;
}

void Store::State::find_unused(const Segment& segment, const WithPiece& with) {
  if (segment.dead() == 0) return;
  const auto [index, format] =
      with_writer([&] { return std::pair(content().owned_index, content().table.format()); });
  const auto bytes_of_piece = [&](std::string_view digest) -> std::uint64_t {
    const ReadSection section;
    const HashedKey key = {Space::keys, digest, hash_in(Space::keys, digest, content().store_id)};
    const auto found = lookup_.find(content(), this->index(), key, Purpose::replace).record;
    return found ? found->bytes : 0;
  };
  std::uint64_t next = kSegmentHeaderBytes;
  while (const auto framed = frame_record(segment.from(next))) {
    const std::uint64_t at = std::exchange(next, next + bytes_of(*framed));
    if (framed->kind != RecordKind::manifest_put ||
        index->contains(framed->hash, format.pack(segment.slot, at)) ||
        !read_record(segment.from(at), segment.place(at))) {
      continue;
    }
    const Manifest manifest(framed->key, framed->value);
    for (std::uint64_t i = 0; i < manifest.pieces(); ++i) {
      const std::string_view digest = manifest.digest(i);
      const std::uint64_t bytes = bytes_of_piece(digest);
      if (bytes == 0) continue;
      keep_pieces();
      if (!std::ranges::binary_search(*kept_->of_files, short_of(digest))) with(digest, bytes);
    }
  }
}

std::uint64_t Store::State::unused_piece_bytes() {
  refuse_in_section();
  const std::lock_guard upkeep(upkeep_);
  const Keeping keeping{*this};
  std::uint64_t sum = 0;
  std::unordered_set<std::uint64_t> seen;
  for (const auto& segment : with_writer([&] { return content().table.list(); })) {
    find_unused(*segment, [&](std::string_view digest, std::uint64_t bytes) {
      if (seen.insert(short_of(digest)).second) sum += bytes;
    });
  }
  return sum;
}

bool Store::State::drop_pieces(const Segment& segment) {
  bool is_done = true;
  find_unused(segment, [&](std::string_view digest, std::uint64_t) {
    const std::uint64_t id = content().store_id;
    const std::uint64_t hash = hash_in(Space::keys, digest, id);
    const Change erase = {RecordKind::erase, hash, digest, {}, value_digest({}, id)};
    const std::lock_guard lock(writer_);  // who pins it later finds it gone
    const std::lock_guard pinning(pinning_);
    if (kept_->pinned.contains(short_of(digest))) {
      is_done = false;
    } else if (const auto old = locate(hashed_key(erase), Purpose::replace)) {
      reserve(1);
      settle(erase, log_->append(erase, Log::AppendPriority::erase), old);
      (void)note_appended();
    }
  });
  return is_done;
}

void internal::Manifests::pin(const Store& store, Pins& pins, std::string_view digest) {
  Store::State& state = *store.state_;
  const std::lock_guard lock(state.pinning_);
  if (!pins) {
    std::erase_if(state.pins_, [](const auto& weak) { return weak.expired(); });
    state.pins_.emplace_back(pins = std::make_shared<std::vector<std::uint64_t>>());
  }
  pins->push_back(short_of(digest));
  if (state.kept_) state.kept_->pinned.insert(pins->back());
}

std::uint64_t Store::unused_piece_bytes() const { return state_->unused_piece_bytes(); }

}}  // namespace nestline
