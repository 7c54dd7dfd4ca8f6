// Whether a call of update has one state for all of its rows.
//
// DuckDB's C interface hands update an array with a state for each row. But for an aggregate that
// has an ORDER BY inside, and for a window whose frame is its whole partition, the array has one
// state, which is that of all rows. Nothing in the call tells. What lies behind it are other values
// of 8 bytes, which may be states that are alive, so their content tells nothing either.
//
// What tells is where DuckDB calls from, since a place in its code does always the one or always
// the other. So before the aggregates are registered, a database of its own runs statements of many
// forms with an aggregate that only looks at its arrays, 1000 rows each. Where an array holds what
// is no state, or cannot be read to its end, the place has one state in each call.
#ifndef NESTLINE_LIB_FACES_DUCKDB_ONE_STATE_H_
#define NESTLINE_LIB_FACES_DUCKDB_ONE_STATE_H_

namespace nestline { inline namespace v0_3 { namespace duckdb {

// Finds these places, for the DuckDB that loads the extension. Throws std::runtime_error where
// there are some that cannot be told from others. Safe in any thread; takes some milliseconds.
void find_calls_of_one_state();

// Whether the call of update that returns to `address` is from one of them. Safe in any thread.
bool is_call_of_one_state(void* address) noexcept;

}}}  // namespace nestline::duckdb

#endif  // NESTLINE_LIB_FACES_DUCKDB_ONE_STATE_H_
