// Lookups of one key and of many, iteration, and statistics. Of many keys, a chunk is looked up as
// a batch, and records while later ones are on their way.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/filters/concurrent/reclaim.h"
#include "lib/store/manifests.h"
#include "lib/store/state.h"

namespace nestline { inline namespace v0_3 {
namespace {

constexpr std::size_t kChunk = 1024;  // keys
// Records are fetched in groups, so many keys ahead. A prefetch waits until the place of its page
// is known, and those of a group wait together; one by one between lookups, each would wait alone.
constexpr std::size_t kAhead = 16;
constexpr std::size_t kGroup = 8;
constexpr std::uint32_t kColdBytes = 4096;
constexpr std::size_t kColdFiles = 64;  // at once: each may need a descriptor for that time

struct Candidate {
  const Segment* segment;
  std::uint64_t offset;
};

Candidate candidate_at(const SegmentTable& table, std::uint64_t address) {
  return {table.find(address), table.format().offset(address)};
}

void prefetch(const Candidate& candidate) {
  if (candidate.segment != nullptr) prefetch_record(candidate.segment->at(candidate.offset));
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
  std::ranges::sort(sorted);
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

template <Space kSpace>
bool Store::State::get(std::string_view key, With with, void* context) const {
  const ReadSection section;
  const Content& here = content();
  const HashedKey wanted = {kSpace, key, hash_in(kSpace, key, here.store_id)};
  const auto [found, false_reads] =
      lookup_.find(here, *here.index.load(std::memory_order_acquire), wanted);
  counters_.count(found ? 1 : 0, found ? 0 : 1, false_reads);
  if (found && with != nullptr) with(context, found->value);
  return found.has_value();
}

template bool Store::State::get<Space::keys>(std::string_view, With, void*) const;
template bool Store::State::get<Space::manifests>(std::string_view, With, void*) const;

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
      if (first[i] == first[i + 1] && index.overflow.is_empty()) continue;
      const HashedKey wanted = {Space::keys, keys[begin + i], hashes[i].value};
      std::optional<Located> one;
      const auto look_at = [&](std::uint64_t address) {
        if (!one && !(one = lookup_.look(here, wanted, address))) ++false_reads;
      };
      for (std::size_t a = first[i]; a < first[i + 1]; ++a) {
        if (a + kAhead >= fetched + kGroup) fetch_until(fetched + kGroup);
        look_at(addresses[a]);
      }
      if (!one && !index.overflow.is_empty()) {
        for (const std::uint64_t address : index.overflow.find(wanted.hash)) look_at(address);
      }
      if (!one) continue;
      ++hits;
      with(context, begin + i, one->value);
    }
    counters_.count(hits, count - hits, false_reads);
    found += hits;
  }
  return found;
}

// A copy of the index defines what counts; the log is read beside changes. Damage is reported last.
void Store::State::visit(Space space, const Visit& with) const {
  refuse_in_section();
  // Segments stay open while they are in this list, also when their files are gone.
  SegmentTable::List segments;
  std::vector<std::uint64_t> ends;
  std::optional<Index> index_then;
  // All of the content is read under the mutex: refresh() may free it afterwards.
  AddressFormat format;
  for (;;) {
    // Without a ReadSection, which checkpoints and doublings would wait for.
    const auto now = with_writer([&] { return content().owned_index; });
    index_then.emplace(now->maplet.ready_for_snapshot());
    const std::lock_guard lock(writer_);
    if (!index().maplet.snapshot_into(index_then->maplet)) continue;  // it has grown meanwhile
    format = content().table.format();
    segments = content().table.list();
    for (const auto& segment : segments) ends.push_back(segment->end());
    index_then->overflow.add(index().overflow.copy());
    break;
  }
  Hurt hurt;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const Segment& segment = *segments[i];
    for (SegmentWalk walk(segment, ends[i]); walk.next();) {
      const std::optional<Record>& record = walk.record();
      if (record &&
          (record->kind != put_in(space) ||
           !index_then->contains(record->hash, format.pack(segment.slot, walk.offset())))) {
        continue;
      }
      if (walk.is_damaged()) {
        hurt.note(segment, walk);
      } else {
        with(record->key, record->value);
      }
    }
  }
  hurt.report(*disk_, "all others were visited");
}

std::uint64_t Store::State::size() const {
  const ReadSection section;
  return content().keys.load(std::memory_order_relaxed);
}

StoreStats Store::State::stats() const {
  StoreStats stats;
  {
    const ReadSection section;
    const Content& here = content();
    const Index& index = *here.index.load(std::memory_order_acquire);
    stats.records = here.keys.load(std::memory_order_relaxed);
    stats.index_bytes = index.maplet.memory_bytes();
    stats.index_slots = index.maplet.slots();
    stats.index_doublings_left = index.doublings_left();
    stats.overflow_keys = index.overflow.size();
    for (const std::shared_ptr<Segment>& segment : here.table.list()) {
      const std::uint64_t live = segment->counts.live.load(std::memory_order_relaxed);
      stats.live_bytes += live;
      stats.dead_bytes += segment->end() - live;
      ++stats.segments;
    }
  }
  const Counters::Sums sums = counters_.sums();
  stats.lookups = sums.found + sums.missing;
  stats.questions.set(stats.lookups);
  stats.found = sums.found;
  stats.false_reads = sums.false_reads;
  stats.reads = sums.found + sums.false_reads;
  stats.syncs = syncs_.syncs();
  stats.replayed_records = replayed_records_;
  stats.cut_bytes = cut_bytes_;
  stats.cut_records = cut_records_;
  const std::lock_guard lock(noting_);
  stats.background_error = background_error_;
  return stats;
}

bool Store::get(std::string_view key, std::string& value) const {
  return get(key, [&](std::string_view found) { value.assign(found); });
}

bool Store::get_with(std::string_view key, With with, void* context) const {
  return state_->get<Space::keys>(key, with, context);
}

bool Store::contains(std::string_view key) const {
  return state_->get<Space::keys>(key, nullptr, nullptr);
}

std::size_t Store::get_many(std::span<const std::string_view> keys, WithMany with,
                            void* context) const {
  return state_->get_many(keys, with, context);
}

bool internal::Manifests::get(const Store& store, std::string_view name, std::string& bytes) {
  const auto keep = [](void* to, std::string_view found) {
    static_cast<std::string*>(to)->assign(found);
  };
  return store.state_->get<Space::manifests>(name, keep, &bytes);
}

void internal::Manifests::for_each(const Store& store, const With& with) {
  store.state_->visit(Space::manifests, with);
}

void Store::visit_all(WithAll with, void* context) const {
  state_->visit(Space::keys,
                [&](std::string_view key, std::string_view value) { with(context, key, value); });
}

std::uint64_t Store::size() const { return state_->size(); }
StoreStats Store::stats() const { return state_->stats(); }

}}  // namespace nestline
