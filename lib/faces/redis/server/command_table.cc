// What the server learns about each command: its function, flags, documentation and keys.
#include <array>
#include <cstdint>
#include <exception>
#include <new>
#include <string>

#include "lib/faces/redis/server/commands.h"

namespace nestline { inline namespace v0_3 { namespace redis {
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
                                 ArgumentType type = ArgumentType::integer,
                                 int flags = kArgumentOptional) {
  CommandArgument made = argument(name, type, flags);
  made.token = token;
  return made;
}

constexpr CommandArgument kItem = argument("item", ArgumentType::string);
constexpr CommandArgument kItems = argument("item", ArgumentType::string, kArgumentMultiple);
constexpr CommandArgument kEnd = {};

CommandArgument key_only[] = {key("key"), kEnd};
CommandArgument info_arguments[] = {key("key"), option("FULL", "full", ArgumentType::token), kEnd};
CommandArgument key_item[] = {key("key"), kItem, kEnd};
CommandArgument add_arguments[] = {key("key"), kItem, option("EX", "seconds"), kEnd};
CommandArgument key_items[] = {key("key"), kItems, kEnd};
CommandArgument key_hashes[] = {key("key"), argument("hashes", ArgumentType::string), kEnd};
CommandArgument reserve_arguments[] = {key("key"),
                                       argument("capacity", ArgumentType::integer),
                                       option("BUCKETSIZE", "bucketsize"),
                                       option("MAXITERATIONS", "maxiterations"),
                                       option("EXPANSION", "expansion"),
                                       option("ERROR", "error", ArgumentType::number),
                                       option("SEED", "seed"),
                                       option("WINDOW", "seconds"),
                                       option("WIDTHS", "widths"),
                                       kEnd};
CommandArgument insert_arguments[] = {
    key("key"), option("CAPACITY", "capacity"), option("NOCREATE", "nocreate", ArgumentType::token),
    option("ITEMS", "item", ArgumentType::string, kArgumentMultiple), kEnd};
CommandArgument dump_arguments[] = {key("key"), argument("iterator", ArgumentType::integer), kEnd};
CommandArgument advance_arguments[] = {key("key"), argument("tick", ArgumentType::integer),
                                       option("AT", "milliseconds"), option("SWEEP", "blocks"),
                                       kEnd};
CommandArgument load_arguments[] = {key("key"), argument("iterator", ArgumentType::integer),
                                    argument("data", ArgumentType::string), kEnd};
CommandArgument update_arguments[] = {key("key"), argument("old", ArgumentType::string),
                                      argument("new", ArgumentType::string), kEnd};
CommandArgument merge_arguments[] = {key("destination"), key("source", 1, kArgumentMultiple), kEnd,
                                     kEnd};

constexpr KeySpec keys(std::uint64_t flags, int first, int last) {
  KeySpec spec = {};
  spec.flags = flags;
  spec.begin_search = BeginSearch::index;
  spec.begin.position = first;
  spec.find_keys = FindKeys::range;
  spec.find = {last, 1, 0};
  return spec;
}

using Keys = std::array<KeySpec, 3>;
Keys looked_up = {keys(kKeyReadOnly | kKeyAccess, 1, 0)};
Keys inserted = {keys(kKeyReadWrite | kKeyInsert, 1, 0)};
Keys deleted = {keys(kKeyReadWrite | kKeyDelete, 1, 0)};
Keys changed = {keys(kKeyReadWrite | kKeyUpdate, 1, 0)};
Keys updated_or_looked_up = {keys(kKeyReadWrite | kKeyAccess | kKeyUpdate, 1, 0)};
Keys added_or_looked_up = {keys(kKeyReadWrite | kKeyAccess | kKeyInsert, 1, 0)};
Keys deleted_or_looked_up = {keys(kKeyReadWrite | kKeyAccess | kKeyDelete, 1, 0)};
Keys merged = {keys(kKeyReadWrite | kKeyInsert, 1, 0), keys(kKeyReadOnly | kKeyAccess, 2, -1)};

struct Entry {
  const char* name;
  CommandFunction function;
  const char* flags;
  int arity;
  Keys& keys;
  CommandArgument* arguments;
  const char* summary;
  const char* complexity;
};

constexpr char kPerItem[] = "O(g), g sub_filters";
constexpr char kPerItems[] = "O(n * g), n items, g sub_filters";
constexpr char kPerHashes[] = "O(n * g), n hashes, g sub_filters";
constexpr char kPerMemory[] = "O(m), m bytes of memory";
constexpr char kPerPiece[] = "O(m), m bytes of the piece";

const Entry kEntries[] = {
    {"cf.reserve", entry<reserve>, "write deny-oom", -3, inserted, reserve_arguments,
     "Creates an empty filter for a number of items", "O(1)"},
    {"cf.add", entry<add>, "write deny-oom", -3, added_or_looked_up, add_arguments,
     "Adds one copy of an item; creates the filter if there is none", kPerItem},
    {"cf.addnx", entry<add_unique>, "write deny-oom", -3, added_or_looked_up, add_arguments,
     "Adds an item unless it seems to be there; creates the filter if there is none", kPerItem},
    {"cf.insert", entry<insert>, "write deny-oom", -4, added_or_looked_up, insert_arguments,
     "Adds items; creates the filter if there is none, unless NOCREATE", kPerItems},
    {"cf.insertnx", entry<insert_unique>, "write deny-oom", -4, added_or_looked_up,
     insert_arguments,
     "Adds the items that do not seem to be there; creates the filter as CF.INSERT does",
     kPerItems},
    {"cf.exists", entry<exists>, "readonly fast", 3, looked_up, key_item,
     "Returns whether an item may be in the filter", kPerItem},
    {"cf.mexists", entry<exists_many>, "readonly fast", -3, looked_up, key_items,
     "Returns for each item whether it may be in the filter", kPerItems},
    {"cf.count", entry<count>, "readonly fast", 3, looked_up, key_item,
     "Returns how many copies of an item may be in the filter", kPerItem},
    {"cf.del", entry<erase>, "write fast", 3, deleted_or_looked_up, key_item,
     "Removes one copy of an item that was added", kPerItem},
    {"cf.mdel", entry<erase_many>, "write fast", -3, deleted_or_looked_up, key_items,
     "Removes one copy of each item; all must have been added", kPerItems},
    {"cf.mexistsh", entry<exists_hashes>, "readonly fast", 3, looked_up, key_hashes,
     "Returns a bit for each hash: whether its item may be in the filter", kPerHashes},
    {"cf.mcounth", entry<count_hashes>, "readonly fast", 3, looked_up, key_hashes,
     "Returns a byte for each hash: how many copies may be in the filter", kPerHashes},
    {"cf.maddh", entry<add_hashes>, "write deny-oom", 3, added_or_looked_up, key_hashes,
     "Adds the items of hashes to a filter; returns a bit for each", kPerHashes},
    {"cf.maddnxh", entry<add_unique_hashes>, "write deny-oom", 3, added_or_looked_up, key_hashes,
     "Adds the items of hashes that do not seem to be there; returns a bit for each", kPerHashes},
    {"cf.mdelh", entry<erase_hashes>, "write fast", 3, deleted_or_looked_up, key_hashes,
     "Removes one copy of each hash's item; all must have been added", kPerHashes},
    {"cf.clear", entry<clear>, "write", 2, deleted, key_only,
     "Removes all items and keeps the filter", kPerMemory},
    {"cf.update", entry<update>, "write deny-oom fast", 4, updated_or_looked_up, update_arguments,
     "Replaces one copy of an item that was added by another item", kPerItem},
    {"cf.merge", entry<merge>, "write deny-oom", -3, merged, merge_arguments,
     "Adds everything in the sources to the destination", kPerMemory},
    {"cf.compact", entry<compact>, "write", 2, changed, key_only,
     "Unites filters into a few that are nearly full", kPerMemory},
    {"cf.info", entry<info>, "readonly fast", -2, looked_up, info_arguments,
     "Returns sizes, counts and settings of a filter", kPerItem},
    {"cf.debug", entry<debug>, "readonly fast", 2, looked_up, key_only,
     "Returns sizes, counts and settings of a filter in one line", kPerItem},
    {"cf.scandump", entry<scan_dump>, "readonly fast", 3, looked_up, dump_arguments,
     "Returns the next piece of a filter's content", kPerPiece},
    {"cf.loadchunk", entry<load_chunk>, "write deny-oom", 4, added_or_looked_up, load_arguments,
     "Loads a piece that CF.SCANDUMP returned", kPerPiece},
    {"cf.advance", entry<advance>, "write", -3, changed, advance_arguments,
     "Moves the time of a filter with a window on to a tick", kPerMemory},
};

bool describe(Context* context, const Entry& entry) {
  Command* const command = api.GetCommand(context, entry.name);
  const CommandInfo info = {
      &kCommandInfoVersion, entry.summary,     entry.complexity, "0.1.0", nullptr, nullptr,
      entry.arity,          entry.keys.data(), entry.arguments};
  if (command == nullptr || api.SetCommandInfo(command, &info) != kOk) return false;
  if (api.SetCommandACLCategories == nullptr) return true;
  // Nothing follows from the flags. RedisBloom's CF.RESERVE and CF.INFO are the fast ones.
  std::string categories = entry.flags[0] == 'r' ? "read" : "write";
  if (api.AddACLCategory != nullptr) categories += " cuckoo";
  if (entry.arguments == reserve_arguments || entry.arguments == info_arguments) {
    categories += " fast";
  }
  return api.SetCommandACLCategories(command, categories.c_str()) == kOk;
}

}  // namespace

bool register_commands(Context* context) {
  // Refused where another module has it. That one most likely has the commands too, so those are
  // looked at first. Servers of version 7.2 have categories and cannot add one.
  const bool has_category =
      api.AddACLCategory == nullptr || api.AddACLCategory(context, "cuckoo") == kOk;
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

}}}  // namespace nestline::redis
