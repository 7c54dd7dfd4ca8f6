// The commands, one function each, and what all of them share: the call, and the texts of errors.
//
//   create.cc   CF.RESERVE, and creation by other commands
//   add.cc      CF.ADD, ADDNX, INSERT, INSERTNX
//   query.cc    CF.EXISTS, MEXISTS, COUNT, INFO, DEBUG
//   change.cc   CF.DEL, MDEL, CLEAR, UPDATE, MERGE, COMPACT
//   hashes.cc   CF.MEXISTSH, MADDH, MADDNXH, MDELH, MCOUNTH
//   chunks.cc   CF.SCANDUMP, LOADCHUNK
//
// Each replies exactly once and returns what the reply returned. The server has checked the number
// of arguments against the arity. They may throw: command_table.cc turns that into an error reply.
#ifndef NESTLINE_LIB_REDIS_SERVER_COMMANDS_H_
#define NESTLINE_LIB_REDIS_SERVER_COMMANDS_H_

#include <string_view>

#include "lib/redis/server/arguments.h"
#include "lib/redis/server/module_api.h"

namespace nestline::redis {

// A command as it arrived; argument 0 is its name.
struct Call {
  Context* context;
  String** arguments;
  int count;

  [[nodiscard]] String* key() const { return arguments[1]; }
  [[nodiscard]] std::string_view item(int i) const { return text(arguments[i]); }
};

int reserve(const Call& call);
int add(const Call& call);
int add_unique(const Call& call);
int insert(const Call& call);
int insert_unique(const Call& call);
int exists(const Call& call);
int exists_many(const Call& call);
int count(const Call& call);
int exists_hashes(const Call& call);
int count_hashes(const Call& call);
int add_hashes(const Call& call);
int add_unique_hashes(const Call& call);
int erase_hashes(const Call& call);
int info(const Call& call);
int debug(const Call& call);
int erase(const Call& call);
int erase_many(const Call& call);
int clear(const Call& call);
int update(const Call& call);
int merge(const Call& call);
int compact(const Call& call);
int scan_dump(const Call& call);
int load_chunk(const Call& call);

// Errors. Clients compare these texts exactly as they are here, with or without a code in front.
inline constexpr char kNotFound[] = "ERR not found";
inline constexpr char kIncomplete[] =
    "ERR this filter is incomplete: pieces of it have not come yet by CF.LOADCHUNK";
inline constexpr char kItemExists[] = "ERR item exists";
inline constexpr char kWrongType[] =
    "WRONGTYPE Operation against a key holding the wrong kind of value";
inline constexpr char kInsufficientMemory[] = "ERR Insufficient memory";
inline constexpr char kInsufficientMemoryToCreate[] = "ERR Insufficient memory to create filter";
inline constexpr char kCouldNotCreate[] = "ERR Could not create filter";
inline constexpr char kFull[] = "Filter is full";
inline constexpr char kMaximumExpansions[] = "Maximum expansions reached";
inline constexpr char kNothingToDelete[] = "Not found";
inline constexpr char kNothingToCompact[] = "Cuckoo filter was not found";
inline constexpr char kBadCapacity[] = "Bad capacity";
inline constexpr char kUnknownArgument[] = "Unknown argument received";
inline constexpr char kInvalidPosition[] = "Invalid position";
inline constexpr char kInvalidHeader[] = "Invalid header";
inline constexpr char kCouldNotCreateFromHeader[] = "Couldn't create filter!";
inline constexpr char kCouldNotLoadChunk[] = "Couldn't load chunk!";

inline int reply_error(const Call& call, const char* text) {
  return api.ReplyWithError(call.context, text);
}
inline int reply_ok(const Call& call) { return api.ReplyWithSimpleString(call.context, "OK"); }

}  // namespace nestline::redis

#endif  // NESTLINE_LIB_REDIS_SERVER_COMMANDS_H_
