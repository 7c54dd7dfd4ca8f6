// Batches of questions. A chunk of keys is hashed, the index answers it as a batch, and then the
// records are looked at while those of later keys are already on their way from memory. If the
// records seem not to be in memory at all, they are read in from the disk together first.
#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "lib/concurrent/reclaim.h"
#include "lib/store/answering.h"
#include "lib/store/state.h"

namespace nestline {
namespace {

constexpr std::size_t kChunk = 1024;  // keys
// Records are fetched in groups, so many keys ahead. A prefetch waits until the place of its page
// is known, and those of a group wait together; one by one between answers, each would wait alone.
constexpr std::size_t kAhead = 16;
constexpr std::size_t kGroup = 8;
// What is fetched of a record whose length is not known yet.
constexpr std::uint64_t kLines = 192;
constexpr std::uint32_t kColdBytes = 4096;
// Files whose records are read in at once: each may need a descriptor for that time.
constexpr std::size_t kColdFiles = 64;

struct Candidate {
  const Segment* segment;
  std::uint64_t offset;
};

Candidate candidate_at(const SegmentTable& table, std::uint64_t address) {
  return {table.find(address), table.format().offset(address)};
}

void prefetch(const Candidate& candidate) {
  if (candidate.segment == nullptr) return;
  const std::byte* const at = candidate.segment->at(candidate.offset);
  for (std::uint64_t i = 0; i < kLines; i += 64) __builtin_prefetch(at + i);
}

void read_cold(const ColdReads& reads, const SegmentTable& table,
               std::span<const std::uint64_t> addresses) {
  std::shared_ptr<const int> one;
  const auto range_of = [&](std::size_t i) {
    const Candidate at = candidate_at(table, addresses[i]);
    one = at.segment == nullptr ? nullptr : at.segment->file->descriptor();
    return ColdReads::Range{one == nullptr ? -1 : *one, at.offset, kColdBytes};
  };
  if (!reads.looks_cold(addresses.size(), range_of)) return;
  std::vector<std::uint64_t> sorted(addresses.begin(), addresses.end());
  std::sort(sorted.begin(), sorted.end());
  std::vector<ColdReads::Range> ranges;
  std::vector<std::shared_ptr<const int>> files;  // of the ranges
  const Segment* last = nullptr;
  for (const std::uint64_t address : sorted) {
    const Candidate at = candidate_at(table, address);
    if (at.segment == nullptr) continue;
    if (at.segment != last) {
      last = at.segment;
      if (files.size() == kColdFiles) {
        reads.read_ahead(ranges);
        ranges.clear();
        files.clear();
      }
      files.push_back(last->file->descriptor());
    }
    if (files.back() == nullptr) continue;
    const std::uint64_t bytes = at.segment->end() - std::min(at.segment->end(), at.offset);
    ranges.push_back({*files.back(), at.offset,
                      static_cast<std::uint32_t>(std::min<std::uint64_t>(bytes, kColdBytes))});
  }
  reads.read_ahead(ranges);
}

}  // namespace

std::size_t Store::State::get_many(std::span<const std::string_view> keys, WithMany with,
                                   void* context) const {
  std::size_t found = 0;
  std::vector<Hash> hashes(std::min(kChunk, keys.size()));
  std::vector<std::uint32_t> first;
  std::vector<std::uint64_t> addresses;
  for (std::size_t begin = 0; begin < keys.size(); begin += kChunk) {
    const std::size_t count = std::min(kChunk, keys.size() - begin);
    const ReadSection section;
    const Content& here = content();
    const Index& index = *here.index.load(std::memory_order_acquire);
    for (std::size_t i = 0; i < count; ++i) {
      hashes[i] = {hash_in(Space::keys, keys[begin + i], here.store_id)};
    }
    (void)index.maplet.find(KeySpan(std::span<const Hash>(hashes).first(count)), first, addresses);
    read_cold(cold_reads_, here.table, addresses);
    std::size_t fetched = 0;
    const auto fetch_until = [&](std::size_t end) {
      for (end = std::min(end, addresses.size()); fetched < end; ++fetched) {
        prefetch(candidate_at(here.table, addresses[fetched]));
      }
    };
    fetch_until(kAhead);
    std::uint64_t hits = 0;
    std::uint64_t false_reads = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const Question question = {Space::keys, keys[begin + i], hashes[i].value};
      std::optional<Located> one;
      for (std::size_t a = first[i]; a < first[i + 1]; ++a) {
        if (a + kAhead >= fetched + kGroup) fetch_until(fetched + kGroup);
        if (one) continue;
        one = lookup_.look(here, question, addresses[a]);
        if (!one) ++false_reads;
      }
      if (!one && !index.overflow.is_empty()) {
        for (const std::uint64_t address : index.overflow.find(question.hash)) {
          one = lookup_.look(here, question, address);
          if (one) break;
          ++false_reads;
        }
      }
      if (!one) continue;
      ++hits;
      const Answering answering;
      with(context, begin + i, one->value);
    }
    counters_.count(hits, count - hits, false_reads);
    found += hits;
  }
  return found;
}

}  // namespace nestline
