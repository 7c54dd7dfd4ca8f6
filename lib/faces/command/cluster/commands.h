// The commands of nestline cluster, each in the file named below. None repeats a change whose fate
// is not known: the message states how many lines were done before.
#ifndef NESTLINE_LIB_FACES_COMMAND_CLUSTER_COMMANDS_H_
#define NESTLINE_LIB_FACES_COMMAND_CLUSTER_COMMANDS_H_

#include <concepts>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lib/faces/command/io/command.h"
#include "nestline/cluster.h"

namespace nestline { inline namespace v0_3 { namespace command {

// keys.cc
Command add_keys_command();
Command query_keys_command();
Command remove_keys_command();
// whole.cc
Command create_command();
Command push_command();
Command pull_command();
Command merge_filter_command();
Command fit_filter_command();
Command drop_command();
// info.cc
Command cluster_info_command();

/// What each command has: where a logical filter is.
struct InCluster {
  std::string name;
  ClusterOptions servers;
  std::string password_file;
  bool copy_instead = false;  // `name` is a file that pull wrote, and is read in place of servers

  [[nodiscard]] ClusterFilter open() const { return ClusterFilter::open(servers, name); }
};

Option filter_name(InCluster& place);
Option wait_option(InCluster& place);

/// Adds the options for where the servers are, and turns errors of the library into advice.
Command in_cluster(InCluster& place, Command command, const char* server_absent);
/// The same for a command whose work is run(arguments).
template <std::derived_from<InCluster> Arguments>
Command in_cluster(const std::shared_ptr<Arguments>& arguments, const Help& help,
                   std::vector<Option> options, std::function<void()> check = {},
                   const char* server_absent = "") {
  return in_cluster(*arguments,
                    {help, &arguments->name, std::move(options),
                     [arguments] { return run(*arguments); }, std::move(check)},
                    server_absent);
}

}}}  // namespace nestline::command

#endif  // NESTLINE_LIB_FACES_COMMAND_CLUSTER_COMMANDS_H_
