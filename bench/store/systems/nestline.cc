// nestline's own store, with the index made for the records from the start.
#include <nestline/store.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "bench/store/systems/system.h"

namespace nestline::bench {
namespace {

class NestlineReader final : public Reader {
 public:
  explicit NestlineReader(const Store& store) : store_(store) {}
  bool get(std::string_view key, Taken& taken) override {
    return store_.get(key, [&](std::string_view value) { taken.look_at(value); });
  }
  std::size_t get_many(std::span<const std::string_view> keys, Taken& taken) override {
    return store_.get(keys, [&](std::size_t, std::string_view value) { taken.look_at(value); });
  }

 private:
  const Store& store_;
};

class Nestline final : public Database {
 public:
  explicit Nestline(const Opening& opening)
      : store_(Store::open(opening.folder, {.sync = opening.sync_each ? Sync::each : Sync::never,
                                            .expected_records = opening.records})) {}
  std::unique_ptr<Reader> reader() override { return std::make_unique<NestlineReader>(store_); }
  void put(std::string_view key, std::string_view value) override { store_.put(key, value); }
  void erase(std::string_view key) override { store_.erase(key); }
  void compact() override { store_.compact(); }
  Figures figures() override {
    const StoreStats stats = store_.stats();
    return {stats.index_bytes, stats.live_bytes, stats.reads, stats.replayed_records};
  }

 private:
  Store store_;
};

}  // namespace

System nestline_system() {
  return {"nestline", "mmap", "expected_records is given, records are verified when they are read",
          true, [](const Opening& opening) -> std::unique_ptr<Database> {
            return std::make_unique<Nestline>(opening);
          }};
}

}  // namespace nestline::bench
