// See hash_store.h.
#include "hash_store.h"

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

bool HashStore::insert_in_order(Inserter& inserter, Progress& progress) const {
  progress.begin(Progress::Unit::keys, size_);
  std::uint64_t done = 0;
  for (const std::vector<Hash>& chunk : chunks_) {
    if (!inserter.insert(chunk)) return false;
    done += chunk.size();
    progress.update(done, done);
  }
  return true;
}

bool HashStore::insert_copies_last(Inserter& inserter, Progress& progress) const {
  progress.begin(Progress::Unit::keys, size_);
  std::uint64_t done = 0;
  std::vector<std::vector<Hash>> copies;
  for (const std::vector<Hash>& chunk : chunks_) {
    if (!inserter.insert_new(chunk, copies.emplace_back())) return false;
    done += chunk.size() - copies.back().size();
    progress.update(done, done);
  }
  for (const std::vector<Hash>& chunk : copies) {
    if (!inserter.insert(chunk)) return false;
    done += chunk.size();
    progress.update(done, done);
  }
  return true;
}

}  // namespace nestline::command
