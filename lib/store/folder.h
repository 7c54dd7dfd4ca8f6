// The folder of a store: whether it is one, and who has the right to write in it.
#ifndef NESTLINE_LIB_STORE_FOLDER_H_
#define NESTLINE_LIB_STORE_FOLDER_H_

#include <memory>
#include <string>
#include <string_view>

#include "lib/store/disk.h"

namespace nestline {

// For messages.
std::string folder_name(const Disk& disk);

// Throws StoreError if a folder without a store has files: it is not empty, so nothing may become
// of it.
void require_empty(const Disk& disk);

// The same unless there are files of a store.
void refuse_other_folder(const Disk& disk);

// Throws StoreError when somebody has it; the sentence names the process, if it is known, and ends
// with `advice`.
std::unique_ptr<Disk::Lock> take_lock(Disk& disk, std::string_view advice);

}  // namespace nestline

#endif  // NESTLINE_LIB_STORE_FOLDER_H_
