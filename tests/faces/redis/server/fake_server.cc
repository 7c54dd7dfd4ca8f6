#include "tests/faces/redis/server/fake_server.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "lib/faces/redis/server/configuration.h"

namespace nestline::redis {

struct String {
  std::string bytes;
  int holders = 1;  // changed by the server's thread alone
};
struct Type {
  TypeMethods methods;
};
struct Key {
  std::string name;
};
struct Io {
  std::vector<std::string> strings;
};
struct BlockedClient {
  std::shared_ptr<Client> client;
  FreeData release;
  std::string reply;
  void* data = nullptr;
};
struct Context {
  std::shared_ptr<Client> client;
  int flags = 0;
  std::string reply;
  BlockedClient* blocked = nullptr;     // the client was blocked by this command
  BlockedClient* replies_to = nullptr;  // of a context for other threads
};

namespace {

Type type;
std::map<std::string, void*> keyspace;
std::atomic<long> allocated{0};

// What other threads ask the event loop for. Never destroyed: they may be leaving it at the end.
struct Asked {
  std::mutex asking;  // guards the others
  std::vector<std::pair<OneShot, void*>> one_shots;
  std::size_t most_one_shots = 0;  // at any time
  std::vector<BlockedClient*> unblocked;
};
Asked& asked = *new Asked;

std::string& reply_of(Context* context) {
  return context->replies_to != nullptr ? context->replies_to->reply : context->reply;
}
int reply(Context* context, std::string_view text) {
  reply_of(context) += text;
  return kOk;
}

void drop(const std::string& key) {
  const auto entry = keyspace.find(key);
  if (entry == keyspace.end()) return;
  type.methods.free(entry->second);
  keyspace.erase(entry);
}

// g++ makes no function pointers of lambdas like these.
void log_nothing(Context*, const char*, const char*, ...) {}
int replicate_nothing(Context*, const char*, const char*, ...) { return kOk; }

// Contexts, memory, replies and strings.
void fill_replies() {
  api.SetModuleAttribs = [](Context*, const char*, int, int) {};
  api.Log = log_nothing;
  api.CreateDataType = [](Context*, const char*, int, TypeMethods* methods) {
    type.methods = *methods;
    return &type;
  };
  api.GetContextFlags = [](Context* context) { return context->flags; };
  api.GetClientId = [](Context*) { return 1ULL; };
  api.GetClientInfoById = [](ClientInfo*, std::uint64_t) { return kOk; };
  api.GetRandomBytes = [](unsigned char* bytes, std::size_t count) {
    std::memset(bytes, 7, count);
  };
  api.TryAlloc = [](std::size_t bytes) {
    ++allocated;
    return std::malloc(bytes);
  };
  api.Free = [](void* memory) {
    --allocated;
    std::free(memory);
  };
  api.WrongArity = [](Context* context) { return reply(context, "wrong arity"); };
  api.ReplyWithError = [](Context* context, const char* text) { return reply(context, text); };
  api.ReplyWithSimpleString = [](Context* context, const char* text) {
    return reply(context, text);
  };
  api.ReplyWithLongLong = [](Context* context, long long number) {
    return reply(context, std::to_string(number));
  };
  api.ReplyWithBool = [](Context* context, int value) { return reply(context, value ? "1" : "0"); };
  api.ReplyWithStringBuffer = [](Context* context, const char* bytes, std::size_t size) {
    return reply(context, {bytes, size});
  };
  api.ReplyWithArray = [](Context*, long) { return kOk; };
  api.StringPtrLen = [](const String* string, std::size_t* length) {
    *length = string->bytes.size();
    return string->bytes.data();
  };
  api.CreateString = [](Context*, const char* bytes, std::size_t size) {
    return new String{{bytes, size}};
  };
  api.FreeString = [](Context*, String* string) {
    if (--string->holders == 0) delete string;
  };
  api.HoldString = [](Context*, String* string) {
    ++string->holders;
    return string;
  };
}

// Keys, what is saved and replicated, the configuration, and the event loop.
void fill_interface() {
  fill_replies();
  api.OpenKey = [](Context*, String* name, int) { return new Key{name->bytes}; };
  api.CloseKey = [](Key* key) { delete key; };
  api.KeyType = [](Key* key) { return keyspace.contains(key->name) ? 6 : kKeyEmpty; };
  api.ModuleTypeGetType = [](Key*) { return &type; };
  api.ModuleTypeGetValue = [](Key* key) { return keyspace.at(key->name); };
  api.ModuleTypeSetValue = [](Key* key, Type*, void* value) {
    drop(key->name);
    keyspace[key->name] = value;
    return kOk;
  };
  api.SignalModifiedKey = [](Context*, String*) { return kOk; };
  api.NotifyKeyspaceEvent = [](Context*, int, const char*, String*) { return kOk; };
  api.ReplicateVerbatim = [](Context*) { return kOk; };
  api.Replicate = replicate_nothing;
  api.SaveUnsigned = [](Io* io, std::uint64_t number) {
    io->strings.push_back(std::to_string(number));
  };
  api.SaveStringBuffer = [](Io* io, const char* bytes, std::size_t size) {
    io->strings.emplace_back(bytes, size);
  };
  api.RegisterNumericConfig = [](Context*, const char*, long long, unsigned, long long, long long,
                                 GetNumber, SetNumber, ApplyNumber, void*) { return kOk; };
  api.LoadConfigs = [](Context*) { return kOk; };
  api.GetServerInfo = [](Context*, const char*) -> ServerInfo* { return nullptr; };
  api.BlockClient = [](Context* context, CommandFunction, CommandFunction, FreeData release,
                       long long) {
    context->blocked = new BlockedClient{context->client, release, {}};
    return context->blocked;
  };
  api.BlockedClientMeasureTimeStart = [](BlockedClient*) { return kOk; };
  api.BlockedClientMeasureTimeEnd = [](BlockedClient*) { return kOk; };
  api.UnblockClient = [](BlockedClient* client, void* data) {
    const std::scoped_lock lock(asked.asking);
    client->data = data;
    asked.unblocked.push_back(client);
    return kOk;
  };
  api.GetThreadSafeContext = [](BlockedClient* client) {
    auto* const made = new Context;
    made->replies_to = client;
    return made;
  };
  api.FreeThreadSafeContext = [](Context* context) { delete context; };
  api.EventLoopAddOneShot = [](OneShot call, void* data) {
    const std::scoped_lock lock(asked.asking);
    asked.one_shots.emplace_back(call, data);
    asked.most_one_shots = std::max(asked.most_one_shots, asked.one_shots.size());
    return kOk;
  };
}

std::vector<String*> strings_of(const std::vector<std::string>& words) {
  std::vector<String*> strings;
  for (const std::string& word : words) strings.push_back(new String{word});
  return strings;
}

}  // namespace

FakeServer::FakeServer(const std::vector<std::string>& configuration) {
  fill_interface();
  Context context;
  const auto arguments = strings_of(configuration);
  std::vector<String*> copy = arguments;
  if (!register_data_type(&context) ||
      !configure(&context, copy.data(), static_cast<int>(copy.size()))) {
    std::abort();
  }
  for (String* const argument : arguments) api.FreeString(nullptr, argument);
}

FakeServer::~FakeServer() {
  while (!keyspace.empty()) drop(keyspace.begin()->first);
}

void FakeServer::run(const std::shared_ptr<Client>& client, int (*command)(const Call&),
                     const std::vector<std::string>& words, int flags) {
  Context context;
  context.client = client;
  context.flags = flags;
  std::vector<String*> arguments = strings_of(words);
  command({&context, arguments.data(), static_cast<int>(arguments.size())});
  for (String* const argument : arguments) api.FreeString(nullptr, argument);
  if (context.blocked != nullptr) {
    ++client->waiting;
  } else {
    client->replies.push_back(std::move(context.reply));
  }
}

void FakeServer::serve() {
  std::vector<std::pair<OneShot, void*>> calls;
  std::vector<BlockedClient*> clients;
  {
    const std::scoped_lock lock(asked.asking);
    calls.swap(asked.one_shots);
    clients.swap(asked.unblocked);
  }
  for (const auto& [call, data] : calls) call(data);
  for (BlockedClient* const blocked : clients) {
    Context context;
    blocked->release(&context, blocked->data);
    --blocked->client->waiting;
    if (!blocked->client->is_gone) blocked->client->replies.push_back(std::move(blocked->reply));
    delete blocked;
  }
}

bool FakeServer::serve_until(const std::function<bool()>& condition) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::minutes(5);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > limit) return false;
    serve();
    std::this_thread::yield();
  }
  return true;
}

void FakeServer::remove(const std::string& key) { drop(key); }

void FakeServer::rename(const std::string& from, const std::string& to) {
  if (!keyspace.contains(from) || from == to) return;
  drop(to);
  keyspace[to] = keyspace.at(from);
  keyspace.erase(from);
}

std::vector<std::string> FakeServer::saved(const std::string& key) {
  Io io;
  type.methods.rdb_save(&io, keyspace.at(key));
  return io.strings;
}

std::size_t FakeServer::most_one_shots() {
  const std::scoped_lock lock(asked.asking);
  return asked.most_one_shots;
}

long FakeServer::allocations() { return allocated; }

}  // namespace nestline::redis
