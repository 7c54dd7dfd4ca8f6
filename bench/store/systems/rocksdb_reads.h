// Reads from RocksDB, for all benchmarks that open one: values are looked at where they lie.
#ifndef NESTLINE_BENCH_STORE_SYSTEMS_ROCKSDB_READS_H_
#define NESTLINE_BENCH_STORE_SYSTEMS_ROCKSDB_READS_H_

#include <rocksdb/db.h>

#include <cstddef>
#include <span>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "bench/store/systems/system.h"

namespace nestline::bench {

// Throws std::runtime_error for an error.
inline void check(const rocksdb::Status& status) {
  if (!status.ok()) throw std::runtime_error("rocksdb: " + status.ToString());
}

inline rocksdb::Slice slice(std::string_view text) { return {text.data(), text.size()}; }

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

}  // namespace nestline::bench

#endif  // NESTLINE_BENCH_STORE_SYSTEMS_ROCKSDB_READS_H_
