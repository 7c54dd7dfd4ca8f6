// The golden stores under tests/store/golden. x86-64 wrote them, once: every later version must
// read them, and every processor must make the third of the first, byte for byte. The second has no
// marks of openings and closings. make_store_golden.cc writes such a folder.
#ifndef NESTLINE_TESTS_STORE_GOLDEN_STORE_H_
#define NESTLINE_TESTS_STORE_GOLDEN_STORE_H_

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <ios>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "lib/store/state.h"
#include "nestline/store_files.h"
#include "tests/store/on_call.h"
#include "tests/store/simulated_disk.h"

namespace nestline::test::golden {

using Files = std::map<std::string, SimulatedMachine::Bytes>;
using Records = std::map<std::string, std::string>;

// The model does what the store does.
struct Twin {
  Store& store;
  Records& records;

  void put(const std::string& key, const std::string& value) {
    store.put(key, value);
    records[key] = value;
  }
  void erase(const std::string& key) {
    (void)store.erase(key);
    records.erase(key);
  }
};

inline std::string key(unsigned number) { return "key-" + std::to_string(number); }

// Of many lengths, with every byte in some of them.
inline std::string value(unsigned number) {
  std::string text;
  for (unsigned i = 0; i < number * 7 % 90; ++i) {
    text.push_back(static_cast<char>((number * 31 + i * 17) & 255));
  }
  return text;
}

inline void import(Store& store, std::string_view name, std::size_t size) {
  const std::string text(size, 'x');
  std::string_view left = text;
  (void)put_file(store, name, [&](std::span<char> to) {
    const std::size_t copied = left.copy(to.data(), to.size());
    left.remove_prefix(copied);
    return copied;
  });
}

// What makes the first folder from nothing.
inline void begin(Twin twin) {
  for (unsigned i = 0; i < 100; ++i) twin.put(key(i), value(i));
  for (unsigned i = 0; i < 100; i += 5) twin.put(key(i), value(i + 1));
  for (unsigned i = 3; i < 100; i += 9) twin.erase(key(i));
  twin.put("", std::string("\0\n", 2));
  import(twin.store, "file", 10'000);
  twin.store.checkpoint();
  for (unsigned i = 100; i < 110; ++i) twin.put(key(i), value(i));  // after the checkpoint
}

// What makes the others from the first.
inline void go_on(Twin twin) {
  for (unsigned i = 0; i < 200; i += 2) twin.put(key(i), value(i + 2));
  Store::Batch batch;
  for (unsigned i = 0; i < 60; ++i) {
    batch.put(key(1000 + i), value(i));
    twin.records[key(1000 + i)] = value(i);
    batch.erase(key(i));
    twin.records.erase(key(i));
  }
  twin.store.write(batch);
  (void)erase_file(twin.store, "file");
  import(twin.store, "other", 5'000);
  twin.store.compact();
  for (unsigned i = 300; i < 320; ++i) twin.put(key(i), value(i));
  twin.store.sync();
}

// Opens the store of `machine`, small files and all, lets `what` change it, and closes it.
template <typename What>
void change(SimulatedMachine& machine, Records& records, What what) {
  const StoreOptions options = {
      .sync = Sync::never, .segment_bytes = 4096, .expected_records = 100};
  Store store = Store::State::open(machine.disk(), options, kOnCall);
  what(Twin{store, records});
}

// The files of the golden folder `name`, below the folder `tests/store`.
inline Files read(const std::filesystem::path& folder, std::string_view name) {
  Files files;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "golden" / name)) {
    std::ifstream stream(entry.path(), std::ios::binary);
    SimulatedMachine::Bytes& bytes = files[entry.path().filename()];
    bytes.resize(std::filesystem::file_size(entry.path()));
    stream.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    if (!stream) throw std::runtime_error(entry.path().string() + ": cannot be read");
  }
  return files;
}

}  // namespace nestline::test::golden

#endif  // NESTLINE_TESTS_STORE_GOLDEN_STORE_H_
