#include "lib/redis/server/opened_key.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string_view>
#include <utility>

#include "lib/redis/server/info_section.h"

namespace nestline::redis {

OpenedKey::OpenedKey(const Call& call, String* name, int mode)
    : key_(api.OpenKey(call.context, name, mode)) {
  // A missing key is null when it is opened for reading, and empty when it is opened for writing.
  if (key_ == nullptr || api.KeyType(key_) == kKeyEmpty) return;
  is_other_ = api.ModuleTypeGetType(key_) != data_type();
  if (!is_other_) filter_ = static_cast<const KeptValue*>(api.ModuleTypeGetValue(key_));
}

OpenedKey::~OpenedKey() {
  if (key_ != nullptr) api.CloseKey(key_);
}

CuckooValue& OpenedKey::set(std::unique_ptr<CuckooValue> filter) {
  auto kept = std::make_unique<KeptValue>(std::move(filter));
  ++counters.values;
  filter_ = kept.get();
  is_other_ = false;
  api.ModuleTypeSetValue(key_, data_type(), kept.release());
  return **filter_;
}

void prefetch_items(const Call& call, const CuckooValue& filter, int first) {
  std::array<std::string_view, kAhead> items;
  const int count = std::min(kAhead, call.count - first);
  if (count < 2) return;
  for (int i = 0; i < count; ++i) items[static_cast<std::size_t>(i)] = call.item(first + i);
  filter.prefetch(std::span(items).first(static_cast<std::size_t>(count)));
}

void tell_change(const Call& call, String* name, const char* event) {
  api.SignalModifiedKey(call.context, name);
  api.NotifyKeyspaceEvent(call.context, kNotifyModule, event, name);
}

int reply_not_added(const Call& call, Added outcome) {
  switch (outcome) {
    case Added::full:
      return reply_error(call, kFull);
    case Added::too_many:
      return reply_error(call, kMaximumExpansions);
    case Added::no_memory:
      return reply_error(call, kInsufficientMemory);
    case Added::added:
    case Added::present:
    case Added::missing:
      break;
  }
  return api.ReplyWithBool(call.context, 0);
}

}  // namespace nestline::redis
