// What a nestline filter would be as LevelDB's FilterPolicy.
#ifndef NESTLINE_BENCH_STORE_ENGINES_FILTER_POLICY_H_
#define NESTLINE_BENCH_STORE_ENGINES_FILTER_POLICY_H_

namespace nestline::bench {

// LevelDB asks its policy for one filter for each 2 KiB of a table, and keeps its bytes. So this
// compares, for sets of many sizes, nestline's blocks with what LevelDB's Bloom policy makes at the
// same number of bits a key: the rate of false positives, and the time of a question for a missing
// key. It is generous to nestline: its filters are whole objects in memory, and the header that a
// stored one needs is not counted.
void compare_filters(double seconds);

}  // namespace nestline::bench

#endif  // NESTLINE_BENCH_STORE_ENGINES_FILTER_POLICY_H_
