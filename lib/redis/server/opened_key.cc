#include "lib/redis/server/opened_key.h"

#include "lib/redis/server/data_type.h"
#include "lib/redis/server/info_section.h"

namespace nestline::redis {

OpenedKey::OpenedKey(const Call& call, String* name, int mode)
    : key_(api.OpenKey(call.context, name, mode)) {
  // A missing key is null when it is opened to read, and empty when to write.
  if (key_ == nullptr || api.KeyType(key_) == kKeyEmpty) return;
  is_other_ = api.ModuleTypeGetType(key_) != data_type();
  if (!is_other_) filter_ = static_cast<CuckooValue*>(api.ModuleTypeGetValue(key_));
}

OpenedKey::~OpenedKey() {
  if (key_ != nullptr) api.CloseKey(key_);
}

CuckooValue& OpenedKey::set(std::unique_ptr<CuckooValue> filter) {
  ++counters.values;
  filter_ = filter.get();
  is_other_ = false;
  api.ModuleTypeSetValue(key_, data_type(), filter.release());
  return *filter_;
}

void tell_change(const Call& call, String* name, const char* event) {
  api.SignalModifiedKey(call.context, name);
  api.NotifyKeyspaceEvent(call.context, kNotifyModule, event, name);
}

}  // namespace nestline::redis
