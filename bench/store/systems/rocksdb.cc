// RocksDB: filters of 10 bits a key over whole files, a hash index inside blocks. Blocks are not
// compressed and are read in place from mapped files, without comparing checksums. With a block
// cache that holds everything, questions for present keys take 1.4 times as long.
#include <rocksdb/filter_policy.h>
#include <rocksdb/table-inl.h>

#include <memory>
#include <string_view>

#include "bench/store/systems/rocksdb_reads.h"

namespace nestline::bench {
namespace {

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
    reading_.verify_checksums = false;
    writing_.sync = opening.sync_each;
  }
  std::unique_ptr<Reader> reader() override {
    return std::make_unique<RocksDbReader>(*db_, reading_);
  }
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
  rocksdb::ReadOptions reading_;
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
