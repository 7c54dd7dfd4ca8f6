// See hash_store.h.
#include "lib/command/filter/hash_store.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace nestline::command {
namespace {

constexpr std::size_t kChunkHashes = std::size_t{1} << 16;

}  // namespace

void HashStore::append(std::span<const std::string_view> keys, std::uint64_t seed) {
  for (const std::string_view key : keys) {
    if (chunks_.empty() || chunks_.back().size() == kChunkHashes) {
      chunks_.emplace_back().reserve(kChunkHashes);
    }
    chunks_.back().push_back(hash_key(key, seed));
    ++size_;
  }
}

std::span<const Hash> HashStore::joined() {
  if (chunks_.size() > 1) {
    // Reserved memory takes no pages until it is written. Each chunk is freed as soon as it is
    // copied.
    std::vector<Hash> all;
    all.reserve(size_);
    for (std::vector<Hash>& chunk : chunks_) {
      all.insert(all.end(), chunk.begin(), chunk.end());
      std::vector<Hash>().swap(chunk);
    }
    chunks_.clear();
    chunks_.push_back(std::move(all));
  }
  return chunks_.empty() ? std::span<const Hash>() : std::span<const Hash>(chunks_.front());
}

template <typename Visit>
bool HashStore::for_each_part(Visit&& visit) const {
  for (const std::span<const Hash> chunk : chunks_) {
    for (std::size_t at = 0; at < chunk.size(); at += kChunkHashes) {
      if (!visit(chunk.subspan(at, std::min(kChunkHashes, chunk.size() - at)))) return false;
    }
  }
  return true;
}

bool HashStore::insert_in_order(Inserter& inserter, Progress& progress) const {
  progress.begin(Progress::Unit::keys, size_);
  std::uint64_t done = 0;
  return for_each_part([&](std::span<const Hash> part) {
    if (!inserter.insert(part)) return false;
    done += part.size();
    progress.update(done, done);
    return true;
  });
}

bool HashStore::insert_copies_last(Inserter& inserter, Progress& progress) const {
  progress.begin(Progress::Unit::keys, size_);
  std::uint64_t done = 0;
  std::vector<std::vector<Hash>> copies;
  const bool all_once = for_each_part([&](std::span<const Hash> part) {
    if (!inserter.insert_new(part, copies.emplace_back())) return false;
    done += part.size() - copies.back().size();
    progress.update(done, done);
    return true;
  });
  if (!all_once) return false;
  for (const std::vector<Hash>& part : copies) {
    if (!inserter.insert(part)) return false;
    done += part.size();
    progress.update(done, done);
  }
  return true;
}

}  // namespace nestline::command
