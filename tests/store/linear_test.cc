// put, insert, get, contains, erase and write are linearizable: short histories of few threads and
// keys, played and checked by tests/support/histories.h, beside compaction, checkpoints and
// growth.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "nestline/store.h"
#include "tests/support/histories.h"
#include "tests/support/temp_folder.h"

namespace nestline::test { namespace {

constexpr std::size_t kKeys = 4;
constexpr std::size_t kSteps = 6;  // of a thread

enum class StoreCall : std::uint8_t { put, insert, write, erase, get, contains, get_many };
constexpr std::array kNames = {"put", "insert", "write", "erase", "get", "contains", "get_many"};

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

std::string to_string(const StoreOperation& one) {
  std::ostringstream out;
  out << kNames[static_cast<std::size_t>(one.call)] << "(k" << unsigned{one.key} << ", "
      << unsigned{one.value} << ") = " << unsigned{one.answer};
  return out.str();
}

// Values of some length, so that files fill up. Each byte is the number: no other's may be in it.
std::string value_of(std::uint8_t number) { return std::string(401, static_cast<char>(number)); }
std::uint8_t number_of(std::string_view value) {
  const auto number = static_cast<std::uint8_t>(value.empty() ? 0 : value.front());
  return value == value_of(number) ? number : 255;
}

class StoreStage {
 public:
  StoreStage(Store& store, std::uint64_t seed) : store_(store), seed_(seed) {
    for (std::size_t i = 0; i < kKeys; ++i) {
      keys_.push_back(std::to_string(seed) + " key " + std::to_string(i));
    }
  }

  void play(std::size_t thread) {
    std::mt19937_64 random(seed_ * kMaxThreads + thread);
    for (std::size_t i = 0; i < kSteps; ++i) {
      perturb(-1);
      StoreOperation operation;
      operation.call = static_cast<StoreCall>(random() % kNames.size());
      operation.key = static_cast<std::uint8_t>(random() % kKeys);
      if (operation.call < StoreCall::erase) {
        operation.value = static_cast<std::uint8_t>(thread * kSteps + i + 1);
      }
      recorder_.record(thread, operation, [&](StoreOperation& one) { call(one); });
    }
  }

  bool is_right(std::string* reason) const {
    return recorder_.is_linearizable<ValuesHash>(after, Values{}, "seed " + std::to_string(seed_),
                                                 reason);
  }

 private:
  void call(StoreOperation& operation) {
    const std::string& key = keys_[operation.key];
    const std::string text = value_of(operation.value);
    switch (operation.call) {
      case StoreCall::put:
        store_.put(key, text);
        break;
      case StoreCall::insert:
        operation.answer = store_.insert_unique(key, text) ? 1 : 0;
        break;
      case StoreCall::erase:
        operation.answer = store_.erase(key) ? 1 : 0;
        break;
      case StoreCall::write: {
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
  }

  Store& store_;
  std::uint64_t seed_;
  std::vector<std::string> keys_;
  Recorder<StoreOperation> recorder_;
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
  Crew crew;
  const Verdict verdict = play_stages(crew, 1536, true, [&](std::uint64_t seed, int) {
    return std::make_unique<StoreStage>(store, seed);
  });
  EXPECT_EQ(verdict.failed, 0u) << verdict.first_failure;
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
