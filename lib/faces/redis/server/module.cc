// The module's entry point: loads the interface and registers everything, or refuses with a log.
#include <cstring>

#include "lib/faces/redis/server/configuration.h"
#include "lib/faces/redis/server/ticker.h"

namespace nestline { inline namespace v0_3 { namespace redis { namespace {

constexpr char kName[] = "nestline";
// The type of the first word of the context.
using Find = int (*)(const char* name, void* function);

template <typename Function>
bool find(Find find_function, const char* name, Function& function) {
  return find_function(name, static_cast<void*>(&function)) == kOk && function != nullptr;
}

// Fills in `api`. False when the server lacks a function that we need; its log then names it.
bool load(Context* context) {
  Find find_function;
  std::memcpy(&find_function, static_cast<const void*>(context), sizeof find_function);
  const char* missing = nullptr;
#define NESTLINE_REDIS_FIND(result, name, parameters) \
  if (!find(find_function, "RedisModule_" #name, api.name)) missing = #name;
  NESTLINE_REDIS_REQUIRED(NESTLINE_REDIS_FIND)
#undef NESTLINE_REDIS_FIND
#define NESTLINE_REDIS_FIND(result, name, parameters) \
  (void)find(find_function, "RedisModule_" #name, api.name);
  NESTLINE_REDIS_OPTIONAL(NESTLINE_REDIS_FIND)
#undef NESTLINE_REDIS_FIND
  if (missing != nullptr && api.Log != nullptr) {
    api.Log(context, "warning",
            "nestline needs Redis 7.0 or later, or Valkey: this server has no function %s in its "
            "interface for modules",
            missing);
  }
  return missing == nullptr;
}

}  // namespace
}}}  // namespace nestline::redis

extern "C" __attribute__((visibility("default"))) int RedisModule_OnLoad(
    nestline::redis::Context* context, nestline::redis::String** arguments, int count);

int RedisModule_OnLoad(nestline::redis::Context* context, nestline::redis::String** arguments,
                       int count) {
  using namespace nestline::redis;
  if (!load(context)) return kError;
  if (api.IsModuleNameBusy(kName) != 0) {
    api.Log(context, "warning", "a module named %s is already loaded", kName);
    return kError;
  }
  api.SetModuleAttribs(context, kName, NESTLINE_MODULE_VERSION, kApiVersion);
  // Changes are signalled where they happen, not for every key that was opened for writing.
  // A replica may load new values beside the old ones, which go on answering. Slots may be migrated
  // as a whole: nothing here depends on keys other than those that a command names.
  api.SetModuleOptions(context, kOptionHandleIoErrors | kOptionNoImplicitSignal |
                                    kOptionHandleReplAsyncLoad | kOptionHandleSlotMigration);
  if (!register_commands(context) || !register_data_type(context) ||
      !register_info_section(context) || !configure(context, arguments, count)) {
    return kError;
  }
  register_ticker(context);
  return kOk;
}
