// The commands, one function each, and what they share: call, key, arguments, texts of errors.
//
//   create.cc     CF.RESERVE, and creation by other commands
//   insert.cc     CF.ADD, ADDNX, INSERT, INSERTNX
//   query.cc      CF.EXISTS, MEXISTS, COUNT, INFO, DEBUG
//   change.cc     CF.DEL, MDEL, CLEAR, UPDATE, MERGE, COMPACT
//   hashes.cc     CF.MEXISTSH, MADDH, MADDNXH, MDELH, MCOUNTH
//   windowed.cc   CF.ADVANCE, and what others do with a filter that has a WINDOW
//   data_type.cc  CF.SCANDUMP, LOADCHUNK
//
// Each replies exactly once and returns what the reply returned. The server has checked the number
// of arguments against the arity. They may throw: command_table.cc turns that into an error reply.
#ifndef NESTLINE_LIB_FACES_REDIS_SERVER_COMMANDS_H_
#define NESTLINE_LIB_FACES_REDIS_SERVER_COMMANDS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/faces/embed/value/windowed_value.h"
#include "lib/faces/redis/server/module_api.h"

namespace nestline { inline namespace v0_3 { namespace redis {

// The bytes of an argument; they live as long as the argument.
std::string_view text(const String* argument);
// Does not depend on the locale: words are ASCII.
constexpr char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
// Whether `text` is `word`, in upper or lower case.
bool is_word(std::string_view text, std::string_view word);
inline bool is_word(const String* argument, std::string_view word) {
  return is_word(text(argument), word);
}

// The argument as a decimal number. Nothing if it is something else or does not fit.
std::optional<long long> integer(const String* argument);
std::optional<std::uint64_t> natural(const String* argument);
// The argument as a finite decimal fraction, such as "0.001" or "1e-3".
std::optional<double> fraction(const String* argument);

// A command as it arrived; argument 0 is its name.
struct Call {
  Context* context;
  String** arguments;
  int count;
  [[nodiscard]] String* key() const { return arguments[1]; }
  [[nodiscard]] std::string_view item(int i) const { return text(arguments[i]); }
};
std::vector<std::string_view> items_of(const Call& call, int first = 2);
using CommandBody = int(const Call& call);
CommandBody reserve, add, add_unique, insert, insert_unique, exists, exists_many, count,
    exists_hashes, count_hashes, add_hashes, add_unique_hashes, erase_hashes, info, debug, erase,
    erase_many, clear, update, merge, compact, scan_dump, load_chunk, advance;
// Registers every command. False, with a line in the log, when the server refuses one.
bool register_commands(Context* context);
// Errors. Clients compare these texts exactly as they are here, with or without a code in front.
inline constexpr char kNotFound[] = "ERR not found";
inline constexpr char kIncomplete[] =
    "ERR this filter is incomplete: pieces of it have not come yet by CF.LOADCHUNK";
inline constexpr char kNotForWindow[] =
    "ERR this filter has a WINDOW: its items expire and cannot be deleted or replaced, since "
    "others may share their places";
inline constexpr char kWindowHasNoCopies[] =
    "ERR this filter has a WINDOW: it has each item once and counts no copies";
inline constexpr char kWindowDoesNotGrow[] =
    "ERR this filter has a WINDOW: it does not grow, so there is nothing to compact";
inline constexpr char kWindowDoesNotMerge[] = "ERR filters with a WINDOW cannot be merged";
inline constexpr char kNoWindow[] = "ERR this filter has no WINDOW: its items do not expire";
inline constexpr char kExpiryNeedsWindow[] =
    "ERR EX needs a filter with a WINDOW, which CF.RESERVE makes";
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
// A pair of a reply that is a map. Numbers are integers of the protocol or doubles.
void reply_pair(const Call& call, const char* name, std::uint64_t value);
void reply_pair(const Call& call, const char* name, double value);
void reply_pair(const Call& call, const char* name, const std::string& value);
// Replies to a command whose only item was not added, for the reason that `outcome` gives.
int reply_not_inserted(const Call& call, Outcome outcome);
// One element of the reply to a command that inserts. "No" is a boolean in RESP3 without a reason.
void reply_outcome(const Call& call, Outcome outcome, Unless unless);

// What the server keeps: one of the two. Batches hold the filter too, so it may outlive its key.
struct KeptValue {
  // Ends a value, which the ticker then forgets. By any thread.
  struct End {
    End() = default;
    End(std::default_delete<WindowedValue>) {}  // so that it takes values from what makes them
    void operator()(WindowedValue* value) const noexcept;
  };
  std::shared_ptr<CuckooValue> filter;
  std::unique_ptr<WindowedValue, End> windowed;
};

Type* data_type();  // what register_data_type got from the server
// False, with a line in the log, when the server refuses.
bool register_data_type(Context* context);

// A key of the keyspace while a command works on it.
//
//   const OpenedKey key(call, kRead);
//   if (key.refuse(kNotFound)) return kOk;
class OpenedKey {
 public:
  // `mode`: kRead or kWrite.
  OpenedKey(const Call& call, String* name, int mode);
  OpenedKey(const Call& call, int mode) : OpenedKey(call, call.key(), mode) {}
  OpenedKey& operator=(OpenedKey&&) = delete;
  ~OpenedKey();

  // Whether there is no filter, and the command was replied to: the value is of another type, or
  // has a window, for which `windowed` is the error, or is missing with the error `missing`.
  [[nodiscard]] bool refuse(const char* missing = nullptr,
                            const char* windowed = kNotForWindow) const;
  // The filter; null when there is no value, or another one.
  [[nodiscard]] CuckooValue* filter() const { return value_ ? value_->filter.get() : nullptr; }
  CuckooValue* operator->() const { return value_->filter.get(); }
  // The same, to be kept alive; only if there is one.
  [[nodiscard]] const std::shared_ptr<CuckooValue>& shared() const { return value_->filter; }
  // The filter with a window; null when there is no value, or another one.
  [[nodiscard]] WindowedValue* windowed() const {
    return value_ ? value_->windowed.get() : nullptr;
  }
  // Gives the key a filter, in place of what it had. Only for a key that was opened for writing.
  CuckooValue& set(std::unique_ptr<CuckooValue> filter);
  WindowedValue& set(std::unique_ptr<WindowedValue> windowed);

 private:
  const Call& call_;
  Key* key_;
  const KeptValue& keep(KeptValue value);
  const KeptValue* value_ = nullptr;
  bool is_other_ = false;
};

// For clients that watch the key or listen to its events. `event` is the name of the command.
void notify_change(const Call& call, const char* event);
// The same, and replicates the command as it came.
void replicate(const Call& call, const char* event);

// For INFO's section "nestline": counts since the module was loaded, unless stated otherwise. Those
// that the server's thread for freeing changes are atomic.
struct Counters {
  std::atomic<std::uint64_t> values{0};    // now, with those that wait to be freed
  std::atomic<std::uint64_t> windowed{0};  // of them
  std::uint64_t items_added = 0;
  std::uint64_t items_deleted = 0;
  std::uint64_t stopped_by_max_expansions = 0;  // items
  std::uint64_t stopped_by_memory = 0;          // items
  std::uint64_t refused_by_maxmemory = 0;       // filters that would not have fitted
  std::uint64_t refused_payloads = 0;           // of RDB files and RESTORE
  std::uint64_t batches = 0;                    // of lookups that went to the worker threads
  std::uint64_t answers_left_open = 0;          // by them, for the server's thread
};
extern Counters counters;

void count_outcome(Outcome outcome);
// False, with a line in the log, when the server refuses.
bool register_info_section(Context* context);
// Whether the command comes from a primary or an append-only file; or from the latter, whose time
// the steady clock does not know.
bool is_replayed(const Call& call);
inline bool is_loading(const Call& call) {
  return (api.GetContextFlags(call.context) & kContextLoading) != 0;
}

// Whether pieces are missing, and a client's own command must not take it for a whole filter.
inline bool is_incomplete(const Call& call, const CuckooValue& filter) {
  return !filter.is_complete() && !is_replayed(call);
}

// What additions by clients keep to. Replayed items have no limits.
Limits limits_for_clients();

// The outcome of insert(limits), counted: without limits where those of clients refuse a replayed
// item (asked last, since that takes time).
template <typename Insert>
Outcome within_limits(const Call& call, const Insert& insert) {
  Outcome outcome = insert(limits_for_clients());
  const bool is_limited = outcome == kTooMany || outcome == Outcome::full;
  if (is_limited && is_replayed(call)) outcome = insert(kUnlimited);
  count_outcome(outcome);
  return outcome;
}

// Gives the key a filter with the defaults of the configuration, and this capacity if there is one,
// and replicates its CF.RESERVE. If that fails, replies with the reason and returns null.
CuckooValue* create_by_default(const Call& call, OpenedKey& key, std::optional<long long> capacity);
// Replicates that the filter's first sub_filter was opened beside tables of RedisBloom.
void replicate_opening(const Call& call, const CuckooValue& filter);
// What commands do with a filter that has a window (windowed.cc). Each replies.
int insert_windowed(const Call& call, WindowedValue& value, const char* event);
int insert_many_windowed(const Call& call, WindowedValue& value, int first_item, Unless unless,
                         const char* event);
int info_windowed(const Call& call, const WindowedValue& value, bool is_full);
int debug_windowed(const Call& call, const WindowedValue& value);
// Whether pieces of it are missing; if so, it has replied with the error.
bool refuse_incomplete(const Call& call, const WindowedValue& value);

// The reply to a batch of lookups: a string of bits, an array of booleans, a string of counts.
enum class Reply : std::uint8_t { bits, booleans, counts };

// Whether the workers are to answer a command of so many lookups. Not where its reply has to be
// there at its end: in transactions and scripts, for other modules, for commands that are replayed.
bool is_for_workers(const Call& call, std::size_t lookups);

// Hands the lookups over to the workers (batch.cc), which reply. False, nothing being done, where
// they cannot take them now. Throws std::bad_alloc. Without `hashes` they are in argument 2.
bool hand_over(const Call& call, const OpenedKey& key, Reply reply,
               std::vector<std::uint64_t> hashes = {});

}}}  // namespace nestline::redis

#endif  // NESTLINE_LIB_FACES_REDIS_SERVER_COMMANDS_H_
