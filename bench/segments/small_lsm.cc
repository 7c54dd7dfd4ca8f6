#include "bench/segments/small_lsm.h"

#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

namespace nestline::bench {
namespace {

constexpr std::size_t kBlockRecords = 64;
static_assert(kBlockRecords * sizeof(Record) == 4096);

std::uint64_t key_of(const Record& record) { return record.key; }

}  // namespace

// A file, which goes away with the object.
class SmallLsm::Run {
 public:
  Run(std::filesystem::path path, std::uint64_t number, std::span<const Record> records)
      : path_(std::move(path)), number_(number), count_(records.size()) {
    file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file_ < 0) throw std::runtime_error("cannot make " + path_.string());
    const auto bytes = std::as_bytes(records);
    for (std::size_t at = 0; at < bytes.size();) {
      const ::ssize_t written = ::write(file_, bytes.data() + at, bytes.size() - at);
      if (written <= 0) throw std::runtime_error("cannot write " + path_.string());
      at += static_cast<std::size_t>(written);
    }
    for (std::size_t at = 0; at < count_; at += kBlockRecords) first_.push_back(records[at].key);
    last_ = records.back().key;
  }
  ~Run() {
    ::close(file_);
    ::unlink(path_.c_str());
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  [[nodiscard]] std::uint64_t number() const { return number_; }
  [[nodiscard]] std::size_t count() const { return count_; }

  // Whether the run has the key, with which stamp.
  bool read(std::uint64_t key, std::uint64_t& stamp, std::uint64_t& reads) const {
    if (key < first_.front() || key > last_) return false;
    const auto after = std::ranges::upper_bound(first_, key);
    const auto block = static_cast<std::size_t>(after - first_.begin()) - 1;
    std::array<Record, kBlockRecords> records;
    const std::span<Record> some = read_records(block * kBlockRecords, records);
    ++reads;
    const auto found = std::ranges::lower_bound(some, key, {}, key_of);
    if (found == some.end() || found->key != key) return false;
    stamp = found->stamp;
    return true;
  }
  [[nodiscard]] std::vector<Record> all() const {
    std::vector<Record> records(count_);
    read_records(0, records);
    return records;
  }

 private:
  // The records from `first` on, as many as there are and have room in `to`.
  std::span<Record> read_records(std::size_t first, std::span<Record> to) const {
    to = to.first(std::min(to.size(), count_ - first));
    const auto bytes = std::as_writable_bytes(to);
    const auto from = first * sizeof(Record);
    for (std::size_t at = 0; at < bytes.size();) {
      const ::ssize_t got =
          ::pread(file_, bytes.data() + at, bytes.size() - at, static_cast<::off_t>(from + at));
      if (got <= 0) throw std::runtime_error("cannot read " + path_.string());
      at += static_cast<std::size_t>(got);
    }
    return to;
  }

  std::filesystem::path path_;
  std::uint64_t number_;
  std::size_t count_;
  int file_;
  std::vector<std::uint64_t> first_;  // keys of the blocks
  std::uint64_t last_;
};

SmallLsm::SmallLsm(std::filesystem::path folder, std::size_t memtable_records, std::size_t fan_out)
    : folder_(std::move(folder)), memtable_records_(memtable_records), fan_out_(fan_out) {
  std::filesystem::create_directories(folder_);
}

SmallLsm::~SmallLsm() {
  tiers_.clear();
  std::error_code ignored;  // others may have files there
  std::filesystem::remove(folder_, ignored);
}

void SmallLsm::put(std::uint64_t key, std::uint64_t stamp) {
  memtable_[key] = stamp;
  if (memtable_.size() == memtable_records_) flush();
}

void SmallLsm::watch(Added added, Compacted compacted) {
  added_ = std::move(added);
  compacted_ = std::move(compacted);
}

void SmallLsm::each_run(const Added& added) const {
  for (std::size_t at = runs_.size(); at-- > 0;) {
    std::vector<std::uint64_t> keys;
    for (const Record& record : runs_[at]->all()) keys.push_back(record.key);
    added(runs_[at]->number(), keys);
  }
}

std::uint64_t SmallLsm::get(std::uint64_t key, const RunIndex& index, std::uint64_t& reads) const {
  if (const auto found = memtable_.find(key); found != memtable_.end()) return found->second;
  std::uint64_t stamp = 0;
  index.search(key, numbers_,
               [&](std::size_t, std::size_t at) { return runs_[at]->read(key, stamp, reads); });
  return stamp;
}

void SmallLsm::get(std::span<const std::uint64_t> keys, const RunIndex& index,
                   std::span<std::uint64_t> stamps, std::uint64_t& reads) const {
  std::vector<std::uint64_t> left;
  std::vector<std::size_t> places;  // of these among `keys`
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const auto found = memtable_.find(keys[i]);
    stamps[i] = found == memtable_.end() ? 0 : found->second;
    if (found != memtable_.end()) continue;
    left.push_back(keys[i]);
    places.push_back(i);
  }
  index.search(left, numbers_, [&](std::size_t i, std::size_t at) {
    return runs_[at]->read(left[i], stamps[places[i]], reads);
  });
}

std::uint64_t SmallLsm::records() const {
  std::uint64_t sum = 0;
  for (const Run* run : runs_) sum += run->count();
  return sum;
}

void SmallLsm::flush() {
  std::vector<Record> records;
  std::vector<std::uint64_t> keys;
  for (const auto& [key, stamp] : memtable_) {
    records.push_back({key, stamp, {}});
    keys.push_back(key);
  }
  if (tiers_.empty()) tiers_.emplace_back();
  tiers_[0].push_back(write(records));
  list_runs();
  if (added_) added_(tiers_[0].back()->number(), keys);
  memtable_.clear();
  for (std::size_t tier = 0; tiers_[tier].size() == fan_out_; ++tier) compact(tier);
}

void SmallLsm::compact(std::size_t tier) {
  Compaction compaction;
  struct Version {
    Record record;
    std::uint64_t run;
  };
  std::vector<Version> versions;  // of all keys, those of one from the oldest on
  for (const auto& run : tiers_[tier]) {
    compaction.from.push_back(run->number());
    for (const Record& record : run->all()) versions.push_back({record, run->number()});
  }
  std::ranges::stable_sort(versions, {}, [](const Version& v) { return v.record.key; });
  const bool is_oldest = tier + 1 == tiers_.size();
  std::vector<Record> kept;
  for (std::size_t i = 0; i < versions.size(); ++i) {
    const auto& [record, run] = versions[i];
    const bool overwritten = i + 1 < versions.size() && versions[i + 1].record.key == record.key;
    if (overwritten || (is_oldest && record.stamp == 0)) {
      compaction.dropped.push_back({record.key, run});
    } else {
      kept.push_back(record);
      compaction.keys.push_back(record.key);
    }
  }
  if (is_oldest) tiers_.emplace_back();
  std::unique_ptr<Run> made = write(kept);
  compaction.to = made->number();
  tiers_[tier + 1].push_back(std::move(made));
  tiers_[tier].clear();
  list_runs();
  if (compacted_) compacted_(compaction);
}

std::unique_ptr<SmallLsm::Run> SmallLsm::write(std::span<const Record> records) const {
  std::uint64_t number = 0;
  while (std::ranges::find(numbers_, number) != numbers_.end()) ++number;
  return std::make_unique<Run>(folder_ / ("run-" + std::to_string(number)), number, records);
}

void SmallLsm::list_runs() {
  runs_.clear();
  numbers_.clear();
  for (const Tier& tier : tiers_) {
    for (std::size_t at = tier.size(); at-- > 0;) {
      runs_.push_back(tier[at].get());
      numbers_.push_back(tier[at]->number());
    }
  }
}

}  // namespace nestline::bench
