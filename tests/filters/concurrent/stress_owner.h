// What the stress tests are made of: threads that own keys.
//
// Only its owner inserts and erases a key, so the owner knows every answer about it: a stored key
// is found, its count is at least the number of copies, erasing it is true. Other threads know that
// a key is stored while its stamp is odd and stays the same: the owner makes it odd after an insert
// has returned, and even before it erases a copy.
#ifndef NESTLINE_TESTS_FILTERS_CONCURRENT_STRESS_OWNER_H_
#define NESTLINE_TESTS_FILTERS_CONCURRENT_STRESS_OWNER_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <random>
#include <span>
#include <thread>
#include <vector>

#include "nestline/concurrent_filter.h"
#include "tests/support/keys_of_kinds.h"

namespace nestline::test {

using Clock = std::chrono::steady_clock;

// This share of the time for all stress tests together: NESTLINE_STRESS_SECONDS, or 3 s.
inline std::chrono::duration<double> stress_time(double share) {
  const char* const text = std::getenv("NESTLINE_STRESS_SECONDS");
  const double seconds = text == nullptr ? 3 : std::strtod(text, nullptr);
  return std::chrono::duration<double>(seconds * share);
}

// A thread's keys and what it does with them.
template <typename Key>
class Owner {
 public:
  static constexpr unsigned kMaxCopies = 3;

  Owner(ConcurrentFilter& filter, std::uint64_t number, std::size_t keys)
      : filter_(&filter),
        ring_(keys, number << 32),
        copies_(keys),
        stamps_(std::make_unique<std::atomic<std::uint32_t>[]>(keys)),
        random_(number) {}

  // Does one random operation on a key of its own, or looks up a key of another owner. `target`:
  // how many copies this thread should have in the filter.
  void step(std::uint64_t target, std::span<const std::unique_ptr<Owner>> all) {
    const std::uint64_t what = random_() % 16;
    if (what < 8) {
      stored_ < target ? put_in() : take_out();
    } else if (what == 8) {
      replace();
    } else if (what == 9) {
      stored_ < target ? put_in_batch() : take_out_batch();
    } else if (what < 12) {
      ask_own(any());
    } else {
      ask_other(*all[random_() % all.size()]);
    }
    ++steps_;
  }

  // Checks what the owner knows, by every kind of lookup. F: ConcurrentFilter, Filter.
  template <class F>
  void check_all(const F& filter) const {
    std::vector<std::uint8_t> found(keys().size());
    std::vector<std::uint8_t> counts(keys().size());
    (void)filter.may_contain(keys(), found);
    filter.count(keys(), counts);
    for (std::size_t i = 0; i < keys().size(); ++i) {
      if (copies_[i] == 0) continue;
      ASSERT_TRUE(filter.may_contain(keys()[i]));
      ASSERT_GE(filter.count(keys()[i]), copies_[i]);
      ASSERT_EQ(found[i], 1);
      ASSERT_GE(counts[i], copies_[i]);
    }
  }

  template <class F>
  void erase_all(F& filter) {
    for (std::size_t i = 0; i < keys().size(); ++i) {
      stamps_[i] = 0;
      for (; copies_[i] > 0; --copies_[i]) ASSERT_TRUE(filter.erase(keys()[i]));
    }
    stored_ = 0;
  }

  // The stamps of all keys; an odd one says that the key is stored.
  [[nodiscard]] std::vector<std::uint32_t> stamps() const {
    std::vector<std::uint32_t> stamps(keys().size());
    for (std::size_t i = 0; i < stamps.size(); ++i) stamps[i] = stamps_[i].load();
    return stamps;
  }
  // Keys that were stored during something that began after `before` was taken and has ended.
  template <class F>
  void check_stored_since(const std::vector<std::uint32_t>& before, const F& filter) const {
    const auto now = stamps();
    for (std::size_t i = 0; i < now.size(); ++i) {
      if (now[i] % 2 == 1 && now[i] == before[i]) {
        ASSERT_TRUE(filter.may_contain(keys()[i]));
      }
    }
  }

  [[nodiscard]] std::span<const Key> keys() const { return ring_.all(); }
  [[nodiscard]] std::uint64_t stored() const { return stored_; }
  [[nodiscard]] std::uint64_t steps() const { return steps_; }
  [[nodiscard]] std::uint64_t refused() const { return refused_; }
  void work_on(ConcurrentFilter& filter) { filter_ = &filter; }

 private:
  static constexpr std::size_t kBatch = 37;

  [[nodiscard]] std::size_t any() { return random_() % keys().size(); }

  void open(std::size_t i) {
    if (stamps_[i] % 2 == 0) ++stamps_[i];
  }
  void close(std::size_t i) {
    if (stamps_[i] % 2 == 1) ++stamps_[i];
  }
  void added(std::size_t i) {
    ++copies_[i];
    ++stored_;
    open(i);
  }
  void removed(std::size_t i) {
    --copies_[i];
    --stored_;
    if (copies_[i] > 0) open(i);
  }
  void check_failed(Outcome outcome) {
    ASSERT_TRUE(outcome == Outcome::full || outcome == Outcome::too_many_copies);
    ++refused_;
    // Some room for the others.
    if (random_() % 4 == 0) take_out();
  }

  void put_in() {
    const std::size_t i = any();
    if (copies_[i] == kMaxCopies) return;
    const bool unique = random_() % 3 == 0;
    const Outcome outcome =
        unique ? filter_->insert_unique(keys()[i]).outcome : filter_->insert(keys()[i]).outcome;
    if (unique && copies_[i] > 0) {
      ASSERT_EQ(outcome, Outcome::present);
    } else if (outcome == Outcome::stored) {
      added(i);
    } else if (!unique || outcome != Outcome::present) {  // present: another key looks the same
      check_failed(outcome);
    }
  }
  void take_out() {
    const std::size_t i = any();
    if (copies_[i] == 0) return;
    close(i);
    ASSERT_TRUE(filter_->erase(keys()[i]));
    removed(i);
  }
  void replace() {
    const std::size_t from = any();
    const std::size_t to = any();
    if (copies_[from] == 0 || copies_[to] == kMaxCopies) return;
    close(from);
    const Outcome outcome = filter_->update(keys()[from], keys()[to]).outcome;
    if (outcome == Outcome::stored) {
      added(to);
      removed(from);
    } else {
      open(from);
      ASSERT_TRUE(outcome == Outcome::full || outcome == Outcome::too_many_copies);
      ++refused_;
      ASSERT_GE(filter_->count(keys()[from]), copies_[from]);
    }
  }

  // A run of keys; each may get, or lose, a copy.
  template <typename May>
  std::vector<std::size_t> choose(May&& may) {
    std::vector<std::size_t> chosen;
    const std::size_t first = any();
    for (std::size_t i = first; i < keys().size() && chosen.size() < kBatch; ++i) {
      if (may(i)) chosen.push_back(i);
    }
    return chosen;
  }
  [[nodiscard]] std::vector<Key> batch_of(const std::vector<std::size_t>& chosen) const {
    std::vector<Key> batch;
    for (const std::size_t i : chosen) batch.push_back(keys()[i]);
    return batch;
  }
  void put_in_batch() {
    const auto chosen = choose([&](std::size_t i) { return copies_[i] < kMaxCopies; });
    const auto batch = batch_of(chosen);
    std::vector<Outcome> outcomes(batch.size());
    const std::size_t total = filter_->insert(batch, outcomes);
    ASSERT_EQ(total, static_cast<std::size_t>(
                         std::count(outcomes.begin(), outcomes.end(), Outcome::stored)));
    for (std::size_t j = 0; j < chosen.size(); ++j) {
      if (outcomes[j] == Outcome::stored) added(chosen[j]);
    }
    refused_ += batch.size() - total;
  }
  void take_out_batch() {
    const auto chosen = choose([&](std::size_t i) { return copies_[i] > 0; });
    const auto batch = batch_of(chosen);
    for (const std::size_t i : chosen) close(i);
    std::vector<std::uint8_t> done(batch.size(), 9);
    ASSERT_EQ(filter_->erase(batch, done), batch.size());
    for (const std::size_t i : chosen) removed(i);
  }

  void ask_own(std::size_t i) {
    if (random_() % 4 == 0) {
      check_all(*filter_);
      return;
    }
    const bool found = filter_->may_contain(keys()[i]);
    const unsigned count = filter_->count(keys()[i]);
    ASSERT_TRUE(found || copies_[i] == 0);
    ASSERT_GE(count, copies_[i]);
  }

  // Looks up one key, or all keys at once, of another owner.
  void ask_other(const Owner& other) {
    const std::uint64_t how = random_() % 8;
    if (how == 0) {
      const auto before = other.stamps();
      std::vector<std::uint8_t> found(before.size());
      std::vector<std::uint64_t> bits((before.size() + 63) / 64);
      std::vector<std::uint32_t> positions(before.size());
      (void)filter_->may_contain(other.keys(), found);
      (void)filter_->may_contain_bits(other.keys(), bits);
      positions.resize(filter_->select(other.keys(), positions));
      const auto after = other.stamps();
      for (std::size_t i = 0; i < before.size(); ++i) {
        if (before[i] % 2 == 0 || before[i] != after[i]) continue;
        ASSERT_EQ(found[i], 1);
        ASSERT_EQ(bits[i / 64] >> i % 64 & 1, 1u);
        ASSERT_TRUE(std::binary_search(positions.begin(), positions.end(), i));
      }
      return;
    }
    const std::size_t i = random_() % other.keys().size();
    const Key& key = other.keys()[i];
    const std::uint32_t before = other.stamps_[i];
    const bool found = how < 6 ? filter_->may_contain(key) : filter_->count(key) > 0;
    const bool stored = before % 2 == 1 && other.stamps_[i] == before;
    ASSERT_TRUE(found || !stored);
  }

  ConcurrentFilter* filter_;
  Keys<Key> ring_;
  std::vector<unsigned> copies_;
  std::unique_ptr<std::atomic<std::uint32_t>[]> stamps_;
  std::mt19937_64 random_;
  std::uint64_t stored_ = 0;
  std::uint64_t steps_ = 0;
  std::uint64_t refused_ = 0;
};

// Runs work(i) in each of the threads, and waits for all of them.
template <typename Work>
void run_threads(std::size_t count, Work&& work) {
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < count; ++i) threads.emplace_back([&work, i] { work(i); });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace nestline::test

#endif  // NESTLINE_TESTS_FILTERS_CONCURRENT_STRESS_OWNER_H_
