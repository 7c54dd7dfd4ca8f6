// What the server learns about each command: its function, flags, documentation and keys.
#include <array>
#include <exception>
#include <new>
#include <string>

#include "lib/redis/server/commands.h"

namespace nestline::redis {
namespace {

// The server calls this; no exception may reach it.
template <int (*function)(const Call&)>
int entry(Context* context, String** arguments, int count) {
  try {
    return function({context, arguments, count});
  } catch (const std::bad_alloc&) {
    return api.ReplyWithError(context, kInsufficientMemory);
  } catch (const std::exception& error) {
    return api.ReplyWithError(context, (std::string("ERR ") + error.what()).c_str());
  }
}

// Arguments in the documentation. The server copies all of it.

constexpr CommandArgument argument(const char* name, ArgumentType type, int flags = 0) {
  return {name, type, -1, nullptr, nullptr, nullptr, flags, nullptr, nullptr, nullptr};
}

constexpr CommandArgument key(const char* name, int spec = 0, int flags = 0) {
  CommandArgument made = argument(name, ArgumentType::key, flags);
  made.key_spec = spec;
  return made;
}

constexpr CommandArgument option(const char* token, const char* name,
                                 ArgumentType type = ArgumentType::integer) {
  CommandArgument made = argument(name, type, kArgumentOptional);
  made.token = token;
  return made;
}

constexpr CommandArgument kItem = argument("item", ArgumentType::string);
constexpr CommandArgument kItems = argument("item", ArgumentType::string, kArgumentMultiple);
constexpr CommandArgument kEnd = {};

constexpr CommandArgument items_after_token() {
  CommandArgument made = kItems;
  made.token = "ITEMS";
  return made;
}

std::array<CommandArgument, 2> key_only = {key("key"), kEnd};
std::array<CommandArgument, 3> info_arguments = {key("key"),
                                                 option("FULL", "full", ArgumentType::token), kEnd};
std::array<CommandArgument, 3> key_item = {key("key"), kItem, kEnd};
std::array<CommandArgument, 3> key_items = {key("key"), kItems, kEnd};
std::array<CommandArgument, 3> key_hashes = {key("key"), argument("hashes", ArgumentType::string),
                                             kEnd};
std::array<CommandArgument, 8> reserve_arguments = {key("key"),
                                                    argument("capacity", ArgumentType::integer),
                                                    option("BUCKETSIZE", "bucketsize"),
                                                    option("MAXITERATIONS", "maxiterations"),
                                                    option("EXPANSION", "expansion"),
                                                    option("ERROR", "error", ArgumentType::number),
                                                    option("SEED", "seed"),
                                                    kEnd};
std::array<CommandArgument, 5> insert_arguments = {
    key("key"), option("CAPACITY", "capacity"), option("NOCREATE", "nocreate", ArgumentType::token),
    items_after_token(), kEnd};
std::array<CommandArgument, 3> dump_arguments = {key("key"),
                                                 argument("iterator", ArgumentType::integer), kEnd};
std::array<CommandArgument, 4> load_arguments = {key("key"),
                                                 argument("iterator", ArgumentType::integer),
                                                 argument("data", ArgumentType::string), kEnd};
std::array<CommandArgument, 4> update_arguments = {
    key("key"), argument("old", ArgumentType::string), argument("new", ArgumentType::string), kEnd};
std::array<CommandArgument, 4> merge_arguments = {key("destination"),
                                                  key("source", 1, kArgumentMultiple), kEnd, kEnd};

constexpr KeySpec keys(std::uint64_t flags, int first, int last) {
  KeySpec spec = {};
  spec.flags = flags;
  spec.begin_search = BeginSearch::index;
  spec.begin.index.position = first;
  spec.find_keys = FindKeys::range;
  spec.find.range = {last, 1, 0};
  return spec;
}

using Keys = std::array<KeySpec, 3>;
Keys read = {keys(kKeyReadOnly | kKeyAccess, 1, 0)};
Keys inserted = {keys(kKeyReadWrite | kKeyInsert, 1, 0)};
Keys deleted = {keys(kKeyReadWrite | kKeyDelete, 1, 0)};
Keys updated = {keys(kKeyReadWrite | kKeyUpdate, 1, 0)};
Keys added_or_read = {keys(kKeyReadWrite | kKeyAccess | kKeyInsert, 1, 0)};
Keys deleted_or_read = {keys(kKeyReadWrite | kKeyAccess | kKeyDelete, 1, 0)};
Keys merged = {keys(kKeyReadWrite | kKeyInsert, 1, 0), keys(kKeyReadOnly | kKeyAccess, 2, -1)};

struct Entry {
  const char* name;
  CommandFunction function;
  const char* flags;
  const char* categories;  // besides those that follow from the flags
  int arity;
  Keys& keys;
  CommandArgument* arguments;
  const char* summary;
  const char* complexity;
};

const Entry kEntries[] = {
    {"cf.reserve", entry<reserve>, "write deny-oom", "write fast cuckoo", -3, inserted,
     reserve_arguments.data(), "Creates an empty filter for a number of items", "O(1)"},
    {"cf.add", entry<add>, "write deny-oom", "write cuckoo", 3, inserted, key_item.data(),
     "Adds one copy of an item; creates the filter if there is none", "O(g), g generations"},
    {"cf.addnx", entry<add_unique>, "write deny-oom", "write cuckoo", 3, added_or_read,
     key_item.data(),
     "Adds an item unless it seems to be there; creates the filter if there is none",
     "O(g), g generations"},
    {"cf.insert", entry<insert>, "write deny-oom", "write cuckoo", -4, inserted,
     insert_arguments.data(), "Adds items; creates the filter if there is none, unless NOCREATE",
     "O(n * g), n items, g generations"},
    {"cf.insertnx", entry<insert_unique>, "write deny-oom", "write cuckoo", -4, added_or_read,
     insert_arguments.data(),
     "Adds the items that do not seem to be there; creates the filter as CF.INSERT does",
     "O(n * g), n items, g generations"},
    {"cf.exists", entry<exists>, "readonly fast", "read cuckoo", 3, read, key_item.data(),
     "Returns whether an item may be in the filter", "O(g), g generations"},
    {"cf.mexists", entry<exists_many>, "readonly fast", "read cuckoo", -3, read, key_items.data(),
     "Returns for each item whether it may be in the filter", "O(n * g), n items, g generations"},
    {"cf.count", entry<count>, "readonly fast", "read cuckoo", 3, read, key_item.data(),
     "Returns how many copies of an item may be in the filter", "O(g), g generations"},
    {"cf.del", entry<erase>, "write fast", "write cuckoo", 3, deleted_or_read, key_item.data(),
     "Removes one copy of an item that was added", "O(g), g generations"},
    {"cf.mdel", entry<erase_many>, "write fast", "write cuckoo", -3, deleted_or_read,
     key_items.data(), "Removes one copy of each item; all must have been added",
     "O(n * g), n items, g generations"},
    {"cf.mexistsh", entry<exists_hashes>, "readonly fast", "read cuckoo", 3, read,
     key_hashes.data(), "Returns a bit for each hash: whether its item may be in the filter",
     "O(n * g), n hashes, g generations"},
    {"cf.mcounth", entry<count_hashes>, "readonly fast", "read cuckoo", 3, read, key_hashes.data(),
     "Returns a byte for each hash: how many copies may be in the filter",
     "O(n * g), n hashes, g generations"},
    {"cf.maddh", entry<add_hashes>, "write deny-oom", "write cuckoo", 3, inserted,
     key_hashes.data(), "Adds the items of hashes to a filter; returns a bit for each",
     "O(n * g), n hashes, g generations"},
    {"cf.maddnxh", entry<add_unique_hashes>, "write deny-oom", "write cuckoo", 3, added_or_read,
     key_hashes.data(),
     "Adds the items of hashes that do not seem to be there; returns a bit for each",
     "O(n * g), n hashes, g generations"},
    {"cf.mdelh", entry<erase_hashes>, "write fast", "write cuckoo", 3, deleted_or_read,
     key_hashes.data(), "Removes one copy of each hash's item; all must have been added",
     "O(n * g), n hashes, g generations"},
    {"cf.clear", entry<clear>, "write", "write cuckoo", 2, deleted, key_only.data(),
     "Removes all items and keeps the filter", "O(m), m bytes of memory"},
    {"cf.update", entry<update>, "write deny-oom fast", "write cuckoo", 4, updated,
     update_arguments.data(), "Replaces one copy of an item that was added by another item",
     "O(g), g generations"},
    {"cf.merge", entry<merge>, "write deny-oom", "write cuckoo", -3, merged, merge_arguments.data(),
     "Adds everything in the sources to the destination", "O(m), m bytes of memory"},
    {"cf.compact", entry<compact>, "write", "write cuckoo", 2, updated, key_only.data(),
     "Unites filters into a few that are nearly full", "O(m), m bytes of memory"},
    {"cf.info", entry<info>, "readonly fast", "read fast cuckoo", -2, read, info_arguments.data(),
     "Returns sizes, counts and settings of a filter", "O(g), g generations"},
    {"cf.debug", entry<debug>, "readonly fast", "read cuckoo", 2, read, key_only.data(),
     "Returns sizes, counts and settings of a filter in one line", "O(g), g generations"},
    {"cf.scandump", entry<scan_dump>, "readonly fast", "read cuckoo", 3, read,
     dump_arguments.data(), "Returns the next piece of a filter's content",
     "O(m), m bytes of the piece"},
    {"cf.loadchunk", entry<load_chunk>, "write deny-oom", "write cuckoo", 4, inserted,
     load_arguments.data(), "Loads a piece that CF.SCANDUMP returned",
     "O(m), m bytes of the piece"},
};

bool describe(Context* context, const Entry& entry) {
  Command* const command = api.GetCommand(context, entry.name);
  const CommandInfo info = {
      &kCommandInfoVersion, entry.summary,     entry.complexity, "0.1.0", nullptr, nullptr,
      entry.arity,          entry.keys.data(), entry.arguments};
  if (command == nullptr || api.SetCommandInfo(command, &info) != kOk) return false;
  return api.SetCommandACLCategories == nullptr ||
         api.SetCommandACLCategories(command, entry.categories) == kOk;
}

}  // namespace

bool register_commands(Context* context) {
  // Refused where another module has it. Then that module most likely has the commands as well, so
  // that is looked at first.
  const bool has_category =
      api.SetCommandACLCategories == nullptr ||
      (api.AddACLCategory != nullptr && api.AddACLCategory(context, "cuckoo") == kOk);
  for (const Entry& entry : kEntries) {
    const int last_key = &entry.keys == &merged ? -1 : 1;
    if (api.CreateCommand(context, entry.name, entry.function, entry.flags, 1, last_key, 1) !=
        kOk) {
      api.Log(context, "warning",
              "the command %s exists already: this server has the CF commands built in, or another "
              "module with them (RedisBloom) is loaded; nestline and it cannot be used together",
              entry.name);
      return false;
    }
    if (!has_category) {
      api.Log(context, "warning", "this server refuses the ACL category cuckoo");
      return false;
    }
    if (!describe(context, entry)) {
      api.Log(context, "warning", "this server refuses the description of %s", entry.name);
      return false;
    }
  }
  return true;
}

}  // namespace nestline::redis
