// Tests the history checker itself, with histories written by hand, with a filter behind a mutex,
// which must pass, and with wrappers that are broken as a protocol can be broken, which must fail.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string>

#include "nestline/filter.h"
#include "tests/filters/concurrent/history.h"
#include "tests/filters/concurrent/history_runner.h"
#include "tests/filters/concurrent/history_scene.h"
#include "tests/filters/concurrent/history_wrappers.h"

namespace nestline::test { namespace {

// Two classes that are partners, and one alone.
History history_of(std::initializer_list<Operation> operations) {
  History history;
  history.classes = {{1, 8, 8}, {0, 8, 8}, {kNoPartner, 4, 4}};
  history.choices = 4;
  history.full_from = 10;
  history.operations = operations;
  return history;
}

Operation at(std::uint64_t start, std::uint64_t end, Kind kind, std::uint8_t key, unsigned answer) {
  Operation operation;
  operation.kind = kind;
  operation.key = key;
  operation.answer = answer;
  operation.start = start;
  operation.end = end;
  return operation;
}
Operation at(std::uint64_t start, std::uint64_t end, Kind kind, std::uint8_t key, Outcome outcome,
             std::uint8_t old_key = 0) {
  Operation operation = at(start, end, kind, key, 0u);
  operation.outcome = outcome;
  operation.old_key = old_key;
  return operation;
}

TEST(HistoryChecker, OrderOfCallsCounts) {
  const auto stored = Outcome::stored;
  EXPECT_TRUE(is_linearizable(history_of({})));
  EXPECT_TRUE(is_linearizable(
      history_of({at(1, 2, Kind::insert, 2, stored), at(3, 4, Kind::may_contain, 2, 1u)})));
  EXPECT_FALSE(is_linearizable(
      history_of({at(1, 2, Kind::insert, 2, stored), at(3, 4, Kind::may_contain, 2, 0u)})));
  // While the calls overlap, either answer is right; but a later lookup cannot go back.
  for (const unsigned answer : {0u, 1u}) {
    EXPECT_TRUE(is_linearizable(
        history_of({at(1, 4, Kind::insert, 2, stored), at(2, 3, Kind::may_contain, 2, answer)})));
  }
  EXPECT_FALSE(is_linearizable(
      history_of({at(1, 8, Kind::insert, 2, stored), at(2, 3, Kind::may_contain, 2, 1u),
                  at(4, 5, Kind::may_contain, 2, 0u)})));
  EXPECT_TRUE(is_linearizable(
      history_of({at(1, 8, Kind::insert, 2, stored), at(2, 5, Kind::may_contain, 2, 1u),
                  at(3, 4, Kind::may_contain, 2, 0u)})));
}

TEST(HistoryChecker, PartnersMayAnswerForEachOther) {
  for (const unsigned answer : {0u, 1u}) {
    EXPECT_TRUE(is_linearizable(history_of(
        {at(1, 2, Kind::insert, 0, Outcome::stored), at(3, 4, Kind::may_contain, 1, answer)})));
    EXPECT_TRUE(is_linearizable(history_of(
        {at(1, 2, Kind::insert, 0, Outcome::stored), at(3, 4, Kind::count, 1, answer)})));
  }
  EXPECT_FALSE(is_linearizable(
      history_of({at(1, 2, Kind::insert, 0, Outcome::stored), at(3, 4, Kind::count, 1, 2u)})));
  EXPECT_FALSE(is_linearizable(
      history_of({at(1, 2, Kind::insert, 0, Outcome::stored), at(3, 4, Kind::count, 0, 0u)})));
  // A match without an explanation.
  EXPECT_FALSE(is_linearizable(history_of(
      {at(1, 2, Kind::insert, 0, Outcome::stored), at(3, 4, Kind::may_contain, 2, 1u)})));
}

TEST(HistoryChecker, UniqueUpdateAndErase) {
  const auto stored = Outcome::stored;
  const auto present = Outcome::present;
  EXPECT_TRUE(is_linearizable(history_of(
      {at(1, 3, Kind::insert_unique, 2, stored), at(2, 4, Kind::insert_unique, 2, present)})));
  EXPECT_FALSE(is_linearizable(history_of(
      {at(1, 3, Kind::insert_unique, 2, stored), at(2, 4, Kind::insert_unique, 2, stored)})));
  EXPECT_FALSE(is_linearizable(history_of({at(1, 2, Kind::insert_unique, 2, present)})));
  EXPECT_FALSE(
      is_linearizable(history_of({at(1, 2, Kind::insert, 2, stored), at(3, 5, Kind::erase, 2, 1u),
                                  at(4, 6, Kind::erase, 2, 1u)})));
  EXPECT_FALSE(is_linearizable(
      history_of({at(1, 2, Kind::insert, 2, stored), at(3, 4, Kind::erase, 2, 0u)})));
  // While 2 replaces 0, there is never a time when both or neither are stored.
  const auto seen = [&](std::uint8_t first, std::uint8_t second, unsigned answer) {
    return history_of({at(1, 2, Kind::insert, 0, stored), at(3, 8, Kind::update, 2, stored, 0),
                       at(4, 5, Kind::count, first, answer),
                       at(6, 7, Kind::count, second, answer)});
  };
  EXPECT_TRUE(is_linearizable(seen(0, 2, 1)));
  EXPECT_FALSE(is_linearizable(seen(2, 0, 1)));
  EXPECT_TRUE(is_linearizable(seen(2, 0, 0)));
  EXPECT_FALSE(is_linearizable(seen(0, 2, 0)));
}

TEST(HistoryChecker, LimitsOfCopiesAndRoom) {
  History history = history_of({at(1, 2, Kind::insert, 2, Outcome::stored)});
  history.copies[2] = 4;
  EXPECT_FALSE(is_linearizable(history));
  history.operations[0].outcome = Outcome::full;
  EXPECT_FALSE(is_linearizable(history));
  history.operations[0].outcome = Outcome::too_many_copies;
  EXPECT_TRUE(is_linearizable(history));
  history.copies[2] = 1;
  EXPECT_FALSE(is_linearizable(history));
  history.operations[0].outcome = Outcome::full;
  EXPECT_FALSE(is_linearizable(history));
  history.others = 9;
  EXPECT_TRUE(is_linearizable(history));
}

TEST(HistoryChecker, ReportsSayWhy) {
  History history = history_of({at(1, 2, Kind::insert, 2, Outcome::stored),
                                at(5, 6, Kind::may_contain, 2, 0u), at(3, 4, Kind::clear, 0, 0u)});
  EXPECT_TRUE(is_linearizable(history));
  history.operations.pop_back();
  history.seed = 77;
  std::string reason;
  EXPECT_FALSE(is_linearizable(history, &reason));
  EXPECT_NE(reason.find("seed 77"), std::string::npos) << reason;
  EXPECT_NE(reason.find("left over:\n  thread 0  [5, 6]  may_contain(k2) = 0"), std::string::npos)
      << reason;
}

// Histories of all families and widths in turn until one fails, at most `most` of each.
template <class F>
Verdict play_all(std::uint64_t most) {
  constexpr std::uint64_t kTurn = 192;
  Crew crew;
  Verdict all;
  for (std::uint64_t at = 0; at < most; at += kTurn) {
    for (const int bits : kHistoryWidths) {
      for (const Family family : kFamilies) {
        const Verdict verdict =
            play_histories<F>(crew, family, bits, at, std::min(kTurn, most - at));
        all.played += verdict.played;
        all.failed += verdict.failed;
        all.first_failure = verdict.first_failure;
        if (all.failed != 0) return all;
      }
    }
  }
  return all;
}

TEST(HistoryRunner, AFilterBehindAMutexPasses) {
#if defined(__SANITIZE_THREAD__)
  constexpr std::uint64_t kHistories = 96;
#else
  constexpr std::uint64_t kHistories = 384;
#endif
  const Verdict verdict = play_all<MutexFilter>(kHistories);
  EXPECT_EQ(verdict.failed, 0u) << verdict.first_failure;
  EXPECT_EQ(verdict.played, kHistories * kHistoryWidths.size() * kFamilies.size());
}

template <class F>
class BrokenFilter : public testing::Test {};
using BrokenFilters = testing::Types<TornReader, LostUpdate, LooseUnique, EraseFirst, InsertFirst,
                                     DoubleErase, MovesInTheOpen, TornSnapshot>;
TYPED_TEST_SUITE(BrokenFilter, BrokenFilters);

TYPED_TEST(BrokenFilter, IsCaught) {
  const Verdict verdict = play_all<TypeParam>(5000);
  EXPECT_GT(verdict.failed, 0u) << "not caught in " << verdict.played << " histories";
  this->RecordProperty("histories", static_cast<int>(verdict.played));
}

}  // namespace
}  // namespace nestline::test
