// The recipes of docs/ENGINES.md, with the engines that they are for. Prints what went wrong.
#include <leveldb/db.h>
#include <lmdb.h>
#include <nestline/guard.h>
#include <rocksdb/db.h>
#include <rocksdb/write_batch.h>
#include <sqlite3.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {

namespace fs = std::filesystem;

int wrong = 0;

void check(bool right, const char* what) {
  if (right) return;
  std::fprintf(stderr, "engine_recipes: %s\n", what);
  ++wrong;
}

const nestline::Options kOptions{.capacity = 1000, .max_capacity = 16'000};

void with_leveldb(const fs::path& folder) {
  leveldb::Options options;
  options.create_if_missing = true;
  leveldb::DB* opened = nullptr;
  check(leveldb::DB::Open(options, folder / "leveldb", &opened).ok(), "LevelDB does not open");
  const std::unique_ptr<leveldb::DB> db(opened);
  check(db->Put({}, "old", "1").ok(), "LevelDB does not write");

  nestline::Guard guard(kOptions, folder / "leveldb.nest");
  if (!guard.load()) {
    guard.fill([&] {
      std::shared_ptr<leveldb::Iterator> all(db->NewIterator({}));  // sees this instant
      return [all](auto&& add) {
        for (all->SeekToFirst(); all->Valid(); all->Next()) add(all->key().ToString());
        if (!all->status().ok()) throw std::runtime_error(all->status().ToString());
      };
    });
  }
  std::string value;
  const auto has = [&](const std::string& key) {
    const leveldb::Status status = db->Get({}, key, &value);
    if (!status.ok() && !status.IsNotFound()) throw std::runtime_error(status.ToString());
    return status.ok();
  };
  const auto put = [&](const std::string& key, const std::string& text) {
    leveldb::Status status;
    guard.put(
        key, [&] { return has(key); }, [&] { status = db->Put({}, key, text); });
    return status;
  };
  const auto erase = [&](const std::string& key) {
    return guard.erase(key, [&] {
      if (!has(key)) return false;
      const leveldb::Status status = db->Delete({}, key);
      if (!status.ok()) throw std::runtime_error(status.ToString());
      return true;
    });
  };
  check(put("new", "2").ok(), "LevelDB does not write");
  check(put("old", "3").ok(), "LevelDB does not write");
  check(guard.filter().size() == 2, "LevelDB: not a token for each key");
  check(guard.get("new", [&] { return has("new"); }), "LevelDB: a new key is missed");
  check(erase("old") && !erase("old"), "LevelDB: erasing is wrong");
  check(guard.filter().size() == 1, "LevelDB: not a token for each key after an erasure");
}

void with_rocksdb(const fs::path& folder) {
  rocksdb::Options options;
  options.create_if_missing = true;
  rocksdb::DB* opened = nullptr;
  check(rocksdb::DB::Open(options, folder / "rocksdb", &opened).ok(), "RocksDB does not open");
  const std::unique_ptr<rocksdb::DB> db(opened);
  nestline::Guard guard(kOptions, folder / "rocksdb.nest");
  guard.fill([] { return [](auto&&) {}; });

  rocksdb::WriteBatch batch;
  const std::vector<std::string> added = {"a", "b"};  // of the batch, those that are new
  for (const std::string& key : added) check(batch.Put(key, "1").ok(), "RocksDB's batch");
  for (const std::string& key : added) guard.add(key);
  check(db->Write({}, &batch).ok(), "RocksDB's batch");  // if it fails, the tokens stay

  const std::vector<std::string> keys = {"x", "a", "y", "b"};
  std::vector<std::string> values(keys.size());
  std::size_t found = 0;
  guard.get_many(keys, [&](std::span<const std::uint32_t> positions) {
    std::vector<rocksdb::Slice> asked;
    for (const std::uint32_t at : positions) asked.emplace_back(keys[at]);
    std::vector<std::string> got;
    const auto statuses = db->MultiGet({}, asked, &got);
    for (std::size_t i = 0; i < asked.size(); ++i) {
      if (!statuses[i].ok()) continue;
      values[positions[i]] = got[i];
      ++found;
    }
  });
  check(found == 2 && values[1] == "1" && values[3] == "1", "RocksDB: MultiGet is wrong");

  rocksdb::WriteBatch removal;
  const std::vector<std::string> erased = {"a"};  // of the batch, those that are there
  for (const std::string& key : erased) check(removal.Delete(key).ok(), "RocksDB's batch");
  if (db->Write({}, &removal).ok()) {
    for (const std::string& key : erased) guard.take(key);
  }
  check(!guard.may_contain("a") && guard.may_contain("b"), "RocksDB: a batch is wrong");
}

void with_lmdb(const fs::path& folder) {
  fs::create_directory(folder / "lmdb");
  MDB_env* environment = nullptr;
  MDB_txn* transaction = nullptr;
  MDB_dbi table = 0;
  check(mdb_env_create(&environment) == 0 &&
            mdb_env_open(environment, (folder / "lmdb").c_str(), 0, 0644) == 0 &&
            mdb_txn_begin(environment, nullptr, 0, &transaction) == 0 &&
            mdb_dbi_open(transaction, nullptr, 0, &table) == 0 && mdb_txn_commit(transaction) == 0,
        "LMDB does not open");
  nestline::Guard guard(kOptions, folder / "lmdb.nest");
  guard.fill([] { return [](auto&&) {}; });
  const auto val = [](std::string_view text) {
    return MDB_val{text.size(), const_cast<char*>(text.data())};
  };
  const auto within = [&](unsigned flags, auto&& with) {
    mdb_txn_begin(environment, nullptr, flags, &transaction);
    const int result = with();
    const int ended = mdb_txn_commit(transaction);
    return ended != 0 ? ended : result;
  };
  const auto put = [&](std::string_view key, std::string_view text) {
    MDB_val k = val(key);
    MDB_val v = val(text);
    const auto has = [&] {
      MDB_val old;
      return within(MDB_RDONLY, [&] { return mdb_get(transaction, table, &k, &old); }) == 0;
    };
    const auto write = [&] {
      check(within(0, [&] { return mdb_put(transaction, table, &k, &v, 0); }) == 0, "LMDB's put");
    };
    guard.put(key, has, write);
  };
  // LMDB says whether the key was there, so one descent does.
  const auto erase = [&](std::string_view key) {
    MDB_val k = val(key);
    return guard.erase(key, [&] {
      return within(0, [&] { return mdb_del(transaction, table, &k, nullptr); }) == 0;
    });
  };
  put("a", "1");
  put("a", "2");
  check(guard.filter().size() == 1, "LMDB: not a token for each key");
  check(erase("a") && !erase("a") && !guard.may_contain("a"), "LMDB: erasing is wrong");
  mdb_env_close(environment);
}

void with_sqlite(const fs::path& folder) {
  sqlite3* db = nullptr;
  check(sqlite3_open((folder / "a.sqlite").c_str(), &db) == SQLITE_OK, "SQLite does not open");
  const auto run = [&](const std::string& text) {
    return sqlite3_exec(db, text.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK;
  };
  check(run("CREATE TABLE t(k INTEGER PRIMARY KEY, v)"), "SQLite does not make a table");
  nestline::Guard guard(kOptions, folder / "sqlite.nest");
  guard.fill([] { return [](auto&&) {}; });
  // A transaction that changes many keys. One connection writes, so nothing comes between.
  const auto change = [&](const std::vector<int>& puts, const std::vector<int>& erases,
                          bool commits) {
    std::vector<int> gone;
    run("BEGIN IMMEDIATE");
    for (const int key : puts) {
      // The token goes first; if the key was there, it is one too many, and goes back.
      guard.add(key);
      run("INSERT OR IGNORE INTO t VALUES(" + std::to_string(key) + ", 1)");
      if (sqlite3_changes(db) == 0) guard.take(key);
    }
    for (const int key : erases) {
      run("DELETE FROM t WHERE k = " + std::to_string(key));
      if (sqlite3_changes(db) == 1) gone.push_back(key);
    }
    if (!commits || !run("COMMIT")) {
      run("ROLLBACK");  // the tokens of new keys stay: each costs a false maybe
      return;
    }
    for (const int key : gone) guard.take(key);
  };
  change({1, 2, 3}, {}, true);
  change({3, 4}, {1}, true);
  check(guard.filter().size() == 3, "SQLite: not a token for each key");
  check(!guard.may_contain(1) && guard.may_contain(2) && guard.may_contain(3),
        "SQLite: a transaction is wrong");
  change({5}, {2}, false);
  check(guard.filter().size() == 4 && guard.may_contain(2), "SQLite: a rollback is wrong");
  sqlite3_close(db);
}

}  // namespace

int main() {
  std::string name = (fs::temp_directory_path() / "nestline_recipes.XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) return 1;
  with_leveldb(name);
  with_rocksdb(name);
  with_lmdb(name);
  with_sqlite(name);
  fs::remove_all(name);
  return wrong == 0 ? 0 : 1;
}
