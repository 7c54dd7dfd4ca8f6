#include "lib/faces/redis/server/ticker.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "lib/faces/redis/server/configuration.h"

namespace nestline { inline namespace v0_3 { namespace redis {
namespace {

constexpr std::int64_t kMillisecond = 1000;
constexpr std::int64_t kSecond = 1'000'000;
// How long one call of the timer works at least and at most; then commands have their turn. In
// between it works for a part of what it is behind, so what it is behind does not grow.
constexpr std::int64_t kTurn = 200;
constexpr std::int64_t kMaxTurn = 4000;
constexpr std::int64_t kPartOfArrears = 16;
// The ticks in which everything dies.
constexpr std::int64_t kAllTicks = WindowedValue::kLife + 1;

// A name in memory of the server. It has one holder, so any thread may free it.
struct Name {
  explicit Name(std::string_view key) : string(api.CreateString(nullptr, key.data(), key.size())) {}
  Name& operator=(Name&&) = delete;
  ~Name() { api.FreeString(nullptr, string); }
  String* const string;
};

// For a value that was loaded: finds when its tick began and how many ticks it owes, by the wall
// clock. The steady clock is read after it, or the tick would begin too soon.
void begin_tick(WindowedValue& value) {
  if (value.begun) return;
  const std::uint64_t wall = wall_now() - 1;  // rounded down
  const std::uint64_t milliseconds = wall - std::min(wall, value.time());
  const std::int64_t length = value.tick_length();
  const auto passed = std::min(
      static_cast<std::int64_t>(std::min(milliseconds, kMaxWindow * 10'000)) * kMillisecond,
      kAllTicks * length);
  value.pending_ticks = passed / length;
  value.begun = steady_now() - passed % length;
}

// Whether each of its ticks is swept in slices, before the next one.
bool is_large(const WindowedValue& value) { return value.blocks() > kSweepSlice; }

// Ticks after which the value is moved on: those in which nothing dies are made up with the next.
std::int64_t ticks_at_once(const WindowedValue& value) {
  return is_large(value) ? 1 : std::int64_t{value.next_death()};
}

// Ticks that are over, of a value whose tick has begun.
std::int64_t ticks_over(const WindowedValue& value, std::int64_t now) {
  return value.pending_ticks + std::max<std::int64_t>(0, now - *value.begun) / value.tick_length();
}

// When the next change of the value is due.
std::int64_t due_of(const WindowedValue& value) {
  if (value.next_death() == 0 || value.tick() >= kMaxTick) return kNever;
  return *value.begun + (ticks_at_once(value) - value.pending_ticks) * value.tick_length();
}

// Moves a value on by so many ticks that are over, and replicates that.
void advance_by(Context* context, String* name, WindowedValue& value, std::int64_t ticks,
                std::int64_t now) {
  const std::int64_t length = value.tick_length();
  const std::int64_t paid = std::min(value.pending_ticks, ticks);
  value.pending_ticks -= paid;
  *value.begun += (ticks - paid) * length;
  const std::int64_t ago = now - *value.begun + value.pending_ticks * length;
  const std::uint64_t wall = wall_now();
  (void)value.advance(std::min(value.tick() + static_cast<std::uint64_t>(ticks), kMaxTick),
                      wall - std::min(wall, static_cast<std::uint64_t>(ago / kMillisecond)));
  api.Replicate(context, "CF.ADVANCE", "slcl", name, static_cast<long long>(value.tick()), "AT",
                static_cast<long long>(value.time()));
  api.SignalModifiedKey(context, name);
  api.NotifyKeyspaceEvent(context, kNotifyModule, "cf.advance", name);
}

// Any thread may forget() a value; the server's thread does all else: it alone moves values.
class Ticker {
 public:
  void begin(Context* context) { context_ = api.GetDetachedThreadSafeContext(context); }

  void add(WindowedValue& value, int database, std::string_view key, std::int64_t due) {
    // Not before, since the server makes a call for each event.
    if (!std::exchange(is_subscribed_, true)) {
      (void)api.SubscribeToKeyspaceEvents(context_, kNotifyGeneric, see_event);
      (void)api.SubscribeToServerEvent(context_, kCronEvent, see_cron);
    }
    const std::scoped_lock lock(mutex_);
    const auto [known, is_new] = entries_.try_emplace(&value);
    counters.windowed += is_new;
    Entry& entry = known->second;
    if (entry.name == nullptr || text(entry.name->string) != key) {
      entry.name = std::make_unique<Name>(key);
    }
    entry.database = database;
    if (value.due <= due) return;
    queue_.erase({std::exchange(value.due, kNever), &value});
    queue_.emplace(due, &value);
    value.due = due;
    wait(due - steady_now());
  }

  void forget(WindowedValue& value) noexcept {
    const std::scoped_lock lock(mutex_);
    const auto entry = entries_.find(&value);
    if (entry == entries_.end()) return;
    queue_.erase({value.due, &value});
    entries_.erase(entry);
    --counters.windowed;
  }

 private:
  // Where a value is, as far as we know.
  struct Entry {
    int database = 0;
    std::unique_ptr<Name> name;
  };
  using Queue = std::set<std::pair<std::int64_t, WindowedValue*>>;

  // A key that was renamed, copied or restored may be one of ours.
  static int see_event(Context* context, int, const char* event, String* key) {
    const std::string_view name = event;
    if (name != "rename_to" && name != "copy_to" && name != "restore") return kOk;
    try {
      const Call call{context, nullptr, 0};
      const OpenedKey opened(call, key, kUnseen);
      WindowedValue* const value = opened.windowed();
      if (value != nullptr) tick_key(*value, api.GetSelectedDb(context), text(key));
    } catch (const std::exception&) {
      api.Log(context, "warning", "no memory to move the time of a filter on");
    }
    return kOk;
  }

  // The server's timers are due by the wall clock, its cron is not: where the clock was set back,
  // it does what the timer should have done.
  static void see_cron(Context* context, ServerEvent, std::uint64_t, void*) noexcept;

  static void fire(Context* context, void* ticker) noexcept {
    static_cast<Ticker*>(ticker)->fire(context);
  }

  void fire(Context* context) noexcept {
    timer_.reset();
    if (counters.windowed == 0) return;
    const int flags = api.GetContextFlags(context);
    if ((flags & (kContextLoading | kContextAsyncLoading)) != 0) return wait(100 * kMillisecond);
    const bool was_primary = std::exchange(is_primary_, (flags & kContextPrimary) != 0);
    if (!is_primary_) return wait(kSecond);
    try {
      if (!was_primary) all_are_due();
      if (configuration().window_timer == 0) return wait(100 * kMillisecond);
      // While writes are paused, as for a failover, nothing may change.
      if (api.AvoidReplicaTraffic() != 0) return wait(10 * kMillisecond);
      serve(context);
    } catch (const std::exception&) {
      return wait(kSecond);  // no memory: what was to be done is still due
    }
    const std::scoped_lock lock(mutex_);
    if (!queue_.empty()) wait(queue_.begin()->first - steady_now());
  }

  void serve(Context* context) {
    const std::int64_t begin = steady_now();
    std::int64_t turn = 0;
    for (std::int64_t now = begin;; now = steady_now()) {
      // The node moves, so that nothing has to be allocated once a value has changed.
      Queue::node_type node;
      std::unique_ptr<Name> name;  // a copy: a value that has left its key may end at any moment
      int database = 0;
      {
        const std::scoped_lock lock(mutex_);
        if (queue_.empty() || queue_.begin()->first > now) return;
        if (turn == 0) {
          turn = std::clamp((begin - queue_.begin()->first) / kPartOfArrears, kTurn, kMaxTurn);
        }
        const Entry& entry = entries_.at(queue_.begin()->second);
        name = std::make_unique<Name>(text(entry.name->string));
        database = entry.database;
        node = queue_.extract(queue_.begin());
        node.value().second->due = kNever;  // no thread can end it before we let the mutex go
      }
      try {
        const std::int64_t due = visit(context, node.value().second, database, name->string);
        if (due != kNever) put_back(std::move(node), database, due);
      } catch (...) {
        put_back(std::move(node), database, now + kSecond);
        throw;
      }
      if (now - begin >= turn) return;
    }
  }

  void put_back(Queue::node_type node, int database, std::int64_t due) noexcept {
    const std::scoped_lock lock(mutex_);
    const auto entry = entries_.find(node.value().second);
    if (entry == entries_.end()) return;
    node.value().first = node.value().second->due = due;
    entry->second.database = database;
    queue_.insert(std::move(node));
  }

  // Does what is due. Returns when it is due again; kNever: nothing in it is alive, or it is not
  // there, and may have ended, so it is not looked at. If it is in another database, finds out in
  // which.
  static std::int64_t visit(Context* context, const WindowedValue* wanted, int& database,
                            String* name) {
    const Call call{context, nullptr, 0};
    for (int next = 0, number = database; api.SelectDb(context, number) == kOk; number = next++) {
      const OpenedKey opened(call, name, kUnseen);
      WindowedValue* const value = opened.windowed();
      if (value != wanted) continue;
      database = number;
      if (!value->is_complete()) return steady_now() + kSecond;
      begin_tick(*value);
      return move(context, name, *value, steady_now());
    }
    return kNever;
  }

  static std::int64_t move(Context* context, String* name, WindowedValue& value, std::int64_t now) {
    const bool is_alive = value.next_death() != 0;
    if (value.unswept() > (is_alive ? kSweepSlice : 0)) {
      value.sweep(kSweepSlice);
      api.Replicate(context, "CF.ADVANCE", "slcl", name, static_cast<long long>(value.tick()),
                    "SWEEP", static_cast<long long>(kSweepSlice));
      // Before others that are due later than its next tick.
      return std::min(now, *value.begun + value.tick_length());
    }
    if (due_of(value) > now) return due_of(value);
    advance_by(context, name, value, is_large(value) ? 1 : ticks_over(value, now), now);
    return value.unswept() > kSweepSlice || value.next_death() == 0 ? now : due_of(value);
  }

  void all_are_due() {
    const std::scoped_lock lock(mutex_);
    Queue queue;
    for (auto& [value, entry] : entries_) queue.emplace(0, value);
    for (auto& [value, entry] : entries_) value->due = 0;
    queue_ = std::move(queue);
  }

  // Starts the timer anew, unless it ends before that.
  void wait(std::int64_t microseconds) noexcept {
    const std::int64_t milliseconds = std::clamp(microseconds, kMillisecond, kSecond) / 1000;
    const std::int64_t end = steady_now() + milliseconds * kMillisecond;
    if (timer_) {
      if (end_ <= end) return;
      (void)api.StopTimer(context_, *timer_, nullptr);
    }
    end_ = end;
    timer_ = api.CreateTimer(context_, milliseconds, fire, this);
  }

  Context* context_ = nullptr;
  std::mutex mutex_;  // guards entries_ and queue_
  std::unordered_map<WindowedValue*, Entry> entries_;
  Queue queue_;  // by the time when each is due
  std::optional<std::uint64_t> timer_;
  std::int64_t end_ = 0;  // of the timer
  bool is_subscribed_ = false;
  bool is_primary_ = false;
};

// Lives as long as the process: the server may call it until then.
Ticker& ticker() {
  static Ticker* const only = new Ticker;
  return *only;
}

void Ticker::see_cron(Context* context, ServerEvent, std::uint64_t, void*) noexcept {
  Ticker& only = ticker();
  if (!only.timer_ || steady_now() < only.end_) return;
  (void)api.StopTimer(context, *only.timer_, nullptr);
  only.fire(context);
}

}  // namespace

void register_ticker(Context* context) { ticker().begin(context); }

void tick_key(WindowedValue& value, int database, std::string_view key) {
  ticker().add(value, database, key, steady_now());
}

void KeptValue::End::operator()(WindowedValue* value) const noexcept {
  ticker().forget(*value);
  delete value;
}

void apply_pending_ticks(const Call& call, WindowedValue& value) {
  const bool is_known = value.begun && value.pending_ticks == 0;
  if (is_known && steady_now() < *value.begun + value.tick_length()) return;
  if (is_replayed(call) || (api.GetContextFlags(call.context) & kContextPrimary) == 0) return;
  const bool is_timed = configuration().window_timer != 0;
  if (is_timed) begin_tick(value);
  const std::int64_t now = steady_now();
  if (is_timed ? value.next_death() == 0 : !is_known) {
    value.begun = now;
    value.pending_ticks = 0;
  } else if (is_timed) {
    const std::int64_t ticks = is_large(value) ? value.pending_ticks : ticks_over(value, now);
    if (ticks != 0) advance_by(call.context, call.key(), value, ticks, now);
  }
}

void replicate_insert_time(const Call& call, WindowedValue& value) {
  const std::int64_t length = value.tick_length();
  if (value.begun) {
    value.begun = std::max(*value.begun, steady_now() - length);
    const std::int64_t due = due_of(value);
    if (due < value.due) {
      ticker().add(value, api.GetSelectedDb(call.context), text(call.key()), due);
    }
  }
  const std::uint64_t wall = wall_now();
  if (wall <= value.time() + static_cast<std::uint64_t>(length / kMillisecond) ||
      is_replayed(call)) {
    return;
  }
  (void)value.delay(wall);
  api.Replicate(call.context, "CF.ADVANCE", "slcl", call.key(),
                static_cast<long long>(value.tick()), "AT", static_cast<long long>(value.time()));
}

std::int64_t steady_now() noexcept {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::uint64_t wall_now() noexcept {
  const auto now = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::system_clock::now().time_since_epoch());
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, now.count())) + 1;
}

}}}  // namespace nestline::redis
