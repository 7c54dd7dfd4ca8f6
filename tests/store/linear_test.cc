// put, insert, get, contains, erase and write are linearizable: short histories of few threads and
// keys, checked by tests/filters/concurrent/order_search.h, beside compaction, checkpoints and
// growth.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <barrier>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "nestline/store.h"
#include "tests/filters/concurrent/order_search.h"
#include "tests/support/temp_folder.h"

namespace nestline::test { namespace {

constexpr std::size_t kKeys = 4;
constexpr std::size_t kThreads = 3;
constexpr std::size_t kSteps = 6;  // of a thread

enum class StoreCall : std::uint8_t { put, insert, erase, write, get, contains, get_many };
constexpr std::array kNames = {"put", "insert", "erase", "write", "get", "contains", "get_many"};

struct StoreOperation {
  StoreCall call = StoreCall::put;
  std::uint8_t thread = 0;
  std::uint8_t key = 0;
  std::uint8_t value = 0;   // to be stored; 0: none
  std::uint8_t answer = 0;  // get: the value, 0: none. insert, erase, contains: 0 or 1
  std::uint64_t start = 0;
  std::uint64_t end = 0;
};

// The value of each key; 0: it is not there.
using Values = std::array<std::uint8_t, 8>;
struct ValuesHash {
  std::uint64_t operator()(const Values& values) const { return word_of(values); }
};

std::optional<Values> after(const StoreOperation& operation, Values values) {
  std::uint8_t& value = values[operation.key];
  switch (operation.call) {
    case StoreCall::put:
    case StoreCall::write:
      value = operation.value;
      return values;
    case StoreCall::insert:
      if ((operation.answer != 0) != (value == 0)) return std::nullopt;
      if (value == 0) value = operation.value;
      return values;
    case StoreCall::erase:
      if ((operation.answer != 0) != (value != 0)) return std::nullopt;
      value = 0;
      return values;
    case StoreCall::contains:
      return (operation.answer != 0) == (value != 0) ? std::optional(values) : std::nullopt;
    case StoreCall::get:
    case StoreCall::get_many:
      return operation.answer == value ? std::optional(values) : std::nullopt;
  }
  return std::nullopt;
}

std::string to_string(const std::vector<StoreOperation>& operations) {
  std::ostringstream out;
  for (const StoreOperation& operation : operations) {
    out << "thread " << unsigned{operation.thread} << " [" << operation.start << ", "
        << operation.end << "] " << kNames[static_cast<std::size_t>(operation.call)] << "(k"
        << unsigned{operation.key} << ", " << unsigned{operation.value}
        << ") = " << unsigned{operation.answer} << "\n";
  }
  return out.str();
}

// Values of some length, so that files fill up. Each byte is the number: no other's may be in it.
std::string value_of(std::uint8_t number) { return std::string(401, static_cast<char>(number)); }
std::uint8_t number_of(std::string_view value) {
  const auto number = static_cast<std::uint8_t>(value.empty() ? 0 : value.front());
  return value == value_of(number) ? number : 255;
}

class Threads {
 public:
  explicit Threads(Store& store) : store_(store) {}

  std::vector<StoreOperation> play(std::uint64_t seed) {
    keys_.clear();
    for (std::size_t i = 0; i < kKeys; ++i) {
      keys_.push_back(std::to_string(seed) + " key " + std::to_string(i));
    }
    std::array<std::vector<StoreOperation>, kThreads> parts;
    std::barrier together(static_cast<std::ptrdiff_t>(kThreads));
    {
      std::vector<std::jthread> threads;
      for (std::size_t t = 0; t < kThreads; ++t) {
        threads.emplace_back([&, t] {
          std::mt19937_64 random(seed * kThreads + t);
          together.arrive_and_wait();
          for (std::size_t i = 0; i < kSteps; ++i) {
            parts[t].push_back(step(random, static_cast<std::uint8_t>(t * kSteps + i + 1)));
            parts[t].back().thread = static_cast<std::uint8_t>(t);
          }
        });
      }
    }
    std::vector<StoreOperation> all;
    for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
    return all;
  }

 private:
  std::uint64_t ticket() { return tickets_.fetch_add(1); }

  StoreOperation step(std::mt19937_64& random, std::uint8_t value) {
    StoreOperation operation;
    operation.call = static_cast<StoreCall>(random() % kNames.size());
    operation.key = static_cast<std::uint8_t>(random() % kKeys);
    const std::string& key = keys_[operation.key];
    const std::string text = value_of(value);
    operation.start = ticket();
    switch (operation.call) {
      case StoreCall::put:
        operation.value = value;
        store_.put(key, text);
        break;
      case StoreCall::insert:
        operation.value = value;
        operation.answer = store_.insert_unique(key, text) ? 1 : 0;
        break;
      case StoreCall::erase:
        operation.answer = store_.erase(key) ? 1 : 0;
        break;
      case StoreCall::write: {
        operation.value = value;
        Store::Batch batch;
        batch.put(key, text);
        store_.write(batch);
        break;
      }
      case StoreCall::contains:
        operation.answer = store_.contains(key) ? 1 : 0;
        break;
      case StoreCall::get:
        store_.get(key, [&](std::string_view found) { operation.answer = number_of(found); });
        break;
      case StoreCall::get_many: {
        const std::array<std::string_view, 1> one = {key};
        store_.get(
            std::span<const std::string_view>(one),
            [&](std::size_t, std::string_view found) { operation.answer = number_of(found); });
        break;
      }
    }
    operation.end = ticket();
    return operation;
  }

  Store& store_;
  std::vector<std::string> keys_;
  std::atomic<std::uint64_t> tickets_{1};
};

bool is_linearizable(const std::vector<StoreOperation>& operations) {
  OrderSearch<StoreOperation, Values, ValuesHash> search(operations);
  return search.run(after, Values{});
}

TEST(StoreLinear, HistoriesOfThreadsHaveAnOrder) {
  TempFolder folder;
  const StoreOptions options = {
      .sync = Sync::never, .segment_bytes = 65536, .expected_records = 8, .compact_above = 0};
  Store store = Store::open(folder.path(), options);
  std::atomic<bool> done{false};
  // Moves records, and removes files that readers may be in.
  std::jthread mover([&] {
    for (unsigned i = 0; !done.load(); ++i) {
      store.compact();
      if (i % 8 == 0) store.checkpoint();
    }
  });
  Threads threads(store);
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    const auto operations = threads.play(seed);
    EXPECT_TRUE(is_linearizable(operations)) << "seed " << seed << "\n" << to_string(operations);
    if (testing::Test::HasFailure()) break;
  }
  done.store(true);
}

// The checker must be able to fail.
TEST(StoreLinear, TheCheckerFindsWrongAnswers) {
  const StoreOperation put = {.call = StoreCall::put, .value = 1, .start = 1, .end = 4};
  StoreOperation get = {.call = StoreCall::get, .start = 2, .end = 3};
  EXPECT_TRUE(is_linearizable({put, get}));  // not there yet
  get.answer = 1;
  EXPECT_TRUE(is_linearizable({put, get}));
  get.answer = 2;
  EXPECT_FALSE(is_linearizable({put, get}));
  get.answer = 0;
  get.start = 5;
  get.end = 6;
  EXPECT_FALSE(is_linearizable({put, get}));
}

}  // namespace
}  // namespace nestline::test
