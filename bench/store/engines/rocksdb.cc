// RocksDB without compression, with a block cache of 64 MiB: without filters, with its Bloom filter
// of 10 bits a key over whole files, and with its Ribbon filter of the same rate.
#include <rocksdb/cache.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/table-inl.h>

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "bench/store/engines/engine.h"
#include "bench/store/systems/rocksdb_reads.h"

namespace nestline::bench {
namespace {

class RocksDb final : public Engine {
 public:
  RocksDb(const std::filesystem::path& folder, const rocksdb::FilterPolicy* filter) {
    rocksdb::BlockBasedTableOptions table;
    table.filter_policy.reset(filter);
    table.block_cache = rocksdb::NewLRUCache(std::size_t{64} << 20);
    rocksdb::Options options;
    options.create_if_missing = true;
    options.compression = rocksdb::kNoCompression;
    options.max_background_jobs = 2;
    options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
    rocksdb::DB* db = nullptr;
    check(rocksdb::DB::Open(options, folder.string(), &db));
    db_.reset(db);
    reads_.emplace(*db_, rocksdb::ReadOptions());
  }
  bool get(std::string_view key, Taken& taken) override { return reads_->get(key, taken); }
  std::size_t get_many(std::span<const std::string_view> keys, Taken& taken) override {
    return reads_->get_many(keys, taken);
  }
  void put(std::string_view key, std::string_view value) override {
    check(db_->Put(rocksdb::WriteOptions(), slice(key), slice(value)));
  }
  void erase(std::string_view key) override {
    check(db_->Delete(rocksdb::WriteOptions(), slice(key)));
  }
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

 private:
  std::unique_ptr<rocksdb::DB> db_;
  std::optional<RocksDbReader> reads_;
};

}  // namespace

void add_rocksdb(std::vector<EngineKind>& kinds) {
  kinds.push_back({"rocksdb", "no filter, cache of 64 MiB",
                   [](const auto& folder) { return std::make_unique<RocksDb>(folder, nullptr); }});
  kinds.push_back(
      {"rocksdb-bloom", "its 10-bit Bloom filter, cache of 64 MiB", [](const auto& folder) {
         return std::make_unique<RocksDb>(folder, rocksdb::NewBloomFilterPolicy(10));
       }});
  kinds.push_back({"rocksdb-ribbon", "its Ribbon filter of the same rate, cache of 64 MiB",
                   [](const auto& folder) {
                     return std::make_unique<RocksDb>(folder, rocksdb::NewRibbonFilterPolicy(10));
                   }});
}

}  // namespace nestline::bench
