#include "lib/faces/redis/server/commands.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "lib/faces/redis/server/server_memory.h"
#include "lib/faces/redis/server/ticker.h"
#include "lib/faces/redis/server/workers.h"

namespace nestline { inline namespace v0_3 { namespace redis {
namespace {

template <typename Number>
std::optional<Number> number(const String* argument) {
  const std::string_view all = text(argument);
  Number value{};
  const auto [end, error] = std::from_chars(all.data(), all.data() + all.size(), value);
  if (error != std::errc() || end != all.data() + all.size()) return std::nullopt;
  return value;
}

void report(InfoContext* info, int) {
  // The server puts the module's name in front of the section and of each field.
  api.InfoAddSection(info, nullptr);
  const auto field = [&](const char* name, std::uint64_t value) {
    api.InfoAddFieldULongLong(info, name, value);
  };
  const ServerMemoryUse memory = server_memory_use();
  field("keys", counters.values.load());
  field("windowed_keys", counters.windowed.load());
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

std::string_view text(const String* argument) {
  std::size_t length = 0;
  const char* const bytes = api.StringPtrLen(argument, &length);
  return {bytes, length};
}

bool is_word(std::string_view text, std::string_view word) {
  return std::equal(text.begin(), text.end(), word.begin(), word.end(),
                    [](char a, char b) { return lower(a) == lower(b); });
}

std::optional<long long> integer(const String* argument) { return number<long long>(argument); }

std::optional<std::uint64_t> natural(const String* argument) {
  return number<std::uint64_t>(argument);
}

std::optional<double> fraction(const String* argument) {
  const auto value = number<double>(argument);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

std::vector<std::string_view> items_of(const Call& call, int first) {
  std::vector<std::string_view> items(static_cast<std::size_t>(call.count - first));
  std::transform(call.arguments + first, call.arguments + call.count, items.begin(), text);
  return items;
}

OpenedKey::OpenedKey(const Call& call, String* name, int mode)
    : call_(call), key_(api.OpenKey(call.context, name, mode)) {
  // A missing key is null when it is opened for reading, and empty when it is opened for writing.
  if (key_ == nullptr || api.KeyType(key_) == kKeyEmpty) return;
  is_other_ = api.ModuleTypeGetType(key_) != data_type();
  if (!is_other_) value_ = static_cast<const KeptValue*>(api.ModuleTypeGetValue(key_));
}

OpenedKey::~OpenedKey() {
  if (key_ != nullptr) api.CloseKey(key_);
}

const KeptValue& OpenedKey::keep(KeptValue value) {
  auto kept = std::make_unique<KeptValue>(std::move(value));
  if (kept->windowed) {
    tick_key(*kept->windowed, api.GetSelectedDb(call_.context), text(call_.key()));
  }
  ++counters.values;
  value_ = kept.get();
  is_other_ = false;
  api.ModuleTypeSetValue(key_, data_type(), kept.release());
  return *value_;
}

CuckooValue& OpenedKey::set(std::unique_ptr<CuckooValue> filter) {
  return *keep({std::move(filter), nullptr}).filter;
}

WindowedValue& OpenedKey::set(std::unique_ptr<WindowedValue> windowed) {
  return *keep({nullptr, std::move(windowed)}).windowed;
}

bool OpenedKey::refuse(const char* missing, const char* windowed) const {
  const char* const error = is_other_           ? kWrongType
                            : value_ == nullptr ? missing
                            : value_->windowed  ? windowed
                                                : nullptr;
  if (error == nullptr) return false;
  reply_error(call_, error);
  return true;
}

void notify_change(const Call& call, const char* event) {
  api.SignalModifiedKey(call.context, call.key());
  api.NotifyKeyspaceEvent(call.context, kNotifyModule, event, call.key());
}

void replicate(const Call& call, const char* event) {
  api.ReplicateVerbatim(call.context);
  notify_change(call, event);
}

bool is_replayed(const Call& call) {
  return (api.GetContextFlags(call.context) & (kContextReplicated | kContextLoading)) != 0;
}

void reply_pair(const Call& call, const char* name, std::uint64_t value) {
  api.ReplyWithSimpleString(call.context, name);
  api.ReplyWithLongLong(call.context, static_cast<long long>(value));
}

void reply_pair(const Call& call, const char* name, double value) {
  api.ReplyWithSimpleString(call.context, name);
  api.ReplyWithDouble(call.context, value);
}

void reply_pair(const Call& call, const char* name, const std::string& value) {
  api.ReplyWithSimpleString(call.context, name);
  api.ReplyWithStringBuffer(call.context, value.data(), value.size());
}

int reply_not_inserted(const Call& call, Outcome outcome) {
  if (outcome == Outcome::full) return reply_error(call, kFull);
  if (outcome == kTooMany) return reply_error(call, kMaximumExpansions);
  if (outcome == kNoMemory) return reply_error(call, kInsufficientMemory);
  return api.ReplyWithBool(call.context, 0);
}

void reply_outcome(const Call& call, Outcome outcome, Unless unless) {
  const bool is_stored = outcome == Outcome::stored;
  const bool is_refused = !is_stored && outcome != Outcome::present;
  const auto is_boolean = [&] {
    return !is_refused || (api.GetContextFlags(call.context) & kContextResp3) != 0;
  };
  if (unless == Unless::never && is_boolean()) {
    api.ReplyWithBool(call.context, is_stored);
  } else {
    api.ReplyWithLongLong(call.context, is_refused ? -1 : is_stored);
  }
}

Api api;
Counters counters;

void count_outcome(Outcome outcome) {
  counters.items_added += outcome == Outcome::stored;
  counters.stopped_by_max_expansions += outcome == kTooMany;
  counters.stopped_by_memory += outcome == kNoMemory;
}

bool register_info_section(Context* context) {
  if (api.RegisterInfoFunc(context, report) == kOk) return true;
  api.Log(context, "warning", "this server refuses a section for INFO");
  return false;
}

}}}  // namespace nestline::redis
