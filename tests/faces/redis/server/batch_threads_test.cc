// Batches that worker threads answer, on fake_server.h. Label threads: also under the thread
// sanitizer. NESTLINE_BATCH_SECONDS is how long the random commands run (3).
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "lib/faces/redis/server/commands.h"
#include "lib/faces/redis/server/workers.h"
#include "tests/faces/embed/value/hashes.h"
#include "tests/faces/redis/server/fake_server.h"

namespace nestline::redis { namespace {

std::string string_of(const Hashes& hashes) {
  std::string bytes;
  for (const std::uint64_t hash : hashes) {
    for (int i = 0; i < 8; ++i) bytes += static_cast<char>(hash >> 8 * i);
  }
  return bytes;
}

std::size_t ones(const std::string& bits, std::size_t count) {
  std::size_t sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += bits.at(i / 8) >> i % 8 & 1;
  return sum;
}

std::chrono::seconds duration() {
  const char* const seconds = std::getenv("NESTLINE_BATCH_SECONDS");
  return std::chrono::seconds(seconds == nullptr ? 3 : std::atoi(seconds));
}

FakeServer& server() {
  static FakeServer* const only =
      new FakeServer({"cf-threads", "3", "cf-thread-items", "64", "cf-max-expansions", "60000"});
  return *only;
}

// One client, whose commands are answered one by one.
class Batches : public ::testing::Test {
 protected:
  void SetUp() override { workers().want(3); }
  void TearDown() override {
    EXPECT_TRUE(server().serve_until([&] { return client_->waiting == 0; }));
    for (const char* key : {"a", "b", "c", "d"}) server().remove(key);
    EXPECT_TRUE(server().serve_until([] { return FakeServer::allocations() == 0; }));
  }

  std::string call(int (*command)(const Call&), const std::vector<std::string>& words,
                   int flags = 0) {
    const auto client = std::make_shared<Client>();
    server().run(client, command, words, flags);
    EXPECT_TRUE(server().serve_until([&] { return client->replies.size() == 1; }));
    return client->replies.empty() ? "" : client->replies[0];
  }
  void reserve_key(const std::string& key, const std::string& capacity) {
    ASSERT_EQ(call(reserve, {"CF.RESERVE", key, capacity, "SEED", "7"}), "OK");
  }
  void add_all(const std::string& key, const Hashes& hashes) {
    ASSERT_EQ(ones(call(add_hashes, {"CF.MADDH", key, string_of(hashes)}), hashes.size()),
              hashes.size());
  }
  void ask(const std::string& key, const std::string& hashes) {
    server().run(client_, exists_hashes, {"CF.MEXISTSH", key, hashes});
  }

  // Takes those that are answered out of running_, whose answers all have to be yes.
  void check(std::size_t count, std::uint64_t& asked) {
    std::erase_if(running_, [&](const std::shared_ptr<Client>& batch) {
      if (batch->replies.empty()) return false;
      EXPECT_EQ(ones(batch->replies[0], count), count);
      ++asked;
      return true;
    });
  }

  std::mt19937_64 random_{1};
  std::vector<std::shared_ptr<Client>> running_;
  std::shared_ptr<Client> client_ = std::make_shared<Client>();
};

// Keeps the thread that runs it until it is let go.
class Hindrance : public Work {
 public:
  void run(std::uint32_t) noexcept override {
    begun.store(true);
    begun.notify_all();
    ends.wait(false);
    is_done.store(true);
    is_done.notify_all();
  }
  std::atomic<bool> begun{false}, ends{false}, is_done{false};
};

// The first test, so that there is one thread only. It is held up, and there are more batches than
// the ring has room for: those that find none are answered at once.
TEST_F(Batches, NeverWaitForRoom) {
  reserve_key("a", "1000");
  const Hashes in = random_hashes(random_, 100);
  add_all("a", in);
  workers().want(1);
  Hindrance hindrance;
  while (!workers().offer(hindrance, 1)) ASSERT_EQ(workers().threads(), 1u);
  hindrance.begun.wait(false);
  constexpr int kBatches = 5000;
  for (int i = 0; i < kBatches; ++i) ask("a", string_of(in));
  EXPECT_GT(client_->waiting, 1000);
  EXPECT_LT(client_->waiting, kBatches);
  EXPECT_EQ(client_->replies.size() + static_cast<std::size_t>(client_->waiting), kBatches);
  server().remove("a");
  hindrance.ends.store(true);
  hindrance.ends.notify_all();
  hindrance.is_done.wait(false);
  ASSERT_TRUE(server().serve_until([&] { return client_->waiting == 0; }));
  ASSERT_EQ(client_->replies.size(), static_cast<std::size_t>(kBatches));
  for (const std::string& reply : client_->replies) ASSERT_EQ(ones(reply, 100), 100u);
}

TEST_F(Batches, AreAnsweredAsByTheServersThread) {
  reserve_key("a", "1000");
  const Hashes in = random_hashes(random_, 20000);
  add_all("a", in);
  add_all("a", Hashes(40, 5));  // more copies than slots: what a view leaves open
  for (const std::size_t count : {64u, 65u, 511u, 512u, 513u, 4096u, 4097u, 20001u, 500'000u}) {
    Hashes asked = random_hashes(random_, count);
    for (std::size_t i = 0; i < count; i += 3) asked[i] = in[random_() % in.size()];
    asked[count / 2] = 5;
    for (const auto command : {exists_hashes, count_hashes}) {
      const std::vector<std::string> words = {"CF", "a", string_of(asked)};
      const std::uint64_t before = counters.batches;
      const std::uint64_t open_before = counters.answers_left_open;
      const std::string by_workers = call(command, words);
      EXPECT_EQ(counters.answers_left_open, open_before + 1);
      EXPECT_EQ(counters.batches, before + 1);
      EXPECT_EQ(by_workers, call(command, words, kContextMulti));
      EXPECT_EQ(counters.batches, before + 1);
    }
  }
  std::vector<std::string> words = {"CF.MEXISTS", "a"};
  for (int i = 0; i < 3000; ++i) words.push_back("item" + std::to_string(i));
  ASSERT_EQ(call(insert, {"CF.INSERT", "a", "ITEMS", "item1", "item5"}), "11");
  const std::string by_workers = call(exists_many, words);
  EXPECT_EQ(by_workers, call(exists_many, words, kContextLua));
  EXPECT_EQ(by_workers.substr(1, 5), "10001");
}

TEST_F(Batches, StayWithTheServersThreadWhereItHasToReply) {
  reserve_key("a", "1000");
  const std::vector<std::string> words = {"CF.MEXISTSH", "a",
                                          string_of(random_hashes(random_, 99))};
  const std::uint64_t before = counters.batches;
  for (const int flags :
       {kContextMulti, kContextLua, kContextDenyBlocking, kContextReplicated, kContextLoading}) {
    server().run(client_, exists_hashes, words, flags);
    EXPECT_EQ(client_->waiting, 0);
  }
  workers().want(0);
  server().run(client_, exists_hashes, {"CF", "a", string_of(random_hashes(random_, 99))});
  EXPECT_EQ(client_->waiting, 0);
  EXPECT_EQ(client_->replies.size(), 6u);
  EXPECT_EQ(counters.batches, before);
}

TEST_F(Batches, HoldTheFilterOfAKeyThatIsRemoved) {
  const Hashes in = random_hashes(random_, 50000);
  const std::string hashes = string_of(in);
  for (int i = 0; i < 12; ++i) {
    reserve_key("a", "1000");
    add_all("a", in);
    client_->replies.clear();
    for (int k = 0; k < 4; ++k) ask("a", hashes);
    if (i % 3 == 1) client_->is_gone = true;
    server().remove("a");
    ASSERT_TRUE(server().serve_until([&] { return client_->waiting == 0; }));
    ASSERT_EQ(client_->replies.size(), client_->is_gone ? 0u : 4u);
    for (const std::string& reply : client_->replies) ASSERT_EQ(ones(reply, in.size()), in.size());
    client_->is_gone = false;
  }
}

// All that the server's thread may do while batches run, and what stays is always found.
TEST_F(Batches, FindWhatStaysWhateverElseIsDone) {
  const auto end = std::chrono::steady_clock::now() + duration();
  const Hashes stay = random_hashes(random_, 3000);
  const std::string stay_string = string_of(stay);
  reserve_key("a", "500");
  add_all("a", stay);
  Hashes come;
  std::uint64_t asked = 0;
  const auto run = [&](int (*command)(const Call&), const std::vector<std::string>& words) {
    server().run(client_, command, words);
  };
  while (std::chrono::steady_clock::now() < end || asked < 200) {
    const std::uint64_t what = random_() % 100;
    if (what < 30) {
      const Hashes more = random_hashes(random_, 1 + random_() % 60);
      run(add_hashes, {"CF.MADDH", "a", string_of(more)});
      come.insert(come.end(), more.begin(), more.end());
    } else if (what < 60 && !come.empty()) {
      std::shuffle(come.begin(), come.end(), random_);
      const std::size_t left = come.size() - std::min<std::size_t>(come.size(), 1 + random_() % 60);
      const Hashes some(come.begin() + static_cast<std::ptrdiff_t>(left), come.end());
      run(erase_hashes, {"CF.MDELH", "a", string_of(some)});
      come.resize(left);
    } else if (what < 61) {
      run(compact, {"CF.COMPACT", "a"});
    } else if (what < 62) {
      run(reserve, {"CF.RESERVE", "b", "500", "SEED", "7"});
      const Hashes more = random_hashes(random_, 400);
      run(add_hashes, {"CF.MADDH", "b", string_of(more)});
      run(merge, {"CF.MERGE", "a", "b"});
      come.insert(come.end(), more.begin(), more.end());
      server().remove("b");
    } else if (what < 64) {
      if (what == 62) server().rename("a", "c");
      if (what == 63) run(merge, {"CF.MERGE", "c", "a"});
      server().rename("c", "a");
    } else if (what < 65) {
      workers().want(static_cast<unsigned>(random_() % 4));
    } else if (what < 66) {
      const auto before = server().saved("a");
      server().serve();
      ASSERT_EQ(server().saved("a"), before);
    } else if (what < 90) {
      client_->replies.clear();
      running_.push_back(std::make_shared<Client>());
      server().run(running_.back(), exists_hashes, {"CF.MEXISTSH", "a", stay_string});
    } else {
      server().serve();
    }
    check(stay.size(), asked);
    while (running_.size() > 20) {
      server().serve();
      check(stay.size(), asked);
    }
    if (HasFailure()) break;
  }
  workers().want(3);
  ask("a", stay_string);  // starts threads for what the ring has still
  ASSERT_TRUE(server().serve_until([&] {
    check(stay.size(), asked);
    return running_.empty();
  }));
}

// The event loop makes calls until none is left: more than one at a time would keep others out.
TEST_F(Batches, TakeTurnsInTheServersThread) {
  const std::string strangers = string_of(random_hashes(random_, 20'000));
  const Hashes go = random_hashes(random_, 5000);
  reserve_key("a", "500");
  add_all("a", go);
  const std::string some = string_of({go.begin(), go.begin() + 500});
  const std::uint64_t before = counters.answers_left_open;
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  while (counters.answers_left_open < before + 20'000) {
    ASSERT_LT(std::chrono::steady_clock::now(), end);
    for (int batch = 0; batch < 12; ++batch) {
      ask("a", strangers);
      const auto other = std::make_shared<Client>();
      server().run(other, erase_hashes, {"CF.MDELH", "a", some});
      server().run(other, add_hashes, {"CF.MADDH", "a", some});
    }
    ASSERT_TRUE(server().serve_until([&] { return client_->waiting == 0; }));
    client_->replies.clear();
  }
  EXPECT_EQ(FakeServer::most_one_shots(), 1u);
}

}  // namespace
}  // namespace nestline::redis
