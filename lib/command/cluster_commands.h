// nestline cluster: the arguments of its commands, and what each does. cluster_arguments.h parses
// the command line, cluster.cc calls the function.
//
// Each function gets the servers and the name of the logical filter, and returns the exit status.
// None of them repeats a change whose fate is not known: the library says so, and the message says
// how many lines were done before.
#ifndef NESTLINE_LIB_COMMAND_CLUSTER_COMMANDS_H_
#define NESTLINE_LIB_COMMAND_CLUSTER_COMMANDS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "lib/command/query_lines.h"
#include "nestline/cluster.h"

namespace nestline::command {

struct ClusterCreate {
  Options options;
  unsigned parts = 64;
};

struct ClusterAdd {
  std::vector<std::string> inputs;
  bool unique = false;  // --unique
};

struct ClusterQuery : LineChoice {
  std::string file;  // --file: a file that pull wrote, in place of servers
};

struct ClusterRemove {
  std::vector<std::string> inputs;
};

struct ClusterPush {
  std::vector<std::string> inputs;
  std::string file;  // --file: a file that pull wrote, in place of inputs
  Upload how = Upload::replace;
};

struct ClusterPull {
  std::string output;
};

struct ClusterMerge {
  std::string source;
};

struct ClusterInfo {
  bool json = false;
  bool parts = false;  // --each: a line for each part
};

struct ClusterDrop {};

struct ClusterArguments {
  std::string file;  // the name of the logical filter, or the file that is asked in its place
  ClusterOptions servers;
  std::string password_file;
  std::variant<ClusterCreate, ClusterAdd, ClusterQuery, ClusterRemove, ClusterPush, ClusterPull,
               ClusterMerge, ClusterInfo, ClusterDrop>
      work;
};

/// Where a logical filter is.
struct ClusterPlace {
  ClusterOptions servers;  // with the password
  std::string name;

  [[nodiscard]] ClusterFilter open() const { return ClusterFilter::open(servers, name); }
};

/// Does what the arguments say. Turns errors of the library into messages that say what to do.
int cluster(const ClusterArguments& arguments);

// cluster_keys.cc
int run(const ClusterPlace& place, const ClusterAdd& add);
int run(const ClusterPlace& place, const ClusterQuery& query);
int run(const ClusterPlace& place, const ClusterRemove& remove);
// cluster_whole.cc
int run(const ClusterPlace& place, const ClusterCreate& create);
int run(const ClusterPlace& place, const ClusterPush& push);
int run(const ClusterPlace& place, const ClusterPull& pull);
int run(const ClusterPlace& place, const ClusterMerge& merge);
int run(const ClusterPlace& place, const ClusterDrop& drop);
// cluster_info.cc
int run(const ClusterPlace& place, const ClusterInfo& info);

}  // namespace nestline::command

#endif  // NESTLINE_LIB_COMMAND_CLUSTER_COMMANDS_H_
