// See cluster_arguments.h. Each command is defined, and read after parsing, by one function of
// Commands: `define` runs at once, and what it leaves in `readers` is run for the command that was
// given. All commands have the options of a connection.
#include "lib/command/cluster_arguments.h"

#include <functional>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "lib/command/errors.h"
#include "lib/command/option_values.h"

namespace nestline::command {
namespace {

constexpr std::uint64_t kMostKeys = std::uint64_t{1} << 53;
constexpr std::uint64_t kMostParts = 16384;
constexpr std::uint64_t kLongestTimeout = 3'600'000;
constexpr std::uint64_t kMostReplicas = 1000;

constexpr const char* kClusterFooter =
    "A logical filter is many CF.* keys that act as one, on the servers of a Redis Cluster or on\n"
    "one Redis server. The servers need the nestline module. One server of a cluster is enough "
    "for\n"
    "--server: the others are found through it. More are for when that one is down.\n"
    "Exit status: 0 yes or done, 1 no, 2 error.";

constexpr const char* kPasswordFooter =
    "The password is taken from --password-file, or from the variable\n"
    "NESTLINE_CLUSTER_PASSWORD; other users can read what is on a command line, if only for a\n"
    "moment in redis://USER:PASSWORD@HOST.\n";

constexpr const char* kCreateFooter =
    "The parts keep the wanted rate while they grow, until a server has no memory.\n"
    "Exit status: 0 done, 2 error.";

constexpr const char* kAddFooter =
    "A line that occurs n times is n copies of its key. When an error ends the work, the message\n"
    "says how many lines were added. After a lost connection, some that follow may have been "
    "added\n"
    "too: adding all of them again with --unique does no harm.\n"
    "Exit status: 0 done, 2 error, or some lines found no room (the others were added).";

constexpr const char* kQueryFooter =
    "Lines that were added are always printed. A few others are printed too, at the rate that\n"
    "nestline cluster info shows. When a part cannot be reached, the command ends with an error; "
    "it\n"
    "never takes silence for an answer. With --file no server is asked, and there is no NAME.\n"
    "Exit status: 0 at least one line was selected, 1 none was, 2 error.";

constexpr const char* kRemoveFooter =
    "Only remove keys that were added. A key that was not added may look the same as one that\n"
    "was; removing it removes the other key, which is then not found. Each line removes one copy.\n"
    "Exit status: 0 done, 1 some lines were not in the filter (the others were removed), 2 error.";

constexpr const char* kPushFooter =
    "The filter must exist (nestline cluster create). Its parts are built here, with all cores, "
    "and\n"
    "sent whole: several times faster than nestline cluster add. They take the place of all that\n"
    "was in the filter, at one instant; a push that is ended before leaves the filter as it was.\n"
    "What others add during the push may be lost. With --merge, the new keys are added to those\n"
    "that are there. Takes 8 bytes of memory per line, and those of the parts.\n"
    "Exit status: 0 done, 2 error.";

constexpr const char* kPullFooter =
    "Each part is a copy of one moment. The file answers nestline cluster query --file, and\n"
    "nestline cluster push --file sends it to a filter with the same parts and seed.\n"
    "Exit status: 0 done, 2 error. FILE is written only on success.";

constexpr const char* kMergeFooter =
    "Adds what is in the logical filter SOURCE to NAME, on the servers, part by part. Both need "
    "the\n"
    "same number of parts and the same --seed. Copies add up.\n"
    "Exit status: 0 done, 2 error. After an error, some parts may have been merged.";

constexpr const char* kInfoFooter = "Exit status: 0 done, 2 error.";

constexpr const char* kDropFooter =
    "Removes the filter, and what a create or push left that was ended in the middle.\n"
    "Exit status: 0 done, 1 there was nothing to remove, 2 error.";

constexpr const char* kInputs =
    "Files with one key per line; - is standard input; default: standard input";

}  // namespace

struct ClusterParser::Commands {
  using Read = std::function<decltype(ClusterArguments::work)()>;

  // The options of one command that say where the servers are.
  struct Connection {
    CLI::Option* servers;
    CLI::Option* user;
    CLI::Option* password_file;
    CLI::Option* tls;
    CLI::Option* ca;
    CLI::Option* cert;
    CLI::Option* key;
    CLI::Option* timeout;
    CLI::Option* wait = nullptr;
  };

  explicit Commands(CLI::App& app) : cluster(app) {
    define_create();
    define_add();
    define_query();
    define_remove();
    define_push();
    define_pull();
    define_merge();
    define_info();
    add("drop", "Remove a logical filter", kDropFooter);
    word_name(cluster.get_subcommand("drop"));
    readers["drop"] = [] { return ClusterDrop{}; };
  }

  CLI::App* add(const char* name, const char* description, const char* footer,
                const char* server_absent = "") {
    CLI::App* const command = cluster.add_subcommand(name, description);
    Connection& connection = connections[name];
    connection.servers =
        command->add_option("--server")
            ->type_size(1)
            ->expected(1, std::numeric_limits<int>::max())
            ->allow_extra_args(false)
            ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
            ->type_name("SERVER")
            ->description(std::string("A server: HOST:PORT, HOST, [IPV6]:PORT, redis://... or, for "
                                      "TLS,\nrediss://...; may be given several times") +
                          server_absent);
    connection.user = text_option(command, "--user", "USER", "The user for AUTH");
    connection.password_file =
        text_option(command, "--password-file", "FILE", "The first line of FILE is the password");
    connection.tls = flag_option(command, "--tls", "Use TLS, as rediss:// does");
    connection.ca = text_option(command, "--ca", "FILE",
                                "TLS: the certificates to trust; default: those of the system");
    connection.cert = text_option(command, "--cert", "FILE", "TLS: the certificate of this client");
    connection.key = text_option(command, "--key", "FILE", "TLS: the key of this client");
    connection.timeout = text_option(command, "--timeout", "MS",
                                     "Longest wait for one server, in milliseconds; default: 2000");
    command->footer(std::string(kPasswordFooter) + footer);
    return command;
  }

  void word_name(CLI::App* command) {
    command->add_option("NAME", filter_name, "The name of the logical filter")
        ->required()
        ->type_name("");
  }

  // After the work, so that it comes last in the help.
  void wait_option(CLI::App* command) {
    connections[command->get_name()].wait =
        text_option(command, "--wait", "REPLICAS",
                    "Ends well only if so many replicas of each part have it; default: 0");
  }

  void inputs(CLI::App* command) { command->add_option("INPUT", words, kInputs)->type_name(""); }

  std::vector<std::string> unshielded_words() {
    for (std::string& value : words) value = unshield(value);
    return words;
  }

  void define_create() {
    CLI::App* const command = add("create", "Make an empty logical filter", kCreateFooter);
    word_name(command);
    const CLI::Option* const capacity =
        text_option(command, "--capacity", "N", "Number of keys it must hold")->required();
    CLI::Option* const fpr =
        text_option(command, "--fpr", "P", "Wanted false-positive rate; default: 0.01");
    CLI::Option* const bits =
        text_option(command, "--bits", "B", "Fingerprint width: 8, 12 or 16")->excludes(fpr);
    const CLI::Option* const most =
        text_option(command, "--max-capacity", "N",
                    "No more than --capacity: the parts do not grow, and keys find no room\n"
                    "instead; default: they grow");
    const CLI::Option* const seed = text_option(command, "--seed", "S", "Seed of the hash");
    const CLI::Option* const parts =
        text_option(command, "--parts", "P",
                    "How many keys on the servers; at least four for each server that has slots;\n"
                    "default: 64");
    readers["create"] = [=] {
      ClusterCreate create;
      Options& options = create.options;
      options.capacity = parse_count(capacity, 1, kMostKeys);
      if (*fpr) options.fpr = parse_rate(fpr);
      if (*bits) options.bits = parse_bits(bits);
      if (*most) options.max_capacity = parse_count(most, 1, kMostKeys);
      if (*seed) options.seed = parse_count(seed, 1, std::numeric_limits<std::uint64_t>::max());
      if (*parts) create.parts = static_cast<unsigned>(parse_count(parts, 1, kMostParts));
      return create;
    };
  }

  void define_add() {
    CLI::App* const command = add("add", "Add keys", kAddFooter);
    word_name(command);
    inputs(command);
    const CLI::Option* const unique =
        flag_option(command, "--unique", "Add only keys that do not seem to be there");
    wait_option(command);
    readers["add"] = [=, this] { return ClusterAdd{unshielded_words(), bool(*unique)}; };
  }

  void define_query() {
    CLI::App* const command =
        add("query", "Print the lines that may be in it", kQueryFooter, "; not with --file");
    const CLI::Option* const named =
        command->add_option("NAME", filter_name, "The name of the logical filter")->type_name("");
    inputs(command);
    const CLI::Option* const invert =
        flag_option(command, "-v", "Print the other lines: those that are certainly not in it");
    const CLI::Option* const count = flag_option(command, "-c", "Print only the number of lines");
    const CLI::Option* const file =
        text_option(command, "--file", "FILE", "Ask a file that nestline cluster pull wrote");
    readers["query"] = [=, this] {
      ClusterQuery query;
      query.inputs = unshielded_words();
      query.invert = bool(*invert);
      query.count_only = bool(*count);
      if (*file) {
        query.file = value_of(file);
        if (*named) query.inputs.insert(query.inputs.begin(), unshield(filter_name));
      } else if (!*named) {
        throw UsageError("NAME is required");
      }
      return query;
    };
  }

  void define_remove() {
    CLI::App* const command = add("remove", "Remove keys", kRemoveFooter);
    word_name(command);
    inputs(command);
    wait_option(command);
    readers["remove"] = [this] { return ClusterRemove{unshielded_words()}; };
  }

  void define_push() {
    CLI::App* const command = add("push", "Build it of keys here and send it", kPushFooter);
    word_name(command);
    inputs(command);
    const CLI::Option* const merge =
        flag_option(command, "--merge", "Add the keys to those that are there");
    const CLI::Option* const file = text_option(
        command, "--file", "FILE", "Send a file that nestline cluster pull wrote, not INPUT");
    wait_option(command);
    readers["push"] = [=, this] {
      if (*file && !words.empty()) throw UsageError("give --file or INPUT, not both");
      return ClusterPush{.inputs = unshielded_words(),
                         .file = *file ? value_of(file) : "",
                         .how = *merge ? Upload::merge : Upload::replace};
    };
  }

  void define_pull() {
    CLI::App* const command = add("pull", "Copy all parts into one file", kPullFooter);
    word_name(command);
    const CLI::Option* const output =
        text_option(command, "-o", "FILE", "The file to write or replace")->required();
    readers["pull"] = [=] { return ClusterPull{value_of(output)}; };
  }

  void define_merge() {
    CLI::App* const command = add("merge", "Add another logical filter to it", kMergeFooter);
    word_name(command);
    const CLI::Option* const source =
        word_option(command, "SOURCE", "The logical filter whose content is added to NAME");
    wait_option(command);
    readers["merge"] = [=] { return ClusterMerge{value_of(source)}; };
  }

  void define_info() {
    CLI::App* const command = add("info", "Show what is in it and where", kInfoFooter);
    word_name(command);
    const CLI::Option* const json = flag_option(command, "--json", "Print one JSON object");
    const CLI::Option* const each =
        flag_option(command, "--each", "Also print a line for each part");
    readers["info"] = [=] { return ClusterInfo{bool(*json), bool(*each)}; };
  }

  // What the options of a connection say.
  void read_connection(const std::string& command, ClusterArguments& told) const {
    const Connection& given = connections.at(command);
    const auto text = [](const CLI::Option* option) { return *option ? value_of(option) : ""; };
    ClusterOptions& servers = told.servers;
    for (const std::string& server : given.servers->results()) {
      servers.servers.push_back(unshield(server));
    }
    servers.user = text(given.user);
    servers.tls = bool(*given.tls);
    servers.ca_file = text(given.ca);
    servers.cert_file = text(given.cert);
    servers.key_file = text(given.key);
    if (*given.timeout) {
      servers.timeout = std::chrono::milliseconds(parse_count(given.timeout, 1, kLongestTimeout));
    }
    if (given.wait != nullptr && *given.wait) {
      servers.wait_replicas = static_cast<unsigned>(parse_count(given.wait, 0, kMostReplicas));
    }
    told.password_file = text(given.password_file);
  }

  CLI::App& cluster;
  std::map<std::string, Connection> connections;
  // Of the command that was given.
  std::string filter_name;
  std::vector<std::string> words;

  std::map<std::string, Read> readers;
};

ClusterParser::ClusterParser(CLI::App& program)
    : app_(
          program.add_subcommand("cluster", "Filters on a Redis Cluster, larger than one server")) {
  app_->require_subcommand(1);
  app_->footer(kClusterFooter);
  commands_ = std::make_unique<Commands>(*app_);
}

ClusterParser::~ClusterParser() = default;

std::string ClusterParser::selected_name() const {
  const auto commands = app_->get_subcommands();
  return commands.empty() ? "" : commands.front()->get_name();
}

ClusterArguments ClusterParser::parse() {
  ClusterArguments told;
  const std::string command = selected_name();
  commands_->read_connection(command, told);
  told.work = commands_->readers.at(command)();
  const auto* const query = std::get_if<ClusterQuery>(&told.work);
  const bool asks_file = query != nullptr && !query->file.empty();
  told.file = asks_file ? query->file : unshield(commands_->filter_name);
  if (!asks_file && told.servers.servers.empty()) throw UsageError("--server is required");
  if (asks_file && !told.servers.servers.empty()) {
    throw UsageError("give --server or --file, not both");
  }
  return told;
}

}  // namespace nestline::command
