// LMDB: a transaction for each put, a reading transaction for each question or batch of questions,
// renewed instead of begun. Without the wish to sync it runs with MDB_NOSYNC; MDB_WRITEMAP is off.
#include <lmdb.h>

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "bench/store/systems/system.h"

namespace nestline::bench {
namespace {

void check(int error) {
  if (error != MDB_SUCCESS) throw std::runtime_error(std::string("lmdb: ") + mdb_strerror(error));
}

// LMDB does not change what it is given, but takes pointers to what may be changed.
MDB_val val(std::string_view text) { return {text.size(), const_cast<char*>(text.data())}; }

class LmdbReader final : public Reader {
 public:
  LmdbReader(MDB_env* environment, MDB_dbi table) : table_(table) {
    check(mdb_txn_begin(environment, nullptr, MDB_RDONLY, &transaction_));
    mdb_txn_reset(transaction_);
  }
  ~LmdbReader() override { mdb_txn_abort(transaction_); }
  bool get(std::string_view key, Taken& taken) override { return get_many({&key, 1}, taken) == 1; }
  std::size_t get_many(std::span<const std::string_view> keys, Taken& taken) override {
    check(mdb_txn_renew(transaction_));
    std::size_t found = 0;
    for (const std::string_view text : keys) {
      MDB_val key = val(text);
      MDB_val value;
      const int error = mdb_get(transaction_, table_, &key, &value);
      if (error == MDB_NOTFOUND) continue;
      check(error);
      taken.look_at({static_cast<const char*>(value.mv_data), value.mv_size});
      ++found;
    }
    mdb_txn_reset(transaction_);
    return found;
  }

 private:
  MDB_txn* transaction_ = nullptr;
  MDB_dbi table_;
};

class Lmdb final : public Database {
 public:
  explicit Lmdb(const Opening& opening) : opening_(opening) { open(); }
  ~Lmdb() override { mdb_env_close(environment_); }
  std::unique_ptr<Reader> reader() override {
    return std::make_unique<LmdbReader>(environment_, table_);
  }
  void put(std::string_view key, std::string_view value) override {
    const auto one = [&](MDB_txn* transaction) {
      MDB_val k = val(key);
      MDB_val v = val(value);
      check(mdb_put(transaction, table_, &k, &v, 0));
    };
    loading_ != nullptr ? one(loading_) : change(one);
  }
  void erase(std::string_view key) override { remove(key); }
  bool erase_known(std::string_view key, Reader&) override { return remove(key); }
  void each_key(const std::function<void(std::string_view)>& with) override {
    MDB_txn* reading = nullptr;
    check(mdb_txn_begin(environment_, nullptr, MDB_RDONLY, &reading));
    MDB_cursor* cursor = nullptr;
    check(mdb_cursor_open(reading, table_, &cursor));
    MDB_val key;
    MDB_val value;
    while (mdb_cursor_get(cursor, &key, &value, MDB_NEXT) == MDB_SUCCESS) {
      with({static_cast<const char*>(key.mv_data), key.mv_size});
    }
    mdb_cursor_close(cursor);
    mdb_txn_abort(reading);
  }
  void begin_load() override { check(mdb_txn_begin(environment_, nullptr, 0, &loading_)); }
  void end_load() override {
    check(mdb_txn_commit(loading_));
    loading_ = nullptr;
  }
  // By a copy, the way that LMDB has.
  void compact() override {
    const std::filesystem::path copy = opening_.folder / "compacted";
    std::filesystem::create_directory(copy);
    check(mdb_env_copy2(environment_, copy.c_str(), MDB_CP_COMPACT));
    mdb_env_close(environment_);
    std::filesystem::rename(copy / "data.mdb", opening_.folder / "data.mdb");
    std::filesystem::remove_all(copy);
    open();
  }

 private:
  void open() {
    check(mdb_env_create(&environment_));
    check(mdb_env_set_mapsize(environment_, opening_.records * 1000 + (std::size_t{1} << 30)));
    const unsigned flags = MDB_NOTLS | (opening_.sync_each ? 0U : MDB_NOSYNC);
    check(mdb_env_open(environment_, opening_.folder.c_str(), flags, 0644));
    change([&](MDB_txn* transaction) { check(mdb_dbi_open(transaction, nullptr, 0, &table_)); });
  }

  template <class F>
  void change(F&& with) {
    MDB_txn* transaction = nullptr;
    check(mdb_txn_begin(environment_, nullptr, 0, &transaction));
    with(transaction);
    check(mdb_txn_commit(transaction));
  }

  // Whether the key was there.
  bool remove(std::string_view key) {
    bool was_there = false;
    change([&](MDB_txn* transaction) {
      MDB_val k = val(key);
      const int error = mdb_del(transaction, table_, &k, nullptr);
      if (error != MDB_NOTFOUND) check(error);
      was_there = error == MDB_SUCCESS;
    });
    return was_there;
  }

  Opening opening_;
  MDB_env* environment_ = nullptr;
  MDB_dbi table_ = 0;
  MDB_txn* loading_ = nullptr;
};

std::unique_ptr<Database> open_lmdb(const Opening& opening) {
  return std::make_unique<Lmdb>(opening);
}

}  // namespace

System lmdb_system() {
  return {"lmdb", "mmap", "a transaction each put, MDB_NOSYNC unless synced, no MDB_WRITEMAP", true,
          open_lmdb};
}

void add_lmdb_engines(std::vector<System>& engines) {
  engines.push_back({"lmdb", "", "MDB_NOSYNC, a transaction for each change", true, open_lmdb});
}

}  // namespace nestline::bench
