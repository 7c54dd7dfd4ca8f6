// Tkrzw's HashDBM on a mapped file: two buckets a record, values looked at where they lie.
#include <tkrzw_dbm_hash.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string_view>

#include "bench/store/systems/system.h"

namespace nestline::bench {
namespace {

void check(const tkrzw::Status& status) {
  if (!status.IsOK()) throw std::runtime_error("tkrzw: " + tkrzw::ToString(status));
}

class Look final : public tkrzw::DBM::RecordProcessor {
 public:
  explicit Look(Taken& taken) : taken_(taken) {}
  std::string_view ProcessFull(std::string_view, std::string_view value) override {
    taken_.look_at(value);
    found_ = true;
    return NOOP;
  }
  [[nodiscard]] bool found() const { return found_; }

 private:
  Taken& taken_;
  bool found_ = false;
};

class TkrzwReader final : public Reader {
 public:
  explicit TkrzwReader(tkrzw::HashDBM& dbm) : dbm_(dbm) {}
  bool get(std::string_view key, Taken& taken) override {
    Look look(taken);
    check(dbm_.Process(key, &look, false));
    return look.found();
  }

 private:
  tkrzw::HashDBM& dbm_;
};

class Tkrzw final : public Database {
 public:
  explicit Tkrzw(const Opening& opening) : sync_each_(opening.sync_each) {
    tkrzw::HashDBM::TuningParameters tuning;
    tuning.num_buckets = static_cast<std::int64_t>(opening.records) * 2;
    check(dbm_.OpenAdvanced((opening.folder / "records.tkh").string(), true,
                            tkrzw::File::OPEN_DEFAULT, tuning));
  }
  ~Tkrzw() override { dbm_.Close(); }
  std::unique_ptr<Reader> reader() override { return std::make_unique<TkrzwReader>(dbm_); }
  void put(std::string_view key, std::string_view value) override {
    check(dbm_.Set(key, value));
    if (sync_each_) check(dbm_.Synchronize(true));
  }
  void erase(std::string_view key) override { check(dbm_.Remove(key)); }
  void compact() override { check(dbm_.Rebuild()); }

 private:
  tkrzw::HashDBM dbm_;
  bool sync_each_;
};

}  // namespace

System tkrzw_system() {
  return {"tkrzw", "mmap",
          "HashDBM, mapped file, two buckets a record, Synchronize(true) where synced", true,
          [](const Opening& opening) -> std::unique_ptr<Database> {
            return std::make_unique<Tkrzw>(opening);
          }};
}

}  // namespace nestline::bench
