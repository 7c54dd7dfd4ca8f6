// The commands of nestline store, each in the file named below. Those that only read open it
// read_only, so they work beside a program that writes.
#ifndef NESTLINE_LIB_FACES_COMMAND_STORE_COMMANDS_H_
#define NESTLINE_LIB_FACES_COMMAND_STORE_COMMANDS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lib/faces/command/io/command.h"
#include "nestline/store.h"

namespace nestline { inline namespace v0_3 { namespace command {

// records.cc
Command put_command();
Command get_command();
Command has_command();
Command del_command();
// load.cc
Command load_command();
// dump.cc
Command dump_command();
Command list_command();
Command mget_command();
// files.cc
Command import_command();
Command export_command();
// care.cc
Command stats_command();
Command compact_command();
Command copy_command();
Command verify_store_command();
Command repair_command();
Command damaged_command();

/// Completes the table: DB is the first word, and errors of the library become advice.
Command in_store(Command command);
/// The same for a command whose work is run(arguments).
template <typename Arguments>
Command in_store(const std::shared_ptr<Arguments>& arguments, const Help& help,
                 std::vector<Option> options, std::function<void()> check = {}) {
  return in_store({help, &arguments->folder, std::move(options),
                   [arguments] { return run(*arguments); }, std::move(check)});
}
Option sync_option(Sync& sync);
/// For how many seconds to wait for another program that writes.
inline constexpr std::uint64_t kUsualWait = 10;
Option wait_option(std::uint64_t& seconds);

/// A store to read, which must be there. This and the next say what recovery leaves out.
Store open_to_read(const std::string& folder);
Store open_to_write(const std::string& folder, const StoreOptions& options, std::uint64_t wait);
/// Throws CommandError for an input that lies in the folder: what is stored may go into that very
/// file, whose end would never come.
void refuse_own_file(const std::string& folder, const std::string& input);
/// Ends the changes of a command: closing the store cannot report that the disk refuses, this can.
void finish_writing(Store& store, Sync sync);

}}}  // namespace nestline::command

#endif  // NESTLINE_LIB_FACES_COMMAND_STORE_COMMANDS_H_
