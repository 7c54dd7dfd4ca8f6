// Reads from LevelDB, for all benchmarks that open one.
#ifndef NESTLINE_BENCH_STORE_SYSTEMS_LEVELDB_READS_H_
#define NESTLINE_BENCH_STORE_SYSTEMS_LEVELDB_READS_H_

#include <leveldb/db.h>

#include <stdexcept>
#include <string>
#include <string_view>

#include "bench/store/systems/system.h"

namespace nestline::bench {

// Throws std::runtime_error for an error.
inline void check(const leveldb::Status& status) {
  if (!status.ok()) throw std::runtime_error("leveldb: " + status.ToString());
}

inline leveldb::Slice slice(std::string_view text) { return {text.data(), text.size()}; }

// Reads as LevelDB does by default.
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

}  // namespace nestline::bench

#endif  // NESTLINE_BENCH_STORE_SYSTEMS_LEVELDB_READS_H_
