// RocksDB without compression. For the store's rows: filters of 10 bits a key over whole files, a
// hash index inside blocks, which are read in place from mapped files, without comparing checksums.
// (With a block cache that holds everything, questions for present keys take 1.4 times as long.) A
// guard is measured before RocksDB with a block cache of 64 MiB: without filters, with its Bloom
// filter of 10 bits a key over whole files, and with its Ribbon filter of the same rate.
#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/table.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "bench/store/systems/system.h"

namespace nestline::bench {
namespace {

void check(const rocksdb::Status& status) {
  if (!status.ok()) throw std::runtime_error("rocksdb: " + status.ToString());
}

rocksdb::Slice slice(std::string_view text) { return {text.data(), text.size()}; }

// Values are looked at where they lie.
class RocksDbReader final : public Reader {
 public:
  RocksDbReader(rocksdb::DB& db, const rocksdb::ReadOptions& reading)
      : db_(db), family_(db.DefaultColumnFamily()), reading_(reading) {}
  bool get(std::string_view key, Taken& taken) override {
    value_.Reset();
    const rocksdb::Status status = db_.Get(reading_, family_, slice(key), &value_);
    if (status.IsNotFound()) return false;
    check(status);
    taken.look_at({value_.data(), value_.size()});
    return true;
  }
  std::size_t get_many(std::span<const std::string_view> keys, Taken& taken) override {
    slices_.clear();
    for (const std::string_view key : keys) slices_.push_back(slice(key));
    values_.resize(keys.size());
    statuses_.resize(keys.size());
    db_.MultiGet(reading_, family_, keys.size(), slices_.data(), values_.data(), statuses_.data());
    std::size_t found = 0;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (!statuses_[i].IsNotFound()) {
        check(statuses_[i]);
        taken.look_at({values_[i].data(), values_[i].size()});
        ++found;
      }
      values_[i].Reset();
    }
    return found;
  }

 private:
  rocksdb::DB& db_;
  rocksdb::ColumnFamilyHandle* family_;
  rocksdb::ReadOptions reading_;
  rocksdb::PinnableSlice value_;
  std::vector<rocksdb::Slice> slices_;
  std::vector<rocksdb::PinnableSlice> values_;
  std::vector<rocksdb::Status> statuses_;
};

class RocksDb final : public Database {
 public:
  RocksDb(const Opening& opening, const rocksdb::BlockBasedTableOptions& table,
          rocksdb::Options options = {}, const rocksdb::ReadOptions& reading = {})
      : reading_(reading) {
    options.create_if_missing = true;
    options.compression = rocksdb::kNoCompression;
    options.max_background_jobs = 2;
    options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
    rocksdb::DB* db = nullptr;
    check(rocksdb::DB::Open(options, opening.folder.string(), &db));
    db_.reset(db);
    writing_.sync = opening.sync_each;
  }
  std::unique_ptr<Reader> reader() override {
    return std::make_unique<RocksDbReader>(*db_, reading_);
  }
  void put(std::string_view key, std::string_view value) override {
    check(db_->Put(writing_, slice(key), slice(value)));
  }
  void erase(std::string_view key) override { check(db_->Delete(writing_, slice(key))); }
  void each_key(const std::function<void(std::string_view)>& with) override {
    rocksdb::ReadOptions reading;
    reading.fill_cache = false;
    const std::unique_ptr<rocksdb::Iterator> at(db_->NewIterator(reading));
    for (at->SeekToFirst(); at->Valid(); at->Next()) with({at->key().data(), at->key().size()});
    check(at->status());
  }
  void settle() override {
    check(db_->CompactRange(rocksdb::CompactRangeOptions(), nullptr, nullptr));
  }
  void compact() override {
    rocksdb::CompactRangeOptions all;
    all.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForce;
    check(db_->CompactRange(all, nullptr, nullptr));
  }

 private:
  std::unique_ptr<rocksdb::DB> db_;
  rocksdb::ReadOptions reading_;
  rocksdb::WriteOptions writing_;
};

std::unique_ptr<Database> open_for_store(const Opening& opening) {
  rocksdb::BlockBasedTableOptions table;
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  table.no_block_cache = true;
  table.data_block_index_type = rocksdb::BlockBasedTableOptions::kDataBlockBinaryAndHash;
  rocksdb::Options options;
  options.allow_mmap_reads = true;
  rocksdb::ReadOptions reading;
  reading.verify_checksums = false;
  return std::make_unique<RocksDb>(opening, table, options, reading);
}

std::unique_ptr<Database> open_engine(const Opening& opening, const rocksdb::FilterPolicy* filter) {
  rocksdb::BlockBasedTableOptions table;
  table.filter_policy.reset(filter);
  table.block_cache = rocksdb::NewLRUCache(std::size_t{64} << 20);
  return std::make_unique<RocksDb>(opening, table);
}

}  // namespace

System rocksdb_system() {
  return {
      "rocksdb", "mmap",
      "10-bit filter, no compression, mapped files, no checksums, hash index in blocks, MultiGet "
      "for batches",
      true, open_for_store};
}

void add_rocksdb_engines(std::vector<System>& engines) {
  engines.push_back({"rocksdb", "", "no filter, cache of 64 MiB", true,
                     [](const Opening& opening) { return open_engine(opening, nullptr); }});
  engines.push_back({"rocksdb-bloom", "", "its 10-bit Bloom filter, cache of 64 MiB", true,
                     [](const Opening& opening) {
                       return open_engine(opening, rocksdb::NewBloomFilterPolicy(10));
                     }});
  engines.push_back({"rocksdb-ribbon", "", "its Ribbon filter of the same rate, cache of 64 MiB",
                     true, [](const Opening& opening) {
                       return open_engine(opening, rocksdb::NewRibbonFilterPolicy(10));
                     }});
}

}  // namespace nestline::bench
