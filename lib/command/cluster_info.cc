// nestline cluster info: what is in a logical filter and where, for people and as JSON. The names
// in the JSON object are part of the interface and do not change.
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "lib/command/cluster_commands.h"
#include "lib/command/errors.h"
#include "lib/command/output.h"
#include "lib/command/progress.h"

namespace nestline::command {
namespace {

// What one server has of the filter.
struct NodeShare {
  std::uint64_t parts = 0;
  std::uint64_t items = 0;
  std::uint64_t memory_bytes = 0;
};

std::map<std::string, NodeShare> nodes_of(const ClusterStats& stats) {
  std::map<std::string, NodeShare> nodes;
  for (const ClusterPart& part : stats.parts) {
    NodeShare& node = nodes[part.node];
    ++node.parts;
    node.items += part.items;
    node.memory_bytes += part.memory_bytes;
  }
  return nodes;
}

nlohmann::ordered_json json_of(const ClusterPart& part) {
  nlohmann::ordered_json object;
  object["number"] = part.number;
  object["key"] = part.key;
  object["node"] = part.node;
  object["items"] = part.items;
  object["capacity"] = part.capacity;
  object["load"] = part.load;
  object["expected_fpr"] = part.expected_fpr;
  object["memory_bytes"] = part.memory_bytes;
  return object;
}

std::string json_text(const ClusterFilter& filter, const ClusterStats& stats) {
  nlohmann::ordered_json object;
  object["name"] = filter.name();
  object["items"] = stats.items;
  object["capacity"] = filter.capacity();
  object["fpr"] = filter.fpr();
  object["expected_fpr"] = stats.expected_fpr;
  object["memory_bytes"] = stats.memory_bytes;
  object["seed"] = filter.seed();
  object["nodes"] = nlohmann::ordered_json::array();
  for (const auto& [address, node] : nodes_of(stats)) {
    nlohmann::ordered_json share;
    share["node"] = address;
    share["parts"] = node.parts;
    share["items"] = node.items;
    share["memory_bytes"] = node.memory_bytes;
    object["nodes"].push_back(std::move(share));
  }
  object["parts"] = nlohmann::ordered_json::array();
  for (const ClusterPart& part : stats.parts) object["parts"].push_back(json_of(part));
  // A name can be any bytes; JSON has only text.
  return object.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

template <typename... Values>
std::string formatted(const char* format, Values... values) {
  char text[256];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

std::string bytes_text(std::uint64_t bytes) {
  return bytes < 1000 ? std::to_string(bytes) : short_number(static_cast<double>(bytes), "B");
}

std::string table_text(const ClusterFilter& filter, const ClusterStats& stats, bool each) {
  std::string text;
  const auto line = [&text](std::string name, const std::string& value) {
    name.resize(30, ' ');
    text += name + value + "\n";
  };
  line("keys", std::to_string(stats.items));
  line("capacity", std::to_string(filter.capacity()));
  line("wanted false-positive rate", formatted("%.4g %%", 100 * filter.fpr()));
  line("expected false-positive rate", formatted("%.4g %%", 100 * stats.expected_fpr));
  line("memory", bytes_text(stats.memory_bytes));
  line("seed", std::to_string(filter.seed()));
  line("parts", std::to_string(filter.parts()));
  text += formatted("\n%-30s%8s%16s%12s\n", "server", "parts", "keys", "memory");
  for (const auto& [address, node] : nodes_of(stats)) {
    text += formatted(
        "%-30s%8llu%16llu%12s\n", address.c_str(), static_cast<unsigned long long>(node.parts),
        static_cast<unsigned long long>(node.items), bytes_text(node.memory_bytes).c_str());
  }
  if (!each) return text;
  text += formatted("\n%6s  %-30s%14s%14s%8s%12s  %s\n", "part", "server", "keys", "capacity",
                    "load", "memory", "key");
  for (const ClusterPart& part : stats.parts) {
    text += formatted("%6u  %-30s%14llu%14llu%8.3f%12s  ", part.number, part.node.c_str(),
                      static_cast<unsigned long long>(part.items),
                      static_cast<unsigned long long>(part.capacity), part.load,
                      bytes_text(part.memory_bytes).c_str()) +
            part.key + "\n";
  }
  return text;
}

}  // namespace

int run(const ClusterPlace& place, const ClusterInfo& info) {
  ClusterFilter filter = place.open();
  const ClusterStats stats = filter.stats();
  Output output(STDOUT_FILENO, "standard output");
  output.write(info.json ? json_text(filter, stats) : table_text(filter, stats, info.parts));
  output.flush();
  return kExitYes;
}

}  // namespace nestline::command
