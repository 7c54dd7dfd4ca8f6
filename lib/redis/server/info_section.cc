#include "lib/redis/server/info_section.h"

#include "lib/redis/server/server_memory.h"
#include "lib/redis/server/workers.h"

namespace nestline::redis {
namespace {

void report(InfoContext* info, int) {
  // The server puts the module's name in front of the section and of each field.
  api.InfoAddSection(info, nullptr);
  const auto field = [&](const char* name, std::uint64_t value) {
    api.InfoAddFieldULongLong(info, name, value);
  };
  const ServerMemoryUse memory = server_memory_use();
  field("keys", counters.values.load());
  field("filters", memory.allocations);
  field("filter_bytes", memory.bytes);
  field("items_added", counters.items_added);
  field("items_deleted", counters.items_deleted);
  field("stopped_by_max_expansions", counters.stopped_by_max_expansions);
  field("stopped_by_memory", counters.stopped_by_memory);
  field("refused_by_maxmemory", counters.refused_by_maxmemory);
  field("refused_payloads", counters.refused_payloads);
  field("threads", workers().threads());
  field("thread_batches", counters.batches);
  field("thread_left_open", counters.answers_left_open);
}

}  // namespace

Counters counters;

void count_outcome(Added outcome) {
  counters.items_added += outcome == Added::added;
  counters.stopped_by_max_expansions += outcome == Added::too_many;
  counters.stopped_by_memory += outcome == Added::no_memory;
}

bool register_info_section(Context* context) {
  if (api.RegisterInfoFunc(context, report) == kOk) return true;
  api.Log(context, "warning", "this server refuses a section for INFO");
  return false;
}

}  // namespace nestline::redis
