// A key of the keyspace while a command works on it.
//
//   const OpenedKey key(call, kRead);
//   if (key.is_other()) return reply_error(call, kWrongType);
//   if (key.filter() == nullptr) ...  // there is none
#ifndef NESTLINE_LIB_REDIS_SERVER_OPENED_KEY_H_
#define NESTLINE_LIB_REDIS_SERVER_OPENED_KEY_H_

#include <memory>

#include "lib/redis/server/commands.h"
#include "lib/redis/server/data_type.h"
#include "lib/redis/server/module_api.h"
#include "lib/redis/value/value.h"

namespace nestline::redis {

class OpenedKey {
 public:
  // `mode`: kRead or kWrite.
  OpenedKey(const Call& call, String* name, int mode);
  OpenedKey(const Call& call, int mode) : OpenedKey(call, call.key(), mode) {}
  OpenedKey(const OpenedKey&) = delete;
  OpenedKey& operator=(const OpenedKey&) = delete;
  ~OpenedKey();

  // Whether there is a value that is not a filter.
  [[nodiscard]] bool is_other() const { return is_other_; }
  // The filter; null when there is no value, or another one.
  [[nodiscard]] CuckooValue* filter() const { return filter_ ? filter_->get() : nullptr; }
  // The same, to be kept alive; only if there is one.
  [[nodiscard]] const std::shared_ptr<CuckooValue>& shared() const { return *filter_; }
  // Gives the key a filter, in place of what it had. Only for a key that was opened for writing.
  CuckooValue& set(std::unique_ptr<CuckooValue> filter);

 private:
  Key* key_;
  const KeptValue* filter_ = nullptr;
  bool is_other_ = false;
};

// Items of a command whose memory is prefetched together, before the first of them is processed.
inline constexpr int kAhead = 16;
void prefetch_items(const Call& call, const CuckooValue& filter, int first);

// Replies to a command whose only item was not added, for the reason that `outcome` gives.
int reply_not_added(const Call& call, Added outcome);

// Tells clients that watch `name` or listen to its events that its filter has changed. `event` is
// the name of the command.
void tell_change(const Call& call, String* name, const char* event);
inline void tell_change(const Call& call, const char* event) {
  tell_change(call, call.key(), event);
}

}  // namespace nestline::redis

#endif  // NESTLINE_LIB_REDIS_SERVER_OPENED_KEY_H_
