// What the server is told about each command: its function, flags, documentation and keys.
#ifndef NESTLINE_LIB_REDIS_SERVER_COMMAND_TABLE_H_
#define NESTLINE_LIB_REDIS_SERVER_COMMAND_TABLE_H_

#include "lib/redis/server/module_api.h"

namespace nestline::redis {

// Registers every command. False, with a line in the log, when the server refuses one, as it does
// when it or another module has a command of that name.
bool register_commands(Context* context);

}  // namespace nestline::redis

#endif  // NESTLINE_LIB_REDIS_SERVER_COMMAND_TABLE_H_
