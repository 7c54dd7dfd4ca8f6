// LevelDB. Blocks are not compressed, since the values are random, and so are read in place from
// mapped files. Buffers and files are larger than by default, so that there are fewer of them.
#include <leveldb/filter_policy.h>

#include <cstddef>
#include <memory>
#include <string_view>

#include "bench/store/systems/leveldb_reads.h"

namespace nestline::bench {
namespace {

class LevelDb final : public Database {
 public:
  explicit LevelDb(const Opening& opening) : filter_(leveldb::NewBloomFilterPolicy(10)) {
    leveldb::Options options;
    options.create_if_missing = true;
    options.filter_policy = filter_.get();
    options.compression = leveldb::kNoCompression;
    options.write_buffer_size = std::size_t{64} << 20;
    options.max_file_size = std::size_t{64} << 20;
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
  void settle() override { db_->CompactRange(nullptr, nullptr); }
  void compact() override { settle(); }

 private:
  std::unique_ptr<const leveldb::FilterPolicy> filter_;
  std::unique_ptr<leveldb::DB> db_;
  leveldb::WriteOptions writing_;
};

}  // namespace

System leveldb_system() {
  return {"leveldb", "mmap",
          "10-bit filter, no compression, mapped files, buffers and files of 64 MiB", true,
          [](const Opening& opening) -> std::unique_ptr<Database> {
            return std::make_unique<LevelDb>(opening);
          }};
}

}  // namespace nestline::bench
