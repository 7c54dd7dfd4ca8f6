// RocksDB: filters of 10 bits a key over whole files, a hash index inside blocks. Blocks are not
// compressed and are read in place from mapped files, without comparing checksums. With a block
// cache that holds everything, questions for present keys take 1.4 times as long.
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/table.h>

#include "bench/store/systems/system.h"

namespace nestline::bench {
namespace {

void check(const rocksdb::Status& status) {
  if (!status.ok()) throw std::runtime_error("rocksdb: " + status.ToString());
}

rocksdb::Slice slice(std::string_view text) { return {text.data(), text.size()}; }

class RocksDbReader final : public Reader {
 public:
  explicit RocksDbReader(rocksdb::DB& db) : db_(db), family_(db.DefaultColumnFamily()) {
    reading_.verify_checksums = false;
  }
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
  explicit RocksDb(const Opening& opening) {
    rocksdb::BlockBasedTableOptions table;
    table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
    table.no_block_cache = true;
    table.data_block_index_type = rocksdb::BlockBasedTableOptions::kDataBlockBinaryAndHash;
    rocksdb::Options options;
    options.create_if_missing = true;
    options.compression = rocksdb::kNoCompression;
    options.allow_mmap_reads = true;
    options.max_background_jobs = 2;
    options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
    rocksdb::DB* db = nullptr;
    check(rocksdb::DB::Open(options, opening.folder.string(), &db));
    db_.reset(db);
    writing_.sync = opening.sync_each;
  }
  std::unique_ptr<Reader> reader() override { return std::make_unique<RocksDbReader>(*db_); }
  void put(std::string_view key, std::string_view value) override {
    check(db_->Put(writing_, slice(key), slice(value)));
  }
  void erase(std::string_view key) override { check(db_->Delete(writing_, slice(key))); }
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
  rocksdb::WriteOptions writing_;
};

}  // namespace

System rocksdb_system() {
  return {
      "rocksdb", "mmap",
      "10-bit filter, no compression, mapped files, no checksums, hash index in blocks, MultiGet "
      "for batches",
      true, [](const Opening& opening) -> std::unique_ptr<Database> {
        return std::make_unique<RocksDb>(opening);
      }};
}

}  // namespace nestline::bench
