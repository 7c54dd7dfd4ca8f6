// SQLite: a table without row ids whose primary key is a blob, prepared statements, WAL,
// synchronous off, a cache of 64 MiB; a batch of questions is one transaction.
#include <sqlite3.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "bench/store/systems/system.h"

namespace nestline::bench {
namespace {

class Sqlite final : public Database {
 public:
  explicit Sqlite(const Opening& opening) {
    check(sqlite3_open((opening.folder / "records.sqlite").c_str(), &db_) == SQLITE_OK);
    run("PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF; PRAGMA cache_size=-65536;"
        "CREATE TABLE IF NOT EXISTS records(k BLOB PRIMARY KEY, v BLOB) WITHOUT ROWID;");
    get_ = prepare("SELECT v FROM records WHERE k = ?1");
    put_ = prepare("INSERT OR REPLACE INTO records VALUES(?1, ?2)");
    erase_ = prepare("DELETE FROM records WHERE k = ?1");
  }
  ~Sqlite() override {
    for (sqlite3_stmt* statement : {get_, put_, erase_}) sqlite3_finalize(statement);
    sqlite3_close(db_);
  }
  Sqlite(const Sqlite&) = delete;
  Sqlite& operator=(const Sqlite&) = delete;

  std::unique_ptr<Reader> reader() override { return std::make_unique<Reading>(*this); }
  void put(std::string_view key, std::string_view value) override {
    bind(put_, 1, key);
    bind(put_, 2, value);
    step(put_);
  }
  void erase(std::string_view key) override {
    bind(erase_, 1, key);
    step(erase_);
  }
  bool erase_known(std::string_view key, Reader&) override {
    erase(key);
    return sqlite3_changes(db_) != 0;
  }
  void each_key(const std::function<void(std::string_view)>& with) override {
    sqlite3_stmt* all = prepare("SELECT k FROM records");
    while (sqlite3_step(all) == SQLITE_ROW) {
      with({static_cast<const char*>(sqlite3_column_blob(all, 0)),
            static_cast<std::size_t>(sqlite3_column_bytes(all, 0))});
    }
    check(sqlite3_finalize(all) == SQLITE_OK);
  }
  void begin_load() override { run("BEGIN"); }
  void end_load() override { run("COMMIT"); }
  void settle() override { run("PRAGMA wal_checkpoint(TRUNCATE)"); }

 private:
  // One for all: a connection belongs to one thread here.
  class Reading final : public Reader {
   public:
    explicit Reading(Sqlite& in) : in_(in) {}
    bool get(std::string_view key, Taken& taken) override {
      in_.bind(in_.get_, 1, key);
      const bool found = sqlite3_step(in_.get_) == SQLITE_ROW;
      if (found) {
        taken.look_at({static_cast<const char*>(sqlite3_column_blob(in_.get_, 0)),
                       static_cast<std::size_t>(sqlite3_column_bytes(in_.get_, 0))});
      }
      in_.check(sqlite3_reset(in_.get_) == SQLITE_OK);
      return found;
    }
    std::size_t get_many(std::span<const std::string_view> keys, Taken& taken) override {
      in_.run("BEGIN");
      const std::size_t found = Reader::get_many(keys, taken);
      in_.run("COMMIT");
      return found;
    }

   private:
    Sqlite& in_;
  };

  void check(bool fine) {
    if (!fine) throw std::runtime_error(std::string("sqlite: ") + sqlite3_errmsg(db_));
  }
  void run(const char* text) {
    check(sqlite3_exec(db_, text, nullptr, nullptr, nullptr) == SQLITE_OK);
  }
  sqlite3_stmt* prepare(const char* text) {
    sqlite3_stmt* statement = nullptr;
    check(sqlite3_prepare_v2(db_, text, -1, &statement, nullptr) == SQLITE_OK);
    return statement;
  }
  void bind(sqlite3_stmt* statement, int place, std::string_view text) {
    check(sqlite3_bind_blob(statement, place, text.data(), static_cast<int>(text.size()),
                            SQLITE_STATIC) == SQLITE_OK);
  }
  void step(sqlite3_stmt* statement) {
    check(sqlite3_step(statement) == SQLITE_DONE);
    check(sqlite3_reset(statement) == SQLITE_OK);
  }

  sqlite3* db_ = nullptr;
  sqlite3_stmt* get_ = nullptr;
  sqlite3_stmt* put_ = nullptr;
  sqlite3_stmt* erase_ = nullptr;
};

}  // namespace

void add_sqlite_engines(std::vector<System>& engines) {
  engines.push_back({"sqlite", "", "WITHOUT ROWID, WAL, synchronous off, cache of 64 MiB", true,
                     [](const Opening& opening) -> std::unique_ptr<Database> {
                       return std::make_unique<Sqlite>(opening);
                     }});
}

}  // namespace nestline::bench
