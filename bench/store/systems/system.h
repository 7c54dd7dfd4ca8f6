// One interface to the databases that are measured beside the store, and to the engines that a
// Guard is measured before. Each has a file of its own here, which says how it is set up for
// either; one whose package is not installed is left out by CMake.
//
// Every call that fails throws std::runtime_error with the database's own words. A Database takes
// calls of several threads at once; a Reader belongs to one thread.
#ifndef NESTLINE_BENCH_STORE_SYSTEMS_SYSTEM_H_
#define NESTLINE_BENCH_STORE_SYSTEMS_SYSTEM_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace nestline::bench {

// What the reader of values does: it looks at the first and the last bytes, where they lie. The sum
// of the first bytes shows that the answers were right.
struct Taken {
  std::uint64_t heads = 0;
  std::uint64_t tails = 0;

  void look_at(std::string_view value) {
    heads += word(value.data());
    tails += word(value.data() + value.size() - sizeof(std::uint64_t));
  }
  static std::uint64_t word(const char* at) {
    std::uint64_t number;
    std::memcpy(&number, at, sizeof number);
    return number;
  }
};

class Reader {
 public:
  virtual ~Reader() = default;
  virtual bool get(std::string_view key, Taken& taken) = 0;
  // How many of the keys are there. Databases without batches ask for one key after the other.
  virtual std::size_t get_many(std::span<const std::string_view> keys, Taken& taken) {
    std::size_t found = 0;
    for (const std::string_view key : keys) found += get(key, taken) ? 1 : 0;
    return found;
  }
};

// What a database says about itself, as far as it can.
struct Figures {
  std::optional<std::uint64_t> index_bytes;
  std::optional<std::uint64_t> live_bytes;
  std::optional<std::uint64_t> reads;
  std::optional<std::uint64_t> replayed;
};

class Database {
 public:
  virtual ~Database() = default;  // closes it
  virtual std::unique_ptr<Reader> reader() = 0;
  virtual void put(std::string_view key, std::string_view value) = 0;
  virtual void erase(std::string_view key) = 0;  // the cheapest that it has
  // Also says whether the key was there. `reader` is one of this database.
  virtual bool erase_known(std::string_view key, Reader& reader) {
    Taken ignored;
    if (!reader.get(key, ignored)) return false;
    erase(key);
    return true;
  }
  // Of engines: calls with(key) for all keys.
  virtual void each_key(const std::function<void(std::string_view)>&) {
    throw std::logic_error("this database is not measured as an engine");
  }
  // One transaction around many puts, to load quickly.
  virtual void begin_load() {}
  virtual void end_load() {}
  // Does what earlier puts left to do in the background, so that questions are at their fastest.
  virtual void settle() {}
  // Gives back the room of what was erased and overwritten.
  virtual void compact() {}
  virtual Figures figures() { return {}; }
};

struct Opening {
  std::filesystem::path folder;  // it exists
  std::uint64_t records = 0;     // how many there will be: some are tuned for that
  bool sync_each = false;        // whether a put returns when it is on disk
};

struct System {
  std::string name;
  std::string back_end;  // how it reads files
  std::string settings;  // for the output
  bool changes = true;   // false: it is built once and then only read
  std::unique_ptr<Database> (*open)(const Opening&) = nullptr;
};

// Those that this program was built with. nestline is the first.
std::vector<System> systems();

System nestline_system();
System leveldb_system();
System lmdb_system();
System rocksdb_system();
System tinycdb_system();
System tkrzw_system();
// Engines, each with and without filters of its own.
void add_leveldb_engines(std::vector<System>& engines);
void add_lmdb_engines(std::vector<System>& engines);
void add_rocksdb_engines(std::vector<System>& engines);
void add_sqlite_engines(std::vector<System>& engines);

}  // namespace nestline::bench

#endif  // NESTLINE_BENCH_STORE_SYSTEMS_SYSTEM_H_
