#include "lib/redis/server/ticker.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "lib/redis/server/commands.h"
#include "lib/redis/server/configuration.h"
#include "lib/redis/value/windowed_value.h"

namespace nestline::redis {
namespace {

constexpr std::int64_t kMillisecond = 1000;
constexpr std::int64_t kSecond = 1'000'000;
// How long one call of the timer works; then commands have their turn.
constexpr std::int64_t kTurn = 200;
// Visits leave no trace in the key's time of use, in events and statistics.
constexpr int kUnseen = kNoTouch | kNoNotify | kNoStats;
// The ticks in which everything dies.
constexpr std::int64_t kAllTicks = WindowedValue::kLife + 1;

struct Place {
  int database;
  std::string key;
  friend bool operator<(const Place& a, const Place& b) {
    return std::tie(a.database, a.key) < std::tie(b.database, b.key);
  }
};

// For a value that was loaded: finds when its tick began and how many ticks it owes, by the wall
// clock.
void begin_tick(WindowedValue& value, std::int64_t now) {
  if (value.begun) return;
  const std::uint64_t wall = wall_now();
  const std::uint64_t milliseconds = wall - std::min(wall, value.time());
  const std::int64_t length = value.tick_length();
  const auto passed = std::min(
      static_cast<std::int64_t>(std::min(milliseconds, kMaxWindow * 10'000)) * kMillisecond,
      kAllTicks * length);
  value.owed = static_cast<unsigned>(passed / length);
  value.begun = now - passed % length;
}

// Moves a value on to a tick, which began as `begun` and `owed` have it, and replicates that.
void advance_to(Context* context, String* name, WindowedValue& value, std::uint64_t tick,
                std::int64_t now) {
  const std::int64_t ago = now - *value.begun + value.owed * value.tick_length();
  const std::uint64_t wall = wall_now();
  (void)value.advance(tick, wall - std::min(wall, static_cast<std::uint64_t>(ago / kMillisecond)));
  api.Replicate(context, "CF.ADVANCE", "slcl", name, static_cast<long long>(tick), "AT",
                static_cast<long long>(value.time()));
  api.SignalModifiedKey(context, name);
  api.NotifyKeyspaceEvent(context, kNotifyModule, "cf.advance", name);
}

// All of it runs in the server's thread.
class Ticker {
 public:
  bool begin(Context* context) {
    context_ = api.GetDetachedThreadSafeContext(context);
    return api.SubscribeToServerEvent(context, kEventSwapDb, see_swap) == kOk;
  }

  void add(Place place) {
    const auto [known, is_new] = places_.insert(std::move(place));
    if (!is_new) return;
    // Not before, since the server makes a call for each event.
    if (!std::exchange(is_subscribed_, true)) {
      (void)api.SubscribeToKeyspaceEvents(context_, kNotifyGeneric, see_event);
    }
    queue_.emplace(steady_now(), *known);
    wait(0);
  }

 private:
  // A key that was renamed, moved, copied or restored may be one of ours.
  static int see_event(Context* context, int, const char* event, String* key) {
    const std::string_view name = event;
    if (name != "rename_to" && name != "move_to" && name != "copy_to" && name != "restore") {
      return kOk;
    }
    try {
      const Call call{context, nullptr, 0};
      const OpenedKey opened(call, key, kRead | kUnseen);
      if (opened.windowed() != nullptr) tick_key(api.GetSelectedDb(context), text(key));
    } catch (const std::exception&) {
      api.Log(context, "warning", "no memory to move the time of a filter on");
    }
    return kOk;
  }

  static void see_swap(Context*, Event, std::uint64_t, void* data);

  static void fire(Context* context, void* ticker) noexcept {
    static_cast<Ticker*>(ticker)->fire(context);
  }

  void fire(Context* context) noexcept {
    timer_.reset();
    const int flags = api.GetContextFlags(context);
    if ((flags & (kContextLoading | kContextAsyncLoading)) != 0) return wait(100 * kMillisecond);
    const bool is_primary = (flags & kContextPrimary) != 0;
    if (is_primary) {
      if (configuration().window_timer == 0) return wait(100 * kMillisecond);
      // While writes are paused, as for a failover, nothing may change.
      if (api.AvoidReplicaTraffic() != 0) return wait(10 * kMillisecond);
    }
    try {
      if (is_primary && !was_primary_) all_are_due();
      was_primary_ = is_primary;
      serve(context, is_primary);
    } catch (const std::exception&) {
      return wait(kSecond);  // no memory: what was to be done is still due
    }
    if (queue_.empty()) return;
    wait(queue_.begin()->first - steady_now());
  }

  void serve(Context* context, bool is_primary) {
    const std::int64_t end = steady_now() + kTurn;
    for (std::int64_t now = steady_now(); !queue_.empty() && queue_.begin()->first <= now;
         now = steady_now()) {
      // The node moves, so that nothing has to be allocated once a value has changed.
      auto node = queue_.extract(queue_.begin());
      std::optional<std::int64_t> due;
      try {
        due = visit(context, node.mapped(), is_primary);
      } catch (...) {
        node.key() = now + kSecond;
        queue_.insert(std::move(node));
        throw;
      }
      if (due) {
        node.key() = *due;
        queue_.insert(std::move(node));
      } else {
        places_.erase(node.mapped());
      }
      if (now >= end) break;
    }
  }

  // Does what is due at a place. Returns when it is due again; nothing: there is no value of ours.
  static std::optional<std::int64_t> visit(Context* context, const Place& place, bool is_primary) {
    if (api.SelectDb(context, place.database) != kOk) return std::nullopt;
    const Name name(context, place.key);
    const Call call{context, nullptr, 0};
    const OpenedKey opened(call, name.string, kRead | kUnseen);
    WindowedValue* const value = opened.windowed();
    if (value == nullptr) return std::nullopt;
    const std::int64_t now = steady_now();
    if (!is_primary) return now + std::max(kSecond, value->tick_length());
    if (!value->is_complete()) return now + kSecond;
    begin_tick(*value, now);
    return move(context, name.string, *value, now);
  }

  static std::int64_t move(Context* context, String* name, WindowedValue& value, std::int64_t now) {
    if (value.unswept() > kSweepSlice) {
      value.sweep(kSweepSlice);
      api.Replicate(context, "CF.ADVANCE", "slcl", name, static_cast<long long>(value.tick()),
                    "SWEEP", static_cast<long long>(kSweepSlice));
      return now;
    }
    if (value.tick() >= kMaxTick) return now + kSecond;
    if (value.owed != 0) {
      --value.owed;
      advance_to(context, name, value, value.tick() + 1, now);
      return now;
    }
    const std::int64_t length = value.tick_length();
    if (*value.begun + length > now) return *value.begun + length;
    value.begun = now;
    advance_to(context, name, value, value.tick() + 1, now);
    return value.unswept() > kSweepSlice ? now : now + length;
  }

  // A string of the server for one visit.
  struct Name {
    Name(Context* context_, const std::string& key)
        : context(context_), string(api.CreateString(context, key.data(), key.size())) {}
    Name(const Name&) = delete;
    Name& operator=(const Name&) = delete;
    ~Name() { api.FreeString(context, string); }
    Context* context;
    String* string;
  };

  void all_are_due() {
    std::multimap<std::int64_t, Place> queue;
    for (const Place& place : places_) queue.emplace(0, place);
    queue_ = std::move(queue);
  }

  void swap(int first, int second) {
    std::set<Place> places;
    for (const Place& place : places_) {
      const int database = place.database == first    ? second
                           : place.database == second ? first
                                                      : place.database;
      places.insert({database, place.key});
    }
    places_ = std::move(places);
    all_are_due();
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
  std::set<Place> places_;
  std::multimap<std::int64_t, Place> queue_;  // by the time when each is due
  std::optional<std::uint64_t> timer_;
  std::int64_t end_ = 0;  // of the timer
  bool is_subscribed_ = false;
  bool was_primary_ = false;
};

// Lives as long as the process: the server may call it until then.
Ticker& ticker() {
  static Ticker* const only = new Ticker;
  return *only;
}

void Ticker::see_swap(Context* context, Event, std::uint64_t, void* data) {
  try {
    const auto& swap = *static_cast<const SwapDbInfo*>(data);
    ticker().swap(swap.first, swap.second);
  } catch (const std::exception&) {
    api.Log(context, "warning", "no memory to move the time of filters on");
  }
}

}  // namespace

bool register_ticker(Context* context) {
  if (ticker().begin(context)) return true;
  api.Log(context, "warning", "this server refuses to report its events");
  return false;
}

void tick_key(int database, std::string_view key) { ticker().add({database, std::string(key)}); }

void pay_ticks(const Call& call, WindowedValue& value) {
  if (value.begun && value.owed == 0) return;
  if (is_replayed(call) || (api.GetContextFlags(call.context) & kContextPrimary) == 0) return;
  const std::int64_t now = steady_now();
  if (configuration().window_timer == 0) {
    value.begun = now;
    value.owed = 0;
    return;
  }
  begin_tick(value, now);
  const std::uint64_t tick = std::min(value.tick() + std::exchange(value.owed, 0), kMaxTick);
  if (tick > value.tick()) advance_to(call.context, call.key(), value, tick, now);
}

std::int64_t steady_now() noexcept {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::uint64_t wall_now() noexcept {
  const auto now = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::system_clock::now().time_since_epoch());
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, now.count()));
}

}  // namespace nestline::redis
