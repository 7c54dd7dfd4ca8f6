// The commands: the arguments of each, and what each does. arguments.h parses the command line.
//
// Each function returns the exit status. It throws CommandError, UsageError, or what the library
// throws; main.cc prints the message.
#ifndef NESTLINE_LIB_COMMAND_COMMANDS_H_
#define NESTLINE_LIB_COMMAND_COMMANDS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/command/query_lines.h"
#include "nestline/filter.h"

namespace nestline::command {

struct BuildArguments {
  std::string file;
  Options options;  // capacity 0: not given, count the keys
  std::uint64_t threads = 1;
  std::vector<std::string> inputs;
};

struct QueryArguments : LineChoice {
  std::string file;
};

/// For add, remove and verify.
struct KeysArguments {
  std::string file;
  std::vector<std::string> inputs;  // verify: empty means no keys, not standard input
};

struct InfoArguments {
  std::string file;
  bool json = false;
};

struct MergeArguments {
  std::string file;
  std::vector<std::string> inputs;  // two or more
};

struct UniqArguments {
  std::optional<std::uint64_t> capacity;
  std::optional<std::uint64_t> window;
  std::optional<double> fpr;
  std::optional<std::uint64_t> seed;
  std::string state;        // the file; empty: none
  bool repeated = false;    // -d
  bool count_only = false;  // -c
  std::vector<std::string> inputs;
};

/// Makes a filter of the keys and saves it; on an error, writes no file.
int build(const BuildArguments& arguments);
/// Prints the lines that may be in the filter.
int query(const QueryArguments& arguments);
/// Adds the keys to the filter in the file; on an error the file is unchanged.
int add(const KeysArguments& arguments);
/// Removes one copy of each key.
int remove(const KeysArguments& arguments);
/// Prints what is in the file.
int info(const InfoArguments& arguments);
/// Checks the file, then checks that every key is found.
int verify(const KeysArguments& arguments);
/// Merges the filters into one and saves it; on an error, writes no file.
int merge(const MergeArguments& arguments);
/// Prints the lines that were not seen before.
int uniq(const UniqArguments& arguments);

}  // namespace nestline::command

#endif  // NESTLINE_LIB_COMMAND_COMMANDS_H_
