#include "lib/command/filter/hash_store.h"

namespace nestline::inline v0_2::command {
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
    // Reserved memory takes no pages until it is written; each chunk is freed once it is copied.
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

bool HashStore::insert(Inserter& inserter, Progress& progress, bool copies_last) const {
  progress.begin(Progress::Unit::keys, size_);
  std::uint64_t done = 0;
  const auto insert_all = [&](std::span<const Hash> part) {
    if (!inserter.insert(part)) return false;
    done += part.size();
    progress.update(done, done);
    return true;
  };
  std::vector<std::vector<Hash>> copies;
  for (const std::span<const Hash> chunk : chunks_) {
    for (std::size_t at = 0; at < chunk.size(); at += kChunkHashes) {
      const auto part = chunk.subspan(at, std::min(kChunkHashes, chunk.size() - at));
      if (!copies_last) {
        if (!insert_all(part)) return false;
        continue;
      }
      if (!inserter.insert_new(part, copies.emplace_back())) return false;
      done += part.size() - copies.back().size();
      progress.update(done, done);
    }
  }
  return std::ranges::all_of(copies, insert_all);
}

}  // namespace nestline::inline v0_2::command
