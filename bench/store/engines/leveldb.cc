// LevelDB as it is by default, a cache of 8 MiB and compression included, without filters and with
// its Bloom filter of 10 bits a key.
#include <leveldb/filter_policy.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "bench/store/engines/engine.h"
#include "bench/store/systems/leveldb_reads.h"

namespace nestline::bench {
namespace {

class LevelDb final : public Engine {
 public:
  LevelDb(const std::filesystem::path& folder, int filter_bits) {
    leveldb::Options options;
    options.create_if_missing = true;
    if (filter_bits != 0) filter_.reset(leveldb::NewBloomFilterPolicy(filter_bits));
    options.filter_policy = filter_.get();
    leveldb::DB* db = nullptr;
    check(leveldb::DB::Open(options, folder.string(), &db));
    db_.reset(db);
    reads_.emplace(*db_);
  }
  bool get(std::string_view key, Taken& taken) override { return reads_->get(key, taken); }
  void put(std::string_view key, std::string_view value) override {
    check(db_->Put(leveldb::WriteOptions(), slice(key), slice(value)));
  }
  void erase(std::string_view key) override {
    check(db_->Delete(leveldb::WriteOptions(), slice(key)));
  }
  void each_key(const std::function<void(std::string_view)>& with) override {
    leveldb::ReadOptions reading;
    reading.fill_cache = false;
    const std::unique_ptr<leveldb::Iterator> at(db_->NewIterator(reading));
    for (at->SeekToFirst(); at->Valid(); at->Next()) with({at->key().data(), at->key().size()});
    check(at->status());
  }
  void settle() override { db_->CompactRange(nullptr, nullptr); }

 private:
  std::unique_ptr<const leveldb::FilterPolicy> filter_;
  std::unique_ptr<leveldb::DB> db_;
  std::optional<LevelDbReader> reads_;
};

}  // namespace

void add_leveldb(std::vector<EngineKind>& kinds) {
  kinds.push_back({"leveldb", "no filter, defaults",
                   [](const auto& folder) { return std::make_unique<LevelDb>(folder, 0); }});
  kinds.push_back({"leveldb-bloom", "its 10-bit Bloom filter, defaults",
                   [](const auto& folder) { return std::make_unique<LevelDb>(folder, 10); }});
}

}  // namespace nestline::bench
