// LMDB with MDB_NOSYNC: a transaction for each change, and a reading one for each question or batch
// of questions, renewed instead of begun.
#include <lmdb.h>

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "bench/store/engines/engine.h"

namespace nestline::bench {
namespace {

void check(int error) {
  if (error != MDB_SUCCESS) throw std::runtime_error(std::string("lmdb: ") + mdb_strerror(error));
}

// LMDB does not change what it is given, but takes pointers to what may be changed.
MDB_val val(std::string_view text) { return {text.size(), const_cast<char*>(text.data())}; }

class Lmdb final : public Engine {
 public:
  explicit Lmdb(const std::filesystem::path& folder) {
    check(mdb_env_create(&environment_));
    check(mdb_env_set_mapsize(environment_, std::size_t{64} << 30));
    check(mdb_env_open(environment_, folder.c_str(), MDB_NOTLS | MDB_NOSYNC, 0644));
    change([&](MDB_txn* transaction) { check(mdb_dbi_open(transaction, nullptr, 0, &table_)); });
    check(mdb_txn_begin(environment_, nullptr, MDB_RDONLY, &reading_));
    mdb_txn_reset(reading_);
  }
  ~Lmdb() override {
    mdb_txn_abort(reading_);
    mdb_env_close(environment_);
  }
  Lmdb(const Lmdb&) = delete;
  Lmdb& operator=(const Lmdb&) = delete;

  bool get(std::string_view key, Taken& taken) override { return get_many({&key, 1}, taken) == 1; }
  std::size_t get_many(std::span<const std::string_view> keys, Taken& taken) override {
    check(mdb_txn_renew(reading_));
    std::size_t found = 0;
    for (const std::string_view text : keys) {
      MDB_val key = val(text);
      MDB_val value;
      const int error = mdb_get(reading_, table_, &key, &value);
      if (error == MDB_NOTFOUND) continue;
      check(error);
      taken.look_at({static_cast<const char*>(value.mv_data), value.mv_size});
      ++found;
    }
    mdb_txn_reset(reading_);
    return found;
  }
  void put(std::string_view key, std::string_view value) override {
    const auto one = [&](MDB_txn* transaction) {
      MDB_val k = val(key);
      MDB_val v = val(value);
      check(mdb_put(transaction, table_, &k, &v, 0));
    };
    loading_ != nullptr ? one(loading_) : change(one);
  }
  void erase(std::string_view key) override { erase_known(key); }
  bool erase_known(std::string_view key) override {
    bool was_there = false;
    change([&](MDB_txn* transaction) {
      MDB_val k = val(key);
      const int error = mdb_del(transaction, table_, &k, nullptr);
      if (error != MDB_NOTFOUND) check(error);
      was_there = error == MDB_SUCCESS;
    });
    return was_there;
  }
  void each_key(const std::function<void(std::string_view)>& with) override {
    check(mdb_txn_renew(reading_));
    MDB_cursor* cursor = nullptr;
    check(mdb_cursor_open(reading_, table_, &cursor));
    MDB_val key;
    MDB_val value;
    while (mdb_cursor_get(cursor, &key, &value, MDB_NEXT) == MDB_SUCCESS) {
      with({static_cast<const char*>(key.mv_data), key.mv_size});
    }
    mdb_cursor_close(cursor);
    mdb_txn_reset(reading_);
  }
  void begin_load() override { check(mdb_txn_begin(environment_, nullptr, 0, &loading_)); }
  void end_load() override {
    check(mdb_txn_commit(loading_));
    loading_ = nullptr;
  }

 private:
  template <class F>
  void change(F&& with) {
    MDB_txn* transaction = nullptr;
    check(mdb_txn_begin(environment_, nullptr, 0, &transaction));
    with(transaction);
    check(mdb_txn_commit(transaction));
  }

  MDB_env* environment_ = nullptr;
  MDB_dbi table_ = 0;
  MDB_txn* reading_ = nullptr;
  MDB_txn* loading_ = nullptr;
};

}  // namespace

void add_lmdb(std::vector<EngineKind>& kinds) {
  kinds.push_back({"lmdb", "MDB_NOSYNC, a transaction for each change",
                   [](const auto& folder) { return std::make_unique<Lmdb>(folder); }});
}

}  // namespace nestline::bench
