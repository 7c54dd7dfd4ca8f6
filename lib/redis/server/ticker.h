// Moves the time of all filters with a WINDOW on, by one timer of the server.
//
// The primary alone does it. Each thing that it does to a value it replicates as a CF.ADVANCE, so
// replicas and append-only files repeat it between the same commands:
//
//   CF.ADVANCE key tick AT time        the next tick, and the wall clock's time when it began
//   CF.ADVANCE key tick SWEEP blocks   a slice of the sweep that must end before the next tick
//
// The slices must be replicated, since where the sweep stands decides which marks an insert leaves
// (lib/place/aging.h). A value of at most kSweepSlice blocks needs none: its tick sweeps it.
//
// While the server runs the steady clock counts, so nobody who sets the clock makes items live
// longer or shorter. Each tick lasts its whole length from when it really began: if the timer is
// late, as after a slow command or a pause, items live longer.
//
// When a value was loaded, how long its tick has been going on follows from the wall clock and the
// value's `time`: a time in the future counts as now. The ticks that it owes follow each other at
// once, in slices as always; an addition that comes before they are over pays the rest first, since
// its item would otherwise die by ticks that passed before it came. If more than a life has passed,
// all items die in so many ticks; the rest of the time is left out.
//
// The ticker has an entry for each value, from when it comes into a key until it is freed. An entry
// has the key where the value was last; commands that make values, loading, and the server's events
// for keys that are renamed, moved, copied or restored tell where. Before it changes a value the
// ticker looks whether the key has it. One that has left its key waits to be freed, or for such an
// event.
#ifndef NESTLINE_LIB_REDIS_SERVER_TICKER_H_
#define NESTLINE_LIB_REDIS_SERVER_TICKER_H_

#include <cstdint>
#include <string_view>

#include "lib/redis/server/commands.h"
#include "lib/redis/server/module_api.h"

namespace nestline::redis {

// Blocks of a slice: 256 KiB.
inline constexpr std::uint64_t kSweepSlice = 4096;

// Subscribes to what it needs of the server; the timer begins with the first place. False, with a
// line in the log, when the server refuses.
bool register_ticker(Context* context);

// The value is at this key. Does nothing where that is known.
void tick_key(WindowedValue& value, int database, std::string_view key);

// Before an addition to the value of the call's key: moves it on by the ticks that it owes, and
// replicates that. O(memory) for each of them; there are none but soon after loading.
void pay_ticks(const Call& call, WindowedValue& value);

// The steady clock, in microseconds, and the wall clock, in milliseconds since 1970.
std::int64_t steady_now() noexcept;
std::uint64_t wall_now() noexcept;

}  // namespace nestline::redis

#endif  // NESTLINE_LIB_REDIS_SERVER_TICKER_H_
