// nestline store load: see record_text.h for the two forms. Records go in as they are read, so a
// pipe of any length can be loaded. When something is wrong, those before it are in the store, and
// the message states how many; loading the rest, or all of it again, completes the work.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "lib/faces/command/io/errors.h"
#include "lib/faces/command/io/output.h"
#include "lib/faces/command/io/progress.h"
#include "lib/faces/command/store/commands.h"
#include "lib/faces/command/store/record_text.h"

namespace nestline { inline namespace v0_3 { namespace command {
namespace {

constexpr const char* kLoadFooter =
    "A line is KEY, a tab and VALUE. In both, \\t is a tab, \\n a line feed, \\r a carriage\n"
    "return, \\0 a zero byte and \\\\ a backslash; every other byte is itself. A line ends with\n"
    "a line feed; a carriage return before it is part of the value. With -z a line ends with a\n"
    "zero byte. With --cdb, a record is +klen,dlen:key->data and a line feed, and an empty line\n"
    "ends the records.\n"
    "When a key occurs again, its last value stays. When a line is wrong, those before it are in\n"
    "the store.\n";

struct StoreLoad {
  std::string folder;
  LineInputs inputs;
  bool cdb = false;
  std::uint64_t expected_records = 0;
  Sync sync = Sync::interval;
  std::uint64_t wait = kUsualWait;
};

constexpr std::uint64_t kMaxRecords = std::uint64_t{1} << 40;
constexpr std::size_t kMaxKey = 65536;

// With Sync::each, so many records or bytes share a sync.
constexpr std::size_t kBatchRecords = 1024;
constexpr std::size_t kBatchBytes = std::size_t{1} << 20;

class Loader {
 public:
  Loader(Store& store, Sync sync) : store_(store), batched_(sync == Sync::each) {}

  // The reason why a record cannot be put, or nothing.
  static std::optional<std::string> flaw_of(std::string_view key) {
    if (key.size() <= kMaxKey) return std::nullopt;
    return "the key has " + std::to_string(key.size()) + " bytes; the most are " +
           std::to_string(kMaxKey);
  }

  void put(std::string_view key, std::string_view value) {
    if (!batched_) {
      store_.put(key, value);
      ++records_;
      return;
    }
    batch_.put(key, value);
    bytes_ += key.size() + value.size();
    if (batch_.size() == kBatchRecords || bytes_ >= kBatchBytes) write();
  }

  void write() {
    if (batch_.size() == 0) return;
    store_.write(batch_);
    records_ += batch_.size();
    batch_.clear();
    bytes_ = 0;
  }

  [[nodiscard]] std::uint64_t records() const { return records_; }

 private:
  Store& store_;
  bool batched_;
  Store::Batch batch_;
  std::size_t bytes_ = 0;
  std::uint64_t records_ = 0;
};

using Show = std::function<void(std::uint64_t)>;

// Each returns the bytes of the input.
std::uint64_t load_lines(const std::string& name, bool zero_terminated, Loader& loader,
                         const Show& show) {
  LineReader reader({{name}, zero_terminated});
  LineBatch batch;
  std::string key, value;
  std::uint64_t number = 0;
  const auto fail = [&](const std::string& what) {
    throw CommandError(name == "-" ? "standard input" : name,
                       "line " + std::to_string(number) + ": " + what);
  };
  while (reader.next(batch)) {
    for (std::size_t i = 0; i < batch.keys.size(); ++i) {
      ++number;
      const std::string_view line = exact_line(batch, i);
      const std::size_t tab = line.find('\t');
      if (tab == std::string_view::npos) fail("there is no tab between key and value");
      if (!unescape(line.substr(0, tab), key) || !unescape(line.substr(tab + 1), value)) {
        fail("after a backslash comes t, n, r, 0 or another backslash");
      }
      if (const auto flaw = Loader::flaw_of(key)) fail(*flaw);
      loader.put(key, value);
    }
    if (batch.drained) loader.write();
    show(reader.bytes());
  }
  return reader.bytes();
}

std::uint64_t load_cdb(const std::string& name, Loader& loader, const Show& show) {
  constexpr std::uint64_t kRecordsPerUpdate = 256;
  InputFile input(name);
  CdbReader reader(input);
  std::string key, value;
  for (std::uint64_t number = 1; reader.next(key, value); ++number) {
    if (const auto flaw = Loader::flaw_of(key)) {
      throw CommandError(input.name(), "record " + std::to_string(number) + ": " + *flaw);
    }
    loader.put(key, value);
    if (number % kRecordsPerUpdate == 0) show(input.bytes());
  }
  return input.bytes();
}

int run(const StoreLoad& load) {
  Store store = open_to_write(
      load.folder, {.sync = load.sync, .expected_records = load.expected_records}, load.wait);
  Loader loader(store, load.sync);
  const auto so_far = [&](const std::string& what) {
    return what + "; records loaded before: " + std::to_string(loader.records());
  };
  std::vector<std::string> names = load.inputs.files;
  if (names.empty()) names.emplace_back("-");
  for (const std::string& name : names) refuse_own_file(load.folder, name);
  Progress progress("load", total_bytes(names));
  std::uint64_t before = 0;
  const Show show = [&](std::uint64_t bytes) { progress.update(before + bytes, loader.records()); };
  try {
    for (const std::string& name : names) {
      before += load.cdb ? load_cdb(name, loader, show)
                         : load_lines(name, load.inputs.zero_terminated, loader, show);
      loader.write();
    }
  } catch (const CommandError& error) {
    progress.erase();
    loader.write();
    throw CommandError(error.file, so_far(error.what()));
  } catch (const StoreError& error) {
    throw CommandError({}, so_far(error.what()));
  } catch (const std::system_error& error) {
    throw CommandError({}, so_far(error.what()));
  }
  finish_writing(store, load.sync);
  progress.erase();
  if (is_terminal(STDERR_FILENO)) {
    complain(load.folder, short_number(loader.records(), "records") + " loaded");
  }
  return kExitYes;
}

}  // namespace

Command load_command() {
  const auto load = std::make_shared<StoreLoad>();
  return in_store(load, {"load", "Store the records of text", kLoadFooter},
                  {{"INPUT", "", "Files with records; - is standard input, and the default",
                    &load->inputs.files},
                   zero_option(load->inputs.zero_terminated),
                   {"--cdb", "", "The records are as cdb has them", &load->cdb, false, "-z"},
                   {"--expected-records", "N", "Makes the first index for so many records",
                    count(load->expected_records, 0, kMaxRecords)},
                   sync_option(load->sync),
                   wait_option(load->wait)});
}

}}}  // namespace nestline::command
