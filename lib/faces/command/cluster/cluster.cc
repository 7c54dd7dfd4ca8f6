// What the commands of nestline cluster share: connection options, password, wording of errors.
// Each is a table (io/command.h) that in_cluster() completes. A password is never an argument, and
// main.cc overwrites that of a URL before anything is connected.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "lib/faces/command/cluster/commands.h"
#include "lib/faces/command/io/errors.h"

namespace nestline { inline namespace v0_3 { namespace command {
namespace {

constexpr const char* kFooter =
    "A logical filter is many CF.* keys that act as one, on the servers of a Redis Cluster or on\n"
    "one Redis server. The servers need the nestline module. One server of a cluster is enough\n"
    "for --server: the others are found through it. More are for when that one is down.\n"
    "Exit status: 0 yes or done, 1 no, 2 error.";

constexpr const char* kPasswordFooter =
    "The password is taken from --password-file, or from the variable\n"
    "NESTLINE_CLUSTER_PASSWORD; other users can read what is on a command line, if only for a\n"
    "moment in redis://USER:PASSWORD@HOST.\n";

constexpr std::uint64_t kMaxTimeout = 3'600'000;
constexpr std::uint64_t kMaxReplicas = 1000;
constexpr std::size_t kMaxPassword = std::size_t{1} << 16;

std::string password_of(const InCluster& place) {
  if (!place.password_file.empty()) {
    const std::string text = read_all(place.password_file, kMaxPassword, "a password may have");
    const std::string line = text.substr(0, text.find_first_of("\r\n"));
    if (line.empty()) throw CommandError(place.password_file, "its first line is empty");
    return line;
  }
  const char* const variable = std::getenv("NESTLINE_CLUSTER_PASSWORD");
  return variable == nullptr ? "" : variable;
}

int run_at(InCluster& place, const std::function<int()>& work) {
  try {
    place.servers.password = password_of(place);
    return work();
  } catch (const ClusterError& error) {
    throw CommandError(place.name, error.what());
  } catch (const std::invalid_argument& error) {
    throw UsageError(with_option_names(error.what()) + "; see nestline cluster --help");
  } catch (const std::bad_alloc&) {
    throw CommandError(place.name, "not enough memory");
  }
}

void check_servers(const InCluster& place) {
  const bool given = !place.servers.servers.empty();
  if (!place.copy_instead && !given) throw UsageError("--server is required");
  if (place.copy_instead && given) throw UsageError("give --server or --file, not both");
}

}  // namespace

Option filter_name(InCluster& place) {
  return {"NAME", "", "The name of the logical filter", &place.name, kRequired};
}

Option wait_option(InCluster& place) {
  return {"--wait", "REPLICAS",
          "Ends well only if so many replicas of each part have it; default: 0",
          count(place.servers.wait_replicas, 0, kMaxReplicas)};
}

Command in_cluster(InCluster& place, Command command, const char* server_absent) {
  ClusterOptions& servers = place.servers;
  const std::vector<Option> connection = {
      {"--server", "SERVER",
       std::string("A server: HOST:PORT, HOST, [IPV6]:PORT, redis://... or, for TLS,\n"
                   "rediss://...; may be given several times") +
           server_absent,
       &servers.servers},
      {"--user", "USER", "The user for AUTH", &servers.user},
      {"--password-file", "FILE", "The first line of FILE is the password", &place.password_file},
      {"--tls", "", "Use TLS, as rediss:// does", &servers.tls},
      {"--ca", "FILE", "TLS: the certificates to trust; default: those of the system",
       &servers.ca_file},
      {"--cert", "FILE", "TLS: the certificate of this client", &servers.cert_file},
      {"--key", "FILE", "TLS: the key of this client", &servers.key_file},
      {"--timeout", "MS", "Longest wait for one server, in milliseconds; default: 2000",
       count(servers.timeout, 1, kMaxTimeout)}};
  command.options.insert(command.options.begin(), connection.begin(), connection.end());
  command.help.common = kPasswordFooter;
  command.run = [&place, work = std::move(command.run)] { return run_at(place, work); };
  command.check = [&place, check = std::move(command.check)] {
    if (check) check();
    check_servers(place);
  };
  return command;
}

Command cluster_command() {
  return {
      .help = {"cluster", "Filters on a Redis Cluster, larger than one server", kFooter},
      .file = nullptr,
      .commands = {create_command(), add_keys_command(), query_keys_command(),
                   remove_keys_command(), push_command(), pull_command(), merge_filter_command(),
                   fit_filter_command(), cluster_info_command(), drop_command()},
  };
}

}}}  // namespace nestline::command
