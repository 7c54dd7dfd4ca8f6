// nestline cluster info: figures by server, and with --each by part, by requests to all of them at
// once. The names in the JSON object are part of the interface: they never change.
#include <cinttypes>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lib/faces/command/cluster/commands.h"
#include "lib/faces/command/io/errors.h"
#include "lib/faces/command/io/output.h"
#include "lib/faces/command/io/progress.h"
#include "lib/faces/command/io/report.h"

namespace nestline { inline namespace v0_3 { namespace command {
namespace {

struct ClusterInfo : InCluster {
  bool json = false;
  bool parts = false;  // --each: a line for each part
};

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
    node.items += part.size;
    node.memory_bytes += part.memory_bytes;
  }
  return nodes;
}

std::string memory_text(std::uint64_t bytes) {
  return bytes < 1000 ? std::to_string(bytes) : short_number(bytes, "B");
}

std::string text_of(const ClusterFilter& filter, const ClusterStats& stats,
                    const ClusterInfo& info) {
  const auto percent = [](double rate) { return formatted("%.4g %%", 100 * rate); };
  const auto nodes = nodes_of(stats);
  Json node_fields = Json::array(), part_fields = Json::array();
  Report report;
  report.json("name", filter.name());
  report.add("items", "keys", stats.size);
  report.add("capacity", "capacity", filter.capacity());
  report.add("fpr", "wanted false-positive rate", filter.fpr(), percent(filter.fpr()));
  report.add("expected_fpr", "expected false-positive rate", stats.expected_fpr,
             percent(stats.expected_fpr));
  report.add("memory_bytes", "memory", stats.memory_bytes, memory_text(stats.memory_bytes));
  report.add("seed", "seed", filter.seed());
  report.line("parts", std::to_string(filter.parts()));
  std::string tables = formatted("\n%-30s%8s%16s%12s\n", "server", "parts", "keys", "memory");
  for (const auto& [address, node] : nodes) {
    node_fields.push_back({{"node", address},
                           {"parts", node.parts},
                           {"items", node.items},
                           {"memory_bytes", node.memory_bytes}});
    tables += formatted("%-30s%8" PRIu64 "%16" PRIu64 "%12s\n", address.c_str(), node.parts,
                        node.items, memory_text(node.memory_bytes).c_str());
  }
  if (info.parts) {
    tables += formatted("\n%6s  %-30s%14s%14s%8s%12s  %s\n", "part", "server", "keys", "capacity",
                        "load", "memory", "key");
  }
  for (const ClusterPart& part : stats.parts) {
    part_fields.push_back({{"number", part.number},
                           {"key", part.key},
                           {"node", part.node},
                           {"items", part.size},
                           {"capacity", part.capacity},
                           {"load", part.load},
                           {"expected_fpr", part.expected_fpr},
                           {"memory_bytes", part.memory_bytes}});
    if (!info.parts) continue;
    tables +=
        formatted("%6u  %-30s%14" PRIu64 "%14" PRIu64 "%8.3f%12s  ", part.number, part.node.c_str(),
                  part.size, part.capacity, part.load, memory_text(part.memory_bytes).c_str()) +
        part.key + "\n";
  }
  report.json("nodes", node_fields);
  report.json("parts", part_fields);
  return report.text(info.json) + (info.json ? "" : tables);
}

int run(const ClusterInfo& info) {
  ClusterFilter filter = info.open();
  const ClusterStats stats = filter.stats();
  print(text_of(filter, stats, info));
  return kExitYes;
}

}  // namespace

Command cluster_info_command() {
  const auto info = std::make_shared<ClusterInfo>();
  return in_cluster(info, {"info", "Show what is in it and where", ""},
                    {filter_name(*info),
                     {"--json", "", "Print one JSON object", &info->json},
                     {"--each", "", "Also print a line for each part", &info->parts}});
}

}}}  // namespace nestline::command
