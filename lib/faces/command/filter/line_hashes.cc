#include "lib/faces/command/filter/line_hashes.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace nestline { inline namespace v0_3 { namespace command {
namespace {

constexpr std::size_t kChunkHashes = std::size_t{1} << 16;
constexpr std::size_t kAhead = 64;  // lines whose places are fetched together

}  // namespace

std::size_t HashSet::place_of(std::uint64_t hash, std::size_t places) {
  return static_cast<std::size_t>((hash << kPartBits >> 32) * places >> 32);
}

bool HashSet::put(std::vector<std::uint64_t>& places, std::uint64_t hash) {
  std::size_t at = place_of(hash, places.size());
  for (; places[at] != 0; at = at + 1 == places.size() ? 0 : at + 1) {
    if (places[at] == hash) return false;
  }
  places[at] = hash;
  return true;
}

void HashSet::enlarge(Part& part) {
  std::vector<std::uint64_t> larger(part.places.size() / 2 * 3 + 16);
  for (const std::uint64_t hash : part.places) {
    if (hash != 0) put(larger, hash);
  }
  part.places = std::move(larger);
}

bool HashSet::insert(Hash hash) {
  bool added = false;
  if (hash.value == 0) {
    added = !std::exchange(has_zero_, true);
  } else {
    Part& part = parts_[hash.value >> (64 - kPartBits)];
    if (part.places.empty()) enlarge(part);
    added = put(part.places, hash.value);
    part.used += added ? 1 : 0;
    if (added && part.used >= part.places.size() / 5 * 4) enlarge(part);
  }
  size_ += added ? 1 : 0;
  return added;
}

void HashSet::prefetch(Hash hash) const noexcept {
  const auto& places = parts_[hash.value >> (64 - kPartBits)].places;
  __builtin_prefetch(places.data() + place_of(hash.value, places.size()), 1);
}

std::vector<Hash> HashSet::take() {
  // Reserved memory takes no pages until it is written; each part is freed once it is copied.
  std::vector<Hash> all;
  all.reserve(size_);
  if (has_zero_) all.emplace_back();
  for (Part& part : parts_) {
    for (const std::uint64_t hash : part.places) {
      if (hash != 0) all.push_back(Hash{hash});
    }
    part = Part();
  }
  has_zero_ = false;
  size_ = 0;
  return all;
}

std::span<const Hash> LineHashes::take(std::span<const std::string_view> lines) {
  hashes_.clear();
  positions_.clear();
  std::array<Hash, kAhead> ahead;
  for (std::size_t first = 0; first < lines.size(); first += kAhead) {
    const std::size_t count = std::min(kAhead, lines.size() - first);
    for (std::size_t i = 0; i < count; ++i) {
      ahead[i] = hash_key(lines[first + i], seed_);
      if (!copies_) set_.prefetch(ahead[i]);
    }
    for (std::size_t i = 0; i < count; ++i) {
      if (!copies_ && !set_.insert(ahead[i])) continue;
      hashes_.push_back(ahead[i]);
      positions_.push_back(static_cast<std::uint32_t>(first + i));
    }
  }
  size_ += hashes_.size();
  return hashes_;
}

void HashStore::append(std::span<const Hash> hashes) {
  for (const Hash hash : hashes) {
    if (chunks_.empty() || chunks_.back().size() == kChunkHashes) {
      chunks_.emplace_back().reserve(kChunkHashes);
    }
    chunks_.back().push_back(hash);
    ++size_;
  }
}

std::vector<Hash> HashStore::take() {
  // As HashSet::take.
  std::vector<Hash> all;
  all.reserve(size_);
  for (std::vector<Hash>& chunk : chunks_) {
    all.insert(all.end(), chunk.begin(), chunk.end());
    std::vector<Hash>().swap(chunk);
  }
  chunks_.clear();
  size_ = 0;
  return all;
}

bool take_rest(ShownReader& reader, LineHashes& lines) {
  LineBatch batch;
  while (reader.total_bytes() && reader.next(batch)) lines.take(batch.keys);
  return reader.total_bytes().has_value();
}

bool insert_all(std::span<const Hash> hashes, Inserter& inserter, Progress& progress,
                bool copies_last) {
  progress.begin(Progress::Unit::keys, hashes.size());
  std::uint64_t done = 0;
  const auto insert_piece = [&](std::span<const Hash> piece) {
    if (!inserter.insert(piece)) return false;
    done += piece.size();
    progress.update(done, done);
    return true;
  };
  std::vector<std::vector<Hash>> copies;
  for (std::size_t at = 0; at < hashes.size(); at += kChunkHashes) {
    const auto piece = hashes.subspan(at, std::min(kChunkHashes, hashes.size() - at));
    if (!copies_last) {
      if (!insert_piece(piece)) return false;
      continue;
    }
    if (!inserter.insert_new(piece, copies.emplace_back())) return false;
    done += piece.size() - copies.back().size();
    progress.update(done, done);
  }
  return std::ranges::all_of(copies, insert_piece);
}

}}}  // namespace nestline::command
