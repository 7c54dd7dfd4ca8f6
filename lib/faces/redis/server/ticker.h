// Moves the time of all filters with a WINDOW on, by one timer of the server.
//
// The primary alone does it, and replicates each step as a CF.ADVANCE, so copies repeat it:
//
//   CF.ADVANCE key tick AT time        that tick, and the wall clock's time when it began
//   CF.ADVANCE key tick SWEEP blocks   a slice of the sweep of the present tick
//   CF.ADVANCE key tick AT time        of the present tick: a later time, see below
//
// A tick in which nothing dies changes no answer. A value of at most kSweepSlice blocks makes such
// ticks up with the next one in which something may die (WindowedValue::next_death), or before an
// addition, which must be made in the present tick. A larger value moves on tick by tick, since
// each must be swept first, in slices between other commands; they are replicated, since where the
// sweep stands decides which marks an insert leaves (lib/engine/place/aging.h). In a value in which
// nothing is alive, and that is swept, time stands; an addition begins the tick anew.
//
// While the server runs the steady clock counts, so a clock that is set changes no lives. The
// server's timers are due by the wall clock; its cron makes up for one that is late.
//
// When a value was loaded, how long its tick has been going on follows from the wall clock and
// `time`: a time in the future counts as now. The ticks that it owes follow at once, in slices as
// always; an addition before they are over pays the rest first, or its item would die by ticks that
// passed before it. If more than a life has passed, all die in so many ticks; the rest is left out.
//
// No item dies before its life is over. L is the length of a tick, b(n) the instant when tick n
// begins. An item added at t, in tick k, for m ticks dies at b(k + m + 1): at t + m L or later, if
//
//   1. b(k + 1) >= t: the tick after it begins no sooner than the addition.
//   2. b(n + 1) >= b(n) + L for every n > k.
//
// In one process b(n + 1) is b(n) + L, whenever the timer comes; but an addition to a tick that is
// overdue, as of a large value, makes its end the present (replicate_insert_time). So 1 and 2 hold.
// A copy, whichever way its bytes came (RDB file, DUMP, append-only file, replication,
// CF.SCANDUMP), has tick k and `time` T, and takes b(n) = T + (n - k) L for n > k, or later. So 2
// holds in it, also for items of ticks before k, because T is no sooner than b(k) was: advance_by()
// rounds it up. 1 needs t <= T + L: so it is but for an addition to an overdue tick, or to one that
// stood; replicate_insert_time() then makes T the present, and replicates that in one unit with the
// addition. These are times of the wall clock, so it holds as far as the servers' agree: one set
// ahead lets items die that much sooner. A replica counts from when it received b(n) and t, both
// later than they were.
//
// The ticker has an entry with the key's name for each value, from when it comes into a key until
// it is freed; commands that make values, loading, and events for keys that are renamed, copied or
// restored tell it. Before a change it looks whether the key has the value, in the last database,
// then in others: MOVE and SWAPDB may have moved it, and with `repl-diskless-load swapdb` Redis 7.0
// and 7.2 load all keys as if into database 0. One that is in none waits for an event, an addition
// or its end.
#ifndef NESTLINE_LIB_FACES_REDIS_SERVER_TICKER_H_
#define NESTLINE_LIB_FACES_REDIS_SERVER_TICKER_H_

#include <cstdint>
#include <string_view>

#include "lib/faces/redis/server/commands.h"

namespace nestline { inline namespace v0_3 { namespace redis {

inline constexpr std::uint64_t kSweepSlice = 4096;  // blocks of a slice: 256 KiB
// How keys are opened to move their time on: without a trace in times of use, events and
// statistics. Redis 7.0 counts all but writes.
inline constexpr int kUnseen = kWrite | kNoTouch | kNoNotify | kNoStats;
// Before all else here. The timer begins with the first value.
void register_ticker(Context* context);
// The value is at this key, and will be looked at soon.
void tick_key(WindowedValue& value, int database, std::string_view key);
// Before an addition to the value of the call's key: moves it on by the ticks that were not made up
// yet, or of a large value that it owes, and replicates that. O(memory) for each of them.
void apply_pending_ticks(const Call& call, WindowedValue& value);
// After an addition: makes sure that its items live their lives, here and in copies, no longer.
void replicate_insert_time(const Call& call, WindowedValue& value);
// The steady clock, in microseconds, and the wall clock, in milliseconds since 1970, rounded up.
std::int64_t steady_now() noexcept;
std::uint64_t wall_now() noexcept;

}}}  // namespace nestline::redis

#endif  // NESTLINE_LIB_FACES_REDIS_SERVER_TICKER_H_
