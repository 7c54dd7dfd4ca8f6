// recorded_writer FOLDER SEED COUNT FAULT: the process that recorded_writer_test records. It notes
// the beginning and the end of each operation. FAULT: names, if names of files are not synced.
#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include "lib/store/test_switches.h"
#include "tests/store/recorded_operations.h"
#include "tests/store/recording.h"

namespace nestline::test { namespace {

int run(const std::string& folder, std::uint64_t seed, std::size_t count) {
  const auto note = reinterpret_cast<RecordNote>(::dlsym(RTLD_DEFAULT, kRecordNote));
  if (note == nullptr) {
    std::fprintf(stderr, "nobody records\n");
    return 2;
  }
  Store store = Store::open(folder, recorded_options());
  for (const RecordedOperation& operation : recorded_operations(seed, count)) {
    note("begin");
    if (operation.kind == RecordedOperation::Kind::checkpoint) {
      store.checkpoint();
    } else if (operation.kind == RecordedOperation::Kind::compact) {
      store.compact();
    } else if (operation.delta.size() == 1) {
      const auto& [key, value] = operation.delta.front();
      if (value) {
        store.put(key, *value);
      } else {
        store.erase(key);
      }
    } else {
      store.write(batch_of(operation.delta));
    }
    note("done");
  }
  return 0;
}

}  // namespace
}  // namespace nestline::test

int main(int count, char** arguments) {
  if (count != 5) return 2;
  nestline::store_faults::no_folder_sync.store(std::string(arguments[4]) == "names");
  try {
    return nestline::test::run(arguments[1], std::strtoull(arguments[2], nullptr, 10),
                               std::strtoull(arguments[3], nullptr, 10));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
