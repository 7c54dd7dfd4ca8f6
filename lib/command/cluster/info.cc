// nestline cluster info: what is in a logical filter and where, for people and as JSON. The names
// in the JSON object are part of the interface and do not change.
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lib/command/cluster/commands.h"
#include "lib/command/io/errors.h"
#include "lib/command/io/output.h"
#include "lib/command/io/progress.h"
#include "lib/command/io/report.h"

namespace nestline::command {
namespace {

constexpr const char* kInfoFooter = "Exit status: 0 done, 2 error.";

struct ClusterInfo : InCluster {
  bool json = false;
  bool parts = false;  // --each: a line for each part
};

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

std::string json_text(const ClusterFilter& filter, const ClusterStats& stats) {
  std::vector<JsonFields> nodes, parts;
  for (const auto& [address, node] : nodes_of(stats)) {
    nodes.push_back({{"node", address},
                     {"parts", node.parts},
                     {"items", node.items},
                     {"memory_bytes", node.memory_bytes}});
  }
  for (const ClusterPart& part : stats.parts) {
    parts.push_back({{"number", part.number},
                     {"key", part.key},
                     {"node", part.node},
                     {"items", part.items},
                     {"capacity", part.capacity},
                     {"load", part.load},
                     {"expected_fpr", part.expected_fpr},
                     {"memory_bytes", part.memory_bytes}});
  }
  return json_object({{"name", filter.name()},
                      {"items", stats.items},
                      {"capacity", filter.capacity()},
                      {"fpr", filter.fpr()},
                      {"expected_fpr", stats.expected_fpr},
                      {"memory_bytes", stats.memory_bytes},
                      {"seed", filter.seed()},
                      {"nodes", nodes},
                      {"parts", parts}});
}

template <typename... Values>
std::string row(const char* format, Values... values) {
  char text[256];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

std::string memory_text(std::uint64_t bytes) {
  return bytes < 1000 ? std::to_string(bytes) : short_number(static_cast<double>(bytes), "B");
}

std::string table_text(const ClusterFilter& filter, const ClusterStats& stats, bool each) {
  Table table;
  table.line("keys", std::to_string(stats.items));
  table.line("capacity", std::to_string(filter.capacity()));
  table.line("wanted false-positive rate", formatted("%.4g %%", 100 * filter.fpr()));
  table.line("expected false-positive rate", formatted("%.4g %%", 100 * stats.expected_fpr));
  table.line("memory", memory_text(stats.memory_bytes));
  table.line("seed", std::to_string(filter.seed()));
  table.line("parts", std::to_string(filter.parts()));
  std::string text = table.text();
  text += row("\n%-30s%8s%16s%12s\n", "server", "parts", "keys", "memory");
  for (const auto& [address, node] : nodes_of(stats)) {
    text +=
        row("%-30s%8llu%16llu%12s\n", address.c_str(), static_cast<unsigned long long>(node.parts),
            static_cast<unsigned long long>(node.items), memory_text(node.memory_bytes).c_str());
  }
  if (!each) return text;
  text += row("\n%6s  %-30s%14s%14s%8s%12s  %s\n", "part", "server", "keys", "capacity", "load",
              "memory", "key");
  for (const ClusterPart& part : stats.parts) {
    text += row("%6u  %-30s%14llu%14llu%8.3f%12s  ", part.number, part.node.c_str(),
                static_cast<unsigned long long>(part.items),
                static_cast<unsigned long long>(part.capacity), part.load,
                memory_text(part.memory_bytes).c_str()) +
            part.key + "\n";
  }
  return text;
}

int run(const ClusterInfo& info) {
  ClusterFilter filter = info.open();
  const ClusterStats stats = filter.stats();
  print(info.json ? json_text(filter, stats) : table_text(filter, stats, info.parts));
  return kExitYes;
}

}  // namespace

Command cluster_info_command() {
  const auto info = std::make_shared<ClusterInfo>();
  return in_cluster(*info, {{"info", "Show what is in it and where", kInfoFooter},
                            &info->name,
                            {filter_name(*info),
                             {"--json", "", "Print one JSON object", &info->json},
                             {"--each", "", "Also print a line for each part", &info->parts}},
                            [info] { return run(*info); }});
}

}  // namespace nestline::command
