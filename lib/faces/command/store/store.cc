// What the commands of nestline store share: opening, ending, options, and the wording of errors.
// Each is a table (io/command.h) that in_store() completes. Errors of the library name their file
// already; here they get advice, such as which command makes a store.
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <new>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "lib/faces/command/io/errors.h"
#include "lib/faces/command/store/commands.h"

namespace nestline { inline namespace v0_3 { namespace command {
namespace {

constexpr const char* kFooter =
    "DB is a folder. Any number of commands can read it while one program writes. A KEY or VALUE\n"
    "that begins with - comes after --, as in nestline store put DB -- -1 -2.\n"
    "Exit status: 0 done or found, 1 not found, 2 error.";

// Messages of the library name the file inside the folder already.
int run_in(const std::string& folder, const std::function<int()>& work) {
  try {
    return work();
  } catch (const CommandError&) {
    throw;
  } catch (const StoreError& error) {
    throw CommandError({}, error.what());
  } catch (const std::system_error& error) {
    if (error.code() == std::errc::no_such_file_or_directory && !std::filesystem::exists(folder)) {
      const std::filesystem::path above = std::filesystem::path(folder).parent_path();
      if (!above.empty() && !std::filesystem::exists(above)) {
        throw CommandError(
            folder, error.code().message() + "; make the folder " + above.string() + " first");
      }
      throw CommandError(
          folder, error.code().message() + "; nestline store put, load or import makes a store");
    }
    const auto* const named = dynamic_cast<const std::filesystem::filesystem_error*>(&error);
    if (named != nullptr) throw CommandError(named->path1().string(), error.code().message());
    throw CommandError({}, error.what());
  } catch (const std::bad_alloc&) {
    throw CommandError(folder, "not enough memory for this store");
  }
}

// Opens a store, and says which records it leaves out though they read well.
Store open(const std::string& folder, const StoreOptions& options) {
  Store store = Store::open(folder, options);
  if (const std::uint64_t records = store.stats().cut_records; records > 0) {
    complain(folder,
             "the log is torn, and behind that read well " + std::to_string(records) +
                 " changes that do not count: nothing proves that they were ever synced" +
                 (options.read_only ? "; nestline store repair keeps them, the next command "
                                      "that writes cuts them off"
                                    : "; they have been cut off"));
  }
  return store;
}

}  // namespace

Store open_to_read(const std::string& folder) {
  return open(folder, {.create = false, .read_only = true});
}

Store open_to_write(const std::string& folder, const StoreOptions& options, std::uint64_t wait) {
  using Clock = std::chrono::steady_clock;
  const auto until = Clock::now() + std::chrono::seconds(wait);
  while (true) {
    try {
      return open(folder, options);
    } catch (const StoreBusy&) {
      if (Clock::now() >= until) throw;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

void refuse_own_file(const std::string& folder, const std::string& input) {
  const auto id = regular_file(input);
  if (!id) return;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (regular_file(entry.path().string()) != id) continue;
    throw CommandError(input == "-" ? "standard input" : input,
                       "this is a file in the folder of the store itself");
  }
}

void finish_writing(Store& store, Sync sync) {
  if (sync != Sync::never) store.sync();
}

Option sync_option(Sync& sync) {
  return {"--sync", "WHEN",
          "When records are on disk: never (when the system writes them), interval\n"
          "(within 0.1 s, and at the end) or each (at once); default: interval",
          [&sync](const std::string& name, const std::string& text) {
            if (text == "never") {
              sync = Sync::never;
            } else if (text == "each") {
              sync = Sync::each;
            } else if (text != "interval") {
              throw UsageError(name + " takes never, interval or each, not '" + text + "'");
            }
          }};
}

Option wait_option(std::uint64_t& seconds) {
  return {"--wait", "SECONDS",
          "How long to wait while another program writes to the store; default: " +
              std::to_string(kUsualWait),
          count(seconds, 0, 1'000'000'000)};
}

Command in_store(Command command) {
  command.options.insert(command.options.begin(),
                         {"DB", "", "The folder of the store", command.file, kRequired});
  command.run = [folder = command.file, work = std::move(command.run)] {
    return run_in(*folder, work);
  };
  return command;
}

Command store_command() {
  return {
      .help = {"store", "Exact keys and values in a folder", kFooter},
      .file = nullptr,
      .commands = {put_command(), get_command(), has_command(), del_command(), load_command(),
                   dump_command(), list_command(), mget_command(), stats_command(),
                   import_command(), export_command(), compact_command(), copy_command(),
                   verify_store_command(), repair_command(), damaged_command()},
      .unknown_option = "; -- goes before a KEY or VALUE that begins with -",
  };
}

}}}  // namespace nestline::command
