// LevelDB. For the store's rows blocks are not compressed, since the values are random, and so are
// read in place from mapped files; buffers and files are larger than by default, so that there are
// fewer of them. A guard is measured before LevelDB as it is by default, a cache of 8 MiB and
// compression included, without filters and with its Bloom filter.
#include <leveldb/db.h>
#include <leveldb/filter_policy.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "bench/store/systems/system.h"

namespace nestline::bench {
namespace {

void check(const leveldb::Status& status) {
  if (!status.ok()) throw std::runtime_error("leveldb: " + status.ToString());
}

leveldb::Slice slice(std::string_view text) { return {text.data(), text.size()}; }

class LevelDbReader final : public Reader {
 public:
  explicit LevelDbReader(leveldb::DB& db) : db_(db) {}
  bool get(std::string_view key, Taken& taken) override {
    const leveldb::Status status = db_.Get(leveldb::ReadOptions(), slice(key), &value_);
    if (status.IsNotFound()) return false;
    check(status);
    taken.look_at(value_);
    return true;
  }

 private:
  leveldb::DB& db_;
  std::string value_;
};

class LevelDb final : public Database {
 public:
  // Without a filter where `filter_bits` is 0.
  LevelDb(const Opening& opening, leveldb::Options options, int filter_bits) {
    options.create_if_missing = true;
    if (filter_bits != 0) filter_.reset(leveldb::NewBloomFilterPolicy(filter_bits));
    options.filter_policy = filter_.get();
    leveldb::DB* db = nullptr;
    check(leveldb::DB::Open(options, opening.folder.string(), &db));
    db_.reset(db);
    writing_.sync = opening.sync_each;
  }
  std::unique_ptr<Reader> reader() override { return std::make_unique<LevelDbReader>(*db_); }
  void put(std::string_view key, std::string_view value) override {
    check(db_->Put(writing_, slice(key), slice(value)));
  }
  void erase(std::string_view key) override { check(db_->Delete(writing_, slice(key))); }
  void each_key(const std::function<void(std::string_view)>& with) override {
    leveldb::ReadOptions reading;
    reading.fill_cache = false;
    const std::unique_ptr<leveldb::Iterator> at(db_->NewIterator(reading));
    for (at->SeekToFirst(); at->Valid(); at->Next()) with({at->key().data(), at->key().size()});
    check(at->status());
  }
  void settle() override { db_->CompactRange(nullptr, nullptr); }
  void compact() override { settle(); }

 private:
  std::unique_ptr<const leveldb::FilterPolicy> filter_;
  std::unique_ptr<leveldb::DB> db_;
  leveldb::WriteOptions writing_;
};

std::unique_ptr<Database> open_for_store(const Opening& opening) {
  leveldb::Options options;
  options.compression = leveldb::kNoCompression;
  options.write_buffer_size = std::size_t{64} << 20;
  options.max_file_size = std::size_t{64} << 20;
  return std::make_unique<LevelDb>(opening, options, 10);
}

template <int kFilterBits>
std::unique_ptr<Database> open_engine(const Opening& opening) {
  return std::make_unique<LevelDb>(opening, leveldb::Options(), kFilterBits);
}

}  // namespace

System leveldb_system() {
  return {"leveldb", "mmap",
          "10-bit filter, no compression, mapped files, buffers and files of 64 MiB", true,
          open_for_store};
}

void add_leveldb_engines(std::vector<System>& engines) {
  engines.push_back({"leveldb", "", "no filter, defaults", true, open_engine<0>});
  engines.push_back(
      {"leveldb-bloom", "", "its 10-bit Bloom filter, defaults", true, open_engine<10>});
}

}  // namespace nestline::bench
