// The module's entry point: loads the interface and registers everything, or refuses with a line in
// the log.
#include "lib/redis/server/commands.h"
#include "lib/redis/server/configuration.h"
#include "lib/redis/server/data_type.h"
#include "lib/redis/server/info_section.h"
#include "lib/redis/server/module_api.h"

namespace {

constexpr char kName[] = "nestline";

}  // namespace

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
  return kOk;
}
