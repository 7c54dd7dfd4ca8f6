// What the loss of power may leave of a real process' files, without a simulated disk: a writer is
// recorded (recording.h), the states are built from its calls, and each is opened on real files. A
// state takes the files as of their last syncs, and of each later change, in the order of the
// calls: kept, lost or torn (power_loss.h). It must hold what was acknowledged, and not more than
// was begun. NESTLINE_CRASHES (4000) sets how many: one in 80.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <ios>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "tests/store/power_loss.h"
#include "tests/store/recorded_operations.h"
#include "tests/store/recording.h"
#include "tests/store/store_checks.h"
#include "tests/support/child_process.h"
#include "tests/support/temp_folder.h"

namespace nestline::test { namespace {

namespace fs = std::filesystem;

constexpr std::size_t kOperations = 150;

struct Event {
  RecordedCall call;
  std::string bytes;
};

std::vector<Event> record(std::uint64_t seed, const std::string& fault) {
  const TempFolder top;
  const fs::path folder = top / "store";
  const fs::path to = folder.string() + ".calls";
  const int status = wait_for(start([&] {
    ::setenv("LD_PRELOAD", NESTLINE_RECORDER, 1);
    ::setenv(kRecordFolder, folder.c_str(), 1);
    ::setenv(kRecordTo, to.c_str(), 1);
    const std::string number = std::to_string(seed);
    const std::string count = std::to_string(kOperations);
    ::execl(NESTLINE_RECORDED_WRITER, "recorded_writer", folder.c_str(), number.c_str(),
            count.c_str(), fault.c_str(), nullptr);
    return 98;
  }));
  EXPECT_EQ(status, 0);
  std::ifstream in(to, std::ios::binary);
  std::vector<Event> events;
  for (Event event; in.read(reinterpret_cast<char*>(&event.call), sizeof event.call);) {
    event.bytes.resize(event.call.bytes);
    in.read(event.bytes.data(), static_cast<std::streamsize>(event.bytes.size()));
    events.push_back(event);
  }
  return events;
}

// The folder on a disk, from call to call.
class RecordedFolder {
 public:
  using Bytes = std::vector<std::byte>;

  void take(const Event& event) {
    const RecordedCall& call = event.call;
    File& file = files_[call.file];
    switch (call.kind) {
      case Recorded::write: {
        const auto* const first = reinterpret_cast<const std::byte*>(event.bytes.data());
        file.changes.push_back(
            {false, call.offset, Bytes(first, first + event.bytes.size()), call.size});
        break;
      }
      case Recorded::resize:
        file.changes.push_back({true, 0, {}, call.size});
        break;
      case Recorded::sync:
        for (const Change& change : file.changes) lay(file.durable, change);
        file.changes.clear();
        break;
      case Recorded::create:
        names_changed_.push_back({event.bytes, call.file, ""});
        break;
      case Recorded::rename: {
        const std::size_t end = event.bytes.find('\n');
        names_changed_.push_back({event.bytes.substr(end + 1), 0, event.bytes.substr(0, end)});
        break;
      }
      case Recorded::remove:
        names_changed_.push_back({"", 0, event.bytes});
        break;
      case Recorded::sync_folder:
        for (const Name& name : names_changed_) apply(name, names_);
        names_changed_.clear();
        break;
      case Recorded::note:
        break;
    }
  }

  // Lays down what a loss of power leaves.
  void lose_power(std::uint64_t seed, const fs::path& folder) const {
    Fates fates(seed);
    Names names = names_;
    for (const Name& name : names_changed_) {
      if (fates.keeps_name()) apply(name, names);
    }
    fs::remove_all(folder);
    fs::create_directory(folder);
    for (const auto& [name, number] : names) {
      const File& file = files_.at(number);
      Bytes content = file.durable;
      fates.next_file();
      for (const Change& change : file.changes) fates.lay(content, change);
      std::ofstream(folder / name, std::ios::binary)
          .write(reinterpret_cast<const char*>(content.data()),
                 static_cast<std::streamsize>(content.size()));
    }
  }

 private:
  struct File {
    Bytes durable;
    std::vector<Change> changes;
  };
  using Names = std::map<std::string, std::uint64_t>;
  // `old_name` goes; `name` belongs to its file, or to `file`.
  struct Name {
    std::string name;
    std::uint64_t file = 0;
    std::string old_name;
  };

  // A name whose making was lost cannot be given or taken.
  static void apply(const Name& change, Names& names) {
    std::uint64_t file = change.file;
    if (!change.old_name.empty()) {
      const auto old = names.find(change.old_name);
      if (old == names.end()) return;
      file = old->second;
      names.erase(old);
    }
    if (!change.name.empty()) names[change.name] = file;
  }

  std::map<std::uint64_t, File> files_;
  Names names_;
  std::vector<Name> names_changed_;
};

// Opens the state; throws what is wrong.
void check_state(const fs::path& folder, StoreModel model, const std::vector<std::string>& keys) {
  StoreOptions options = recorded_options();
  options.sync = Sync::never;
  model.power_lost();
  const Store store = Store::open(folder, options);
  const Content found = content_of(store);
  expect(model.go_back_to(found), [&] { return difference(found, model.now()); });
  check_store(store, found, keys);
  const StoreReport report = verify_store(folder);
  expect(report.ok(), [&] { return "verify: " + report.problems.front(); });
}

// Builds and opens about so many states of one recording. Returns what is wrong, or "".
std::string try_states(std::uint64_t seed, const std::string& fault, std::uint64_t states,
                       std::uint64_t& tried) {
  const std::vector<Event> events = record(seed, fault);
  if (events.size() < 4 * kOperations) return "too little was recorded";
  const std::vector<RecordedOperation> operations = recorded_operations(seed, kOperations);
  std::vector<std::string> keys;
  for (unsigned i = 0; i < 31; ++i) keys.push_back("key " + std::to_string(i));
  std::mt19937_64 random(seed);
  RecordedFolder disk;
  StoreModel model;
  std::size_t begun = 0;
  const TempFolder top;
  const fs::path folder = top / "store";
  fs::create_directories(folder);
  for (std::size_t i = 0; i < events.size(); ++i) {
    disk.take(events[i]);
    if (events[i].call.kind == Recorded::note) {
      if (events[i].bytes == "begin") {
        const Delta& delta = operations.at(begun++).delta;
        if (!delta.empty()) model.change(delta);
      } else {
        model.all_is_synced();
      }
    }
    if (random() % events.size() >= states) continue;
    const std::uint64_t fate = random();
    ++tried;
    try {
      disk.lose_power(fate, folder);
      check_state(folder, model, keys);
    } catch (const std::exception& error) {
      return "seed " + std::to_string(seed) + ", after call " + std::to_string(i) + ", fate " +
             std::to_string(fate) + ": " + error.what();
    }
  }
  return begun == operations.size() ? "" : "the record is not whole";
}

TEST(Crash, OfARecordedProcess) {
  const char* const text = std::getenv("NESTLINE_CRASHES");
  const std::uint64_t states = (text == nullptr ? 4000 : std::stoull(text)) / 80;
  std::uint64_t tried = 0;
  for (std::uint64_t seed = 1; tried < states; ++seed) {
    ASSERT_EQ(try_states(seed, "none", std::min<std::uint64_t>(states, 400), tried), "");
  }
}

// The same finds a store that does not sync the names of its files.
TEST(Crash, OfARecordedProcessThatForgetsNames) {
  std::string wrong;
  std::uint64_t tried = 0;
  for (std::uint64_t seed = 1; seed < 20 && wrong.empty(); ++seed) {
    wrong = try_states(seed, "names", 400, tried);
  }
  EXPECT_NE(wrong.find("key"), std::string::npos) << wrong;
}

}  // namespace
}  // namespace nestline::test
