#include "lib/redis/server/module_api.h"

#include <cstring>

namespace nestline::redis {
namespace {

// The type of the first word of the context.
using Find = int (*)(const char* name, void* function);

template <typename Function>
bool find(Find find_function, const char* name, Function& function) {
  return find_function(name, static_cast<void*>(&function)) == kOk && function != nullptr;
}

}  // namespace

Api api;

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

}  // namespace nestline::redis
