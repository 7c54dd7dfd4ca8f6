// The part of the server's module interface that we use, declared by us.
//
// Redis 7 and Valkey give a module no library to link: the first word of the context that they pass
// to RedisModule_OnLoad is a function that finds the others by name. Their types are declared here,
// as the documentation of the module API gives them, in two tables: functions that every server
// from Redis 7.0 on has, and functions that may be missing. module.cc fills in both. Structures
// that are passed to the server have the layout of C; the sizes are checked below.
#ifndef NESTLINE_LIB_FACES_REDIS_SERVER_MODULE_API_H_
#define NESTLINE_LIB_FACES_REDIS_SERVER_MODULE_API_H_

#include <cstddef>
#include <cstdint>

namespace nestline { inline namespace v0_3 { namespace redis {

// Types of the server that we use only through pointers.
struct Context;
struct Key;
struct String;
struct Io;
struct Digest;
struct Type;
struct Command;
struct BlockedClient;
struct InfoContext;
struct ServerInfo;

inline constexpr int kOk = 0;
inline constexpr int kError = 1;
inline constexpr int kApiVersion = 1;
inline constexpr int kRead = 1 << 0;  // modes of OpenKey
inline constexpr int kWrite = 1 << 1;
inline constexpr int kNoTouch = 1 << 16;
inline constexpr int kNoNotify = 1 << 17;  // from Redis 7.2 on; 7.0 ignores it, and kNoStats
inline constexpr int kNoStats = 1 << 18;
inline constexpr int kKeyEmpty = 0;         // a result of KeyType
inline constexpr int kContextLua = 1 << 0;  // bits of GetContextFlags
inline constexpr int kContextMulti = 1 << 1;
inline constexpr int kContextPrimary = 1 << 2;
inline constexpr int kContextReplicated = 1 << 12;
inline constexpr int kContextLoading = 1 << 13;
inline constexpr int kContextDenyBlocking = 1 << 21;
inline constexpr int kContextResp3 = 1 << 22;
inline constexpr int kContextAsyncLoading = 1 << 23;
inline constexpr int kOptionHandleIoErrors = 1 << 0;  // of SetModuleOptions
inline constexpr int kOptionNoImplicitSignal = 1 << 1;
inline constexpr int kOptionHandleReplAsyncLoad = 1 << 2;
inline constexpr int kOptionHandleSlotMigration = 1 << 5;  // Valkey 9; others ignore it
inline constexpr int kNotifyGeneric = 1 << 2;              // classes of keyspace events: "g"
inline constexpr int kNotifyModule = 1 << 13;              // "d"

// What the server knows about a client, version 1.
struct ClientInfo {
  std::uint64_t version;
  std::uint64_t flags;
  std::uint64_t id;
  char address[46];
  std::uint16_t port;
  std::uint16_t database;
};
static_assert(sizeof(ClientInfo) == 80, "as the servers write it");
inline constexpr std::uint64_t kClientSubscribed = 1 << 1;  // bits of its flags
inline constexpr std::uint64_t kClientTracking = 1 << 3;
inline constexpr unsigned kConfigDefault = 0;
using CommandFunction = int (*)(Context*, String**, int);

// The methods of a data type, version 3.
struct TypeMethods {
  std::uint64_t version;
  void* (*rdb_load)(Io*, int encoding_version);
  void (*rdb_save)(Io*, void* value);
  void (*aof_rewrite)(Io*, String* key, void* value);
  std::size_t (*mem_usage)(const void* value);
  void (*digest)(Digest*, void* value);
  void (*free)(void* value);
  int (*aux_load)(Io*, int, int);
  void (*aux_save)(Io*, int);
  int aux_save_triggers;
  std::size_t (*free_effort)(String* key, const void* value);
  void (*unlink)(String* key, const void* value);
  void* (*copy)(String* from, String* to, const void* value);
  int (*defrag)(void*, String* key, void** value);
  // Those of versions 4 and 5, which also get the key and its database: not used.
  void* with_key_and_database[5];
};
inline constexpr std::uint64_t kTypeMethodsVersion = 3;
static_assert(offsetof(TypeMethods, free_effort) == 10 * sizeof(void*), "as the servers read it");

// What COMMAND DOCS and COMMAND GETKEYSANDFLAGS report about a command.
enum class ArgumentType : int { string, integer, number, key, pattern, time, token, one_of, block };
inline constexpr int kArgumentOptional = 1 << 0;
inline constexpr int kArgumentMultiple = 1 << 1;

struct CommandArgument {
  const char* name;
  ArgumentType type;
  int key_spec;
  const char* token;
  const char* summary;
  const char* since;
  int flags;
  const char* deprecated_since;
  CommandArgument* parts;
  const char* display_text;
};

inline constexpr std::uint64_t kKeyReadOnly = 1 << 0;
inline constexpr std::uint64_t kKeyReadWrite = 1 << 1;
inline constexpr std::uint64_t kKeyAccess = 1 << 4;
inline constexpr std::uint64_t kKeyUpdate = 1 << 5;
inline constexpr std::uint64_t kKeyInsert = 1 << 6;
inline constexpr std::uint64_t kKeyDelete = 1 << 7;

enum class BeginSearch : int { invalid, unknown, index, keyword };
enum class FindKeys : int { omitted, unknown, range, number };

struct KeySpec {
  const char* notes;
  std::uint64_t flags;
  BeginSearch begin_search;
  union {
    int position;  // of BeginSearch::index
    struct {
      const char* word;
      int start;
    } keyword;
  } begin;
  FindKeys find_keys;
  struct {
    int last;  // from the first key; -1: the last argument
    int step;
    int limit;
  } find;  // of FindKeys::range; what others have takes as much
};
static_assert(sizeof(KeySpec) == 56, "as the servers read it");

struct CommandInfoVersion {
  int version;
  std::size_t history_size;
  std::size_t key_spec_size;
  std::size_t argument_size;
};
inline constexpr CommandInfoVersion kCommandInfoVersion = {
    1, 2 * sizeof(const char*), sizeof(KeySpec), sizeof(CommandArgument)};

struct CommandInfo {
  const CommandInfoVersion* version;
  const char* summary;
  const char* complexity;
  const char* since;
  void* history;
  const char* tips;
  int arity;
  KeySpec* key_specs;          // ends with one that is all zeros
  CommandArgument* arguments;  // the same
};

using GetNumber = long long (*)(const char* name, void* data);
using SetNumber = int (*)(const char* name, long long value, void* data, String** error);
using InfoFunction = void (*)(InfoContext*, int for_crash_report);
using FreeData = void (*)(Context*, void* data);
using OneShot = void (*)(void* data);
using TimerFunction = void (*)(Context*, void* data);
using SeeKeyEvent = int (*)(Context*, int type, const char* event, String* key);
using ApplyNumber = int (*)(Context*, void* data, String** error);

// What SubscribeToServerEvent is asked for: the number of an event, and the version of its data.
struct ServerEvent {
  std::uint64_t number;
  std::uint64_t version;
};
inline constexpr ServerEvent kCronEvent = {8, 1};  // each turn of the server's cron: `hz` a second
using SeeServerEvent = void (*)(Context*, ServerEvent, std::uint64_t kind, void* data);

// X(result, name, parameters): what every server from Redis 7.0 on has.
#define NESTLINE_REDIS_REQUIRED(X)                                                                 \
  X(void, SetModuleAttribs, (Context*, const char* name, int version, int api_version))            \
  X(int, IsModuleNameBusy, (const char* name))                                                     \
  X(void, SetModuleOptions, (Context*, int options))                                               \
  X(int, CreateCommand,                                                                            \
    (Context*, const char* name, CommandFunction, const char* flags, int first_key, int last_key,  \
     int key_step))                                                                                \
  X(Command*, GetCommand, (Context*, const char* name))                                            \
  X(int, SetCommandInfo, (Command*, const CommandInfo*))                                           \
  X(Type*, CreateDataType, (Context*, const char* name, int encoding_version, TypeMethods*))       \
  X(void, Log, (Context*, const char* level, const char* format, ...))                             \
  X(int, GetContextFlags, (Context*))                                                              \
  X(void, GetRandomBytes, (unsigned char* bytes, std::size_t count))                               \
  X(void*, TryAlloc, (std::size_t))                                                                \
  X(void, Free, (void*))                                                                           \
  X(int, WrongArity, (Context*))                                                                   \
  X(int, ReplyWithError, (Context*, const char*))                                                  \
  X(int, ReplyWithSimpleString, (Context*, const char*))                                           \
  X(int, ReplyWithLongLong, (Context*, long long))                                                 \
  X(int, ReplyWithDouble, (Context*, double))                                                      \
  X(int, ReplyWithBool, (Context*, int))                                                           \
  X(int, ReplyWithNull, (Context*))                                                                \
  X(int, ReplyWithStringBuffer, (Context*, const char* bytes, std::size_t))                        \
  X(int, ReplyWithArray, (Context*, long count))                                                   \
  X(int, ReplyWithMap, (Context*, long pairs))                                                     \
  X(const char*, StringPtrLen, (const String*, std::size_t* length))                               \
  X(String*, CreateString, (Context*, const char* bytes, std::size_t))                             \
  X(void, FreeString, (Context*, String*))                                                         \
  X(Key*, OpenKey, (Context*, String * name, int mode))                                            \
  X(void, CloseKey, (Key*))                                                                        \
  X(int, KeyType, (Key*))                                                                          \
  X(Type*, ModuleTypeGetType, (Key*))                                                              \
  X(void*, ModuleTypeGetValue, (Key*))                                                             \
  X(int, ModuleTypeSetValue, (Key*, Type*, void* value))                                           \
  X(int, SignalModifiedKey, (Context*, String * name))                                             \
  X(int, NotifyKeyspaceEvent, (Context*, int type, const char* event, String* key))                \
  X(int, ReplicateVerbatim, (Context*))                                                            \
  X(int, Replicate, (Context*, const char* command, const char* format, ...))                      \
  X(void, SaveUnsigned, (Io*, std::uint64_t))                                                      \
  X(std::uint64_t, LoadUnsigned, (Io*))                                                            \
  X(void, SaveStringBuffer, (Io*, const char* bytes, std::size_t))                                 \
  X(char*, LoadStringBuffer, (Io*, std::size_t * length))                                          \
  X(int, IsIOError, (Io*))                                                                         \
  X(void, LogIOError, (Io*, const char* level, const char* format, ...))                           \
  X(void, EmitAOF, (Io*, const char* command, const char* format, ...))                            \
  X(void, DigestAddStringBuffer, (Digest*, const char* bytes, std::size_t))                        \
  X(void, DigestEndSequence, (Digest*))                                                            \
  X(int, RegisterNumericConfig,                                                                    \
    (Context*, const char* name, long long value, unsigned flags, long long least, long long most, \
     GetNumber, SetNumber, ApplyNumber, void* data))                                               \
  X(int, RegisterInfoFunc, (Context*, InfoFunction))                                               \
  X(int, InfoAddSection, (InfoContext*, const char* name))                                         \
  X(int, InfoAddFieldULongLong, (InfoContext*, const char* name, unsigned long long value))        \
  X(ServerInfo*, GetServerInfo, (Context*, const char* section))                                   \
  X(unsigned long long, ServerInfoGetFieldUnsigned, (ServerInfo*, const char* name, int* error))   \
  X(const char*, ServerInfoGetFieldC, (ServerInfo*, const char* name))                             \
  X(void, FreeServerInfo, (Context*, ServerInfo*))                                                 \
  X(int, LoadConfigs, (Context*))                                                                  \
  X(String*, HoldString, (Context*, String*))                                                      \
  X(BlockedClient*, BlockClient,                                                                   \
    (Context*, CommandFunction reply, CommandFunction timed_out, FreeData, long long timeout))     \
  X(int, BlockedClientMeasureTimeStart, (BlockedClient*))                                          \
  X(int, BlockedClientMeasureTimeEnd, (BlockedClient*))                                            \
  X(int, UnblockClient, (BlockedClient*, void* data))                                              \
  X(Context*, GetThreadSafeContext, (BlockedClient*))                                              \
  X(void, FreeThreadSafeContext, (Context*))                                                       \
  X(int, EventLoopAddOneShot, (OneShot, void* data))                                               \
  X(Context*, GetDetachedThreadSafeContext, (Context*))                                            \
  X(int, GetSelectedDb, (Context*))                                                                \
  X(int, SelectDb, (Context*, int database))                                                       \
  X(const String*, GetKeyNameFromIO, (Io*))                                                        \
  X(int, GetDbIdFromIO, (Io*))                                                                     \
  X(std::uint64_t, CreateTimer, (Context*, long long milliseconds, TimerFunction, void* data))     \
  X(int, StopTimer, (Context*, std::uint64_t timer, void** data))                                  \
  X(int, AvoidReplicaTraffic, ())                                                                  \
  X(unsigned long long, GetClientId, (Context*))                                                   \
  X(int, GetClientInfoById, (ClientInfo*, std::uint64_t id))                                       \
  X(int, SubscribeToKeyspaceEvents, (Context*, int types, SeeKeyEvent))                            \
  X(int, SubscribeToServerEvent, (Context*, ServerEvent, SeeServerEvent))

// Functions that some servers lack; null there.
#define NESTLINE_REDIS_OPTIONAL(X)                         \
  X(int, AddACLCategory, (Context*, const char* category)) \
  X(int, SetCommandACLCategories, (Command*, const char* names))

// The functions under their names in the interface, without its prefix.
struct Api {
#define NESTLINE_REDIS_MEMBER(result, name, parameters) result(*name) parameters = nullptr;
  NESTLINE_REDIS_REQUIRED(NESTLINE_REDIS_MEMBER)
  NESTLINE_REDIS_OPTIONAL(NESTLINE_REDIS_MEMBER)
#undef NESTLINE_REDIS_MEMBER
};
extern Api api;

}}}  // namespace nestline::redis

#endif  // NESTLINE_LIB_FACES_REDIS_SERVER_MODULE_API_H_
