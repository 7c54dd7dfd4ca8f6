// What the server learns about each command: its function, flags, documentation and keys.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <deque>
#include <exception>
#include <new>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "lib/faces/redis/server/commands.h"

namespace nestline { inline namespace v0_3 { namespace redis {
namespace {

using namespace std::string_view_literals;

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

constexpr ArgumentType type_of(std::string_view name) {
  if (name == "key" || name == "destination" || name == "source") return ArgumentType::key;
  if (name == "error") return ArgumentType::number;
  constexpr std::array kStrings = {"item"sv, "hashes"sv, "data"sv, "old"sv, "new"sv};
  const bool is_string = std::ranges::find(kStrings, name) != kStrings.end();
  return is_string ? ArgumentType::string : ArgumentType::integer;
}

// Arguments as the documentation prints them, such as "key item... [EX seconds] [FULL]": capitals
// are a token, alone or in front of a name. At the end one of zeros. `texts` keeps their names.
std::vector<CommandArgument> arguments_of(const char* syntax, std::deque<std::string>& texts) {
  std::vector<CommandArgument> made;
  std::istringstream words(syntax);
  const char* token = nullptr;
  int optional = 0, keys = 0;
  for (std::string word; words >> word;) {
    if (word.front() == '[') optional = kArgumentOptional;
    const bool is_end = word.back() == ']';
    const int flags = optional | (word.ends_with("...") ? kArgumentMultiple : 0);
    std::erase_if(word, [](char c) { return c == '[' || c == ']' || c == '.'; });
    const bool is_token = word < "a";
    if (is_token) token = texts.emplace_back(word).c_str();
    if (is_token && !is_end) continue;
    std::ranges::transform(word, word.begin(), lower);
    const ArgumentType type = is_token ? ArgumentType::token : type_of(word);
    made.push_back({texts.emplace_back(word).c_str(), type, type == ArgumentType::key ? keys++ : -1,
                    token, nullptr, nullptr, flags, nullptr, nullptr, nullptr});
    token = nullptr;
    if (is_end) optional = 0;
  }
  made.push_back({});
  return made;
}

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
  const char* arguments;
  const char* summary;
  const char* complexity;
  const char* tips = nullptr;
};
// For clients that keep replies: not what changes although nobody changes the key.
constexpr char kNotCached[] = "dont_cache";

constexpr char kPerItem[] = "O(g), g sub_filters";
constexpr char kPerItems[] = "O(n * g), n items, g sub_filters";
constexpr char kPerHashes[] = "O(n * g), n hashes, g sub_filters";
constexpr char kPerMemory[] = "O(m), m bytes of memory";
constexpr char kPerPiece[] = "O(m), m bytes of the piece";

constexpr char kReserveArguments[] =
    "key capacity [BUCKETSIZE bucketsize] [MAXITERATIONS maxiterations] [EXPANSION expansion] "
    "[ERROR error] [SEED seed] [WINDOW seconds] [WIDTHS widths] [TURNSOVER turnsover]";

const Entry kEntries[] = {
    {"cf.reserve", entry<reserve>, "write deny-oom", -3, inserted, kReserveArguments,
     "Creates an empty filter for a number of items", "O(1)"},
    {"cf.add", entry<add>, "write deny-oom", -3, added_or_looked_up, "key item [EX seconds]",
     "Adds one copy of an item; creates the filter if there is none", kPerItem},
    {"cf.addnx", entry<add_unique>, "write deny-oom", -3, added_or_looked_up,
     "key item [EX seconds]",
     "Adds an item unless it seems to be there; creates the filter if there is none", kPerItem},
    {"cf.insert", entry<insert>, "write deny-oom", -4, added_or_looked_up,
     "key [CAPACITY capacity] [NOCREATE] ITEMS item...",
     "Adds items; creates the filter if there is none, unless NOCREATE", kPerItems},
    {"cf.insertnx", entry<insert_unique>, "write deny-oom", -4, added_or_looked_up,
     "key [CAPACITY capacity] [NOCREATE] ITEMS item...",
     "Adds the items that do not seem to be there; creates the filter as CF.INSERT does",
     kPerItems},
    {"cf.exists", entry<exists>, "readonly fast", 3, looked_up, "key item",
     "Returns whether an item may be in the filter", kPerItem},
    {"cf.mexists", entry<exists_many>, "readonly fast", -3, looked_up, "key item...",
     "Returns for each item whether it may be in the filter", kPerItems},
    {"cf.count", entry<count>, "readonly fast", 3, looked_up, "key item",
     "Returns how many copies of an item may be in the filter", kPerItem},
    {"cf.del", entry<erase>, "write fast", 3, deleted_or_looked_up, "key item",
     "Removes one copy of an item that was added", kPerItem},
    {"cf.mdel", entry<erase_many>, "write fast", -3, deleted_or_looked_up, "key item...",
     "Removes one copy of each item; all must have been added", kPerItems},
    {"cf.mexistsh", entry<exists_hashes>, "readonly fast", 3, looked_up, "key hashes",
     "Returns a bit for each hash: whether its item may be in the filter", kPerHashes},
    {"cf.mcounth", entry<count_hashes>, "readonly fast", 3, looked_up, "key hashes",
     "Returns a byte for each hash: how many copies may be in the filter", kPerHashes},
    {"cf.maddh", entry<add_hashes>, "write deny-oom", 3, added_or_looked_up, "key hashes",
     "Adds the items of hashes to a filter; returns a bit for each", kPerHashes},
    {"cf.maddnxh", entry<add_unique_hashes>, "write deny-oom", 3, added_or_looked_up, "key hashes",
     "Adds the items of hashes that do not seem to be there; returns a bit for each", kPerHashes},
    {"cf.mdelh", entry<erase_hashes>, "write fast", 3, deleted_or_looked_up, "key hashes",
     "Removes one copy of each hash's item; all must have been added", kPerHashes},
    {"cf.clear", entry<clear>, "write", 2, deleted, "key", "Removes all items and keeps the filter",
     kPerMemory},
    {"cf.update", entry<update>, "write deny-oom fast", 4, updated_or_looked_up, "key old new",
     "Replaces one copy of an item that was added by another item", kPerItem},
    {"cf.merge", entry<merge>, "write deny-oom", -3, merged, "destination source...",
     "Adds everything in the sources to the destination", kPerMemory},
    {"cf.compact", entry<compact>, "write", 2, changed, "key",
     "Unites filters into a few that are nearly full", kPerMemory},
    {"cf.info", entry<info>, "readonly fast", -2, looked_up, "key [FULL]",
     "Returns sizes, counts and settings of a filter", kPerItem, kNotCached},
    {"cf.debug", entry<debug>, "readonly fast", 2, looked_up, "key",
     "Returns sizes, counts and settings of a filter in one line", kPerItem, kNotCached},
    {"cf.scandump", entry<scan_dump>, "readonly fast", 3, looked_up, "key iterator",
     "Returns the next piece of a filter's content", kPerPiece, kNotCached},
    {"cf.loadchunk", entry<load_chunk>, "write deny-oom", 4, added_or_looked_up,
     "key iterator data", "Loads a piece that CF.SCANDUMP returned", kPerPiece},
    {"cf.advance", entry<advance>, "write", -3, changed,
     "key tick [AT milliseconds] [SWEEP blocks]",
     "Moves the time of a filter with a window on to a tick", kPerMemory},
};

bool describe(Context* context, const Entry& entry) {
  Command* const command = api.GetCommand(context, entry.name);
  std::deque<std::string> texts;  // the server copies all of it
  std::vector<CommandArgument> arguments = arguments_of(entry.arguments, texts);
  const CommandInfo info = {
      &kCommandInfoVersion, entry.summary, entry.complexity,  "0.1.0",         nullptr,
      entry.tips,           entry.arity,   entry.keys.data(), arguments.data()};
  if (command == nullptr || api.SetCommandInfo(command, &info) != kOk) return false;
  if (api.SetCommandACLCategories == nullptr) return true;
  // Nothing follows from the flags. RedisBloom's CF.RESERVE and CF.INFO are the fast ones.
  std::string categories = entry.flags[0] == 'r' ? "read" : "write";
  if (api.AddACLCategory != nullptr) categories += " cuckoo";
  if (entry.name == "cf.reserve"sv || entry.name == "cf.info"sv) categories += " fast";
  return api.SetCommandACLCategories(command, categories.c_str()) == kOk;
}

}  // namespace

bool register_commands(Context* context) {
  // One that is there already will do: Redis 8 keeps that of a module which it has put out, for
  // wrong arguments perhaps. Servers of version 7.2 have categories and cannot add one.
  const bool has_category = api.AddACLCategory == nullptr ||
                            api.AddACLCategory(context, "cuckoo") == kOk || errno == EBUSY;
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
