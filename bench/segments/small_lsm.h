// A small log-structured merge tree, to see what an index of its runs saves: sorted runs of records
// of 64 bytes in files, newest first, compactions by size, erased keys as tombstones, a memtable.
//
// Runs have numbers, which an index may keep with keys: the lowest that is free. A run that a
// compaction makes gets a number that none of those has from which it is made.
//
// In memory a run has the first key of each block of its file, so that a look into a run reads one
// block of 4096 bytes.
#ifndef NESTLINE_BENCH_SEGMENTS_SMALL_LSM_H_
#define NESTLINE_BENCH_SEGMENTS_SMALL_LSM_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

namespace nestline::bench {

struct Record {
  std::uint64_t key;
  std::uint64_t stamp;  // what a lookup returns; 0: erased here
  std::array<std::uint64_t, 6> rest;
};

// A key that a run had and that the run made of it has not, or once only.
struct Dropped {
  std::uint64_t key;
  std::uint64_t run;
};

struct Compaction {
  std::vector<std::uint64_t> from;
  std::uint64_t to;
  std::vector<std::uint64_t> keys;  // of the new run
  std::vector<Dropped> dropped;     // those of one key from the oldest run on
};

// Tells which runs may have a key.
class RunIndex {
 public:
  virtual ~RunIndex() = default;
  // A run with these keys is new.
  virtual void add(std::uint64_t run, std::span<const std::uint64_t> keys) = 0;
  virtual void compact(const Compaction& compaction) = 0;
  // Calls read(i, at) for key i and each run that may have it, runs[at], from the first on, until
  // the call is true.
  using Read = std::function<bool(std::size_t i, std::size_t at)>;
  virtual void search(std::uint64_t key, std::span<const std::uint64_t> runs,
                      const Read& read) const = 0;
  virtual void search(std::span<const std::uint64_t> keys, std::span<const std::uint64_t> runs,
                      const Read& read) const = 0;
  [[nodiscard]] virtual std::size_t memory_bytes() const = 0;
};

class SmallLsm {
 public:
  // A memtable of so many records becomes a run, and so many runs of one size one of the next.
  SmallLsm(std::filesystem::path folder, std::size_t memtable_records, std::size_t fan_out);
  ~SmallLsm();
  SmallLsm(const SmallLsm&) = delete;
  SmallLsm& operator=(const SmallLsm&) = delete;

  void put(std::uint64_t key, std::uint64_t stamp);
  void erase(std::uint64_t key) { put(key, 0); }

  // From now on `changed` is called when a run was added, and when runs were compacted.
  using Added = std::function<void(std::uint64_t run, std::span<const std::uint64_t> keys)>;
  using Compacted = std::function<void(const Compaction&)>;
  void watch(Added added, Compacted compacted);
  // Calls added(run, keys) for each run, the oldest first.
  void each_run(const Added& added) const;

  // The stamp of a key, 0 if it is not there. `reads` grows by the blocks that were read.
  [[nodiscard]] std::uint64_t get(std::uint64_t key, const RunIndex& index,
                                  std::uint64_t& reads) const;
  // The same for many keys: stamps[i] of keys[i].
  void get(std::span<const std::uint64_t> keys, const RunIndex& index,
           std::span<std::uint64_t> stamps, std::uint64_t& reads) const;

  [[nodiscard]] std::size_t run_count() const { return numbers_.size(); }
  [[nodiscard]] std::uint64_t records() const;  // of all runs

 private:
  class Run;
  using Tier = std::vector<std::unique_ptr<Run>>;  // the oldest first

  void flush();
  void compact(std::size_t tier);
  [[nodiscard]] std::unique_ptr<Run> write(std::span<const Record> records) const;
  void list_runs();

  std::filesystem::path folder_;
  std::size_t memtable_records_;
  std::size_t fan_out_;
  std::map<std::uint64_t, std::uint64_t> memtable_;  // stamps of keys
  std::vector<Tier> tiers_;
  std::vector<const Run*> runs_;        // of all tiers, the newest first
  std::vector<std::uint64_t> numbers_;  // of these
  Added added_;
  Compacted compacted_;
};

}  // namespace nestline::bench

#endif  // NESTLINE_BENCH_SEGMENTS_SMALL_LSM_H_
