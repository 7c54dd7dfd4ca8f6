// Histories of a filter used by several threads, and whether they are linearizable.
//
// A history is a set of finished operations, each with its answer and two tickets, one drawn before
// the call and one after the return. It is linearizable when there is an order of the operations
// that keeps "a returned before b was called" and in which an exact model, used by one thread,
// would have given the same answers. The search is that of J. M. Wing and C. Gong, "Testing and
// Verifying Concurrent Objects", Journal of Parallel and Distributed Computing 17 (1993), with the
// memory of visited states from G. Lowe, "Testing for Linearizability", Concurrency and
// Computation: Practice and Experience 29 (2017): what may still follow depends only on which
// operations are done and on the model's content, so each such pair is tried only once.
//
// The model is a multiset over key classes: keys that no filter can tell apart, since their
// fingerprints, bucket offsets and homes are equal. Two classes with equal fingerprint and bucket
// offset whose homes are each other's alternates are partners: keys of one may answer for the
// other. With `home` copies of a class and `away` of its partner
//
//   may_contain  is true if home > 0, false if home + away == 0, otherwise either
//   count        is between home and home + away
//   insert       is stored if home + away is below the limit of the bucket pair, else
//   `too_many_copies`, with guest lanes from fewer copies on;
//                or `full`, but only when the whole filter holds `full_from` keys or more, or when
//                some class has so many copies that they cannot step aside for each other or for
//                another class
//   erase        of a class with copies is true; of a class without copies and without copies of
//                its partner false. In between, the caller must not erase: the key may not be
//                stored
//
// Tickets come from one counter that all threads raise (tests/support/histories.h). So the memory
// model defines their order, and the clocks of different cores need not agree.
#ifndef NESTLINE_TESTS_FILTERS_CONCURRENT_HISTORY_H_
#define NESTLINE_TESTS_FILTERS_CONCURRENT_HISTORY_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "nestline/filter.h"

namespace nestline::test {

inline constexpr std::size_t kMaxClasses = 8;
inline constexpr std::size_t kMaxOperations = 64;  // of one history: they fit a word of bits
inline constexpr int kNoPartner = -1;

// Copies of each class.
using Copies = std::array<std::uint8_t, kMaxClasses>;

struct KeyClass {
  int partner = kNoPartner;
  unsigned limit = 0;  // copies of it and its partner together that their buckets can hold
  unsigned least = 0;  // from so many on they may be too many: with guest lanes below the limit
};

enum class Kind : std::uint8_t {
  insert,  // this and the next three change single keys
  insert_unique,
  update,
  erase,
  count,
  may_contain,
  grow,
  shrink,
  clear,
  snapshot,
  merge,
};

struct Operation {
  Kind kind = Kind::insert;
  std::uint8_t thread = 0;
  std::uint8_t key = 0;      // class of the key; of the new key in an update
  std::uint8_t old_key = 0;  // of an update
  std::uint64_t hash = 0;    // of the key, for the reader of a report
  std::uint64_t start = 0;
  std::uint64_t end = 0;

  Outcome outcome = Outcome::stored;  // insert, insert_unique, update; merge: stored or full
  unsigned answer = 0;                // erase, may_contain: 0 or 1; count; grow, shrink: 0 or 1
  Copies copies{};                    // snapshot: what it counts of each class; merge: what it adds
  std::uint64_t others = 0;           // snapshot: its size; merge: keys of no class that it adds
};

struct History {
  std::uint64_t seed = 0;
  std::string scene;  // the scene that it was played on
  std::vector<KeyClass> classes;
  Copies copies{};           // at the beginning
  std::uint64_t others = 0;  // keys of no class, at the beginning
  // Candidate slots of a key in one block; with guest lanes natives of the lower classes have one
  // less.
  unsigned choices = 0;
  std::uint64_t full_from = 0;
  std::vector<Operation> operations;
};

// Whether the history is linearizable. If not, `reason` becomes a report for people: the history in
// the order of starts, and how far the longest order came.
bool is_linearizable(const History& history, std::string* reason = nullptr);

std::string to_string(const History& history);

}  // namespace nestline::test

#endif  // NESTLINE_TESTS_FILTERS_CONCURRENT_HISTORY_H_
