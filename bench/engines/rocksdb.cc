// RocksDB without compression, with a block cache of 64 MiB: without filters, with its Bloom filter
// of 10 bits a key over whole files, and with its Ribbon filter of the same rate.
#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/table.h>

#include "bench/engines/engine.h"

namespace nestline::bench {
namespace {

void check(const rocksdb::Status& status) {
  if (!status.ok()) throw std::runtime_error("rocksdb: " + status.ToString());
}

rocksdb::Slice slice(std::string_view text) { return {text.data(), text.size()}; }

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
    family_ = db_->DefaultColumnFamily();
  }
  bool get(std::string_view key, Taken& taken) override {
    value_.Reset();
    const rocksdb::Status status = db_->Get(rocksdb::ReadOptions(), family_, slice(key), &value_);
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
    db_->MultiGet(rocksdb::ReadOptions(), family_, keys.size(), slices_.data(), values_.data(),
                  statuses_.data());
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
  void put(std::string_view key, std::string_view value) override {
    check(db_->Put(rocksdb::WriteOptions(), slice(key), slice(value)));
  }
  void erase(std::string_view key) override {
    check(db_->Delete(rocksdb::WriteOptions(), slice(key)));
  }
  bool erase_known(std::string_view key) override {
    Taken ignored;
    if (!get(key, ignored)) return false;
    erase(key);
    return true;
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
  rocksdb::ColumnFamilyHandle* family_ = nullptr;
  rocksdb::PinnableSlice value_;
  std::vector<rocksdb::Slice> slices_;
  std::vector<rocksdb::PinnableSlice> values_;
  std::vector<rocksdb::Status> statuses_;
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
