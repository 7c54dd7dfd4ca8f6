// nestline store: the arguments of its commands, and what each does. store_arguments.h parses the
// command line, store.cc calls the function.
//
// Each function gets the folder of the store and returns the exit status. Commands that only read
// open the store read_only, so they work beside a program that writes.
#ifndef NESTLINE_LIB_COMMAND_STORE_COMMANDS_H_
#define NESTLINE_LIB_COMMAND_STORE_COMMANDS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "nestline/store.h"

namespace nestline::command {

struct StorePut {
  std::string key;
  std::optional<std::string> value;  // not given: standard input
  bool only_new = false;             // --new
  Sync sync = Sync::interval;
};

struct StoreGet {
  std::string key;
};

struct StoreHas {
  std::string key;
};

struct StoreDel {
  std::vector<std::string> keys;
  bool files = false;  // --file: the keys are names of files
  Sync sync = Sync::interval;
};

struct StoreLoad {
  std::vector<std::string> inputs;
  bool cdb = false;
  std::uint64_t expected_records = 0;
  Sync sync = Sync::interval;
};

struct StoreDump {
  bool cdb = false;
};

struct StoreList {
  bool keys = false;
};

struct StoreMget {
  std::vector<std::string> inputs;
  bool stats = false;  // prints what the questions cost
};

struct StoreShow {
  bool json = false;
};

struct StoreImport {
  std::string input;
  std::optional<std::string> name;  // not given: input
  Store::Pieces pieces;
  Sync sync = Sync::interval;
};

struct StoreExport {
  std::string name;
  std::string output;  // empty: standard output
};

struct StoreCompact {};
struct StoreVerify {};
struct StoreRepair {};

struct StoreArguments {
  std::string file;  // the folder
  std::variant<StorePut, StoreGet, StoreHas, StoreDel, StoreLoad, StoreDump, StoreList, StoreMget,
               StoreShow, StoreImport, StoreExport, StoreCompact, StoreVerify, StoreRepair>
      work;
};

/// Does what the arguments say. Turns errors of the library into messages that say what to do.
int store(const StoreArguments& arguments);

// store_records.cc
int run(const std::string& folder, const StorePut& put);
int run(const std::string& folder, const StoreGet& get);
int run(const std::string& folder, const StoreHas& has);
int run(const std::string& folder, const StoreDel& del);
// store_load.cc
int run(const std::string& folder, const StoreLoad& load);
// store_dump.cc
int run(const std::string& folder, const StoreDump& dump);
int run(const std::string& folder, const StoreList& list);
int run(const std::string& folder, const StoreMget& mget);
// store_stats.cc
int run(const std::string& folder, const StoreShow& show);
// store_files.cc
int run(const std::string& folder, const StoreImport& import);
int run(const std::string& folder, const StoreExport& chosen);
// store_care.cc
int run(const std::string& folder, const StoreCompact& compact);
int run(const std::string& folder, const StoreVerify& verify);
int run(const std::string& folder, const StoreRepair& repair);

/// A store to read, which must be there.
Store open_to_read(const std::string& folder);
/// Ends the changes of a command: closing the store cannot report that the disk refuses, this can.
void finish_writing(Store& store, Sync sync);

}  // namespace nestline::command

#endif  // NESTLINE_LIB_COMMAND_STORE_COMMANDS_H_
