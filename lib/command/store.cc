// What the commands of nestline store share: opening, ending, and the wording of errors.
#include <filesystem>
#include <stdexcept>
#include <system_error>

#include "lib/command/errors.h"
#include "lib/command/store_commands.h"

namespace nestline::command {

Store open_to_read(const std::string& folder) {
  return Store::open(folder, {.create = false, .read_only = true});
}

void finish_writing(Store& store, Sync sync) {
  if (sync != Sync::never) store.sync();
}

// Messages of the library name the file inside the folder already.
int store(const StoreArguments& arguments) {
  const std::string& folder = arguments.file;
  try {
    return std::visit([&](const auto& work) { return run(folder, work); }, arguments.work);
  } catch (const CommandError&) {
    throw;
  } catch (const StoreError& error) {
    throw CommandError({}, error.what());
  } catch (const std::system_error& error) {
    if (error.code() == std::errc::no_such_file_or_directory && !std::filesystem::exists(folder)) {
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

}  // namespace nestline::command
