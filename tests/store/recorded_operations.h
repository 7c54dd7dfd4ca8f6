// The operations of the writer that is recorded: the same for the writer and for the judge.
#ifndef NESTLINE_TESTS_STORE_RECORDED_OPERATIONS_H_
#define NESTLINE_TESTS_STORE_RECORDED_OPERATIONS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "nestline/store.h"
#include "tests/store/store_model.h"

namespace nestline::test {

struct RecordedOperation {
  enum class Kind : std::uint8_t { change, checkpoint, compact };
  Kind kind = Kind::change;
  Delta delta;  // several changes: a batch
};

inline std::vector<RecordedOperation> recorded_operations(std::uint64_t seed, std::size_t count) {
  std::mt19937_64 random(seed);
  std::vector<RecordedOperation> operations;
  const auto add_change = [&](Delta& delta) {
    const std::string key = "key " + std::to_string(random() % 30);
    if (random() % 5 == 0) {
      delta.emplace_back(key, std::nullopt);
    } else {
      const std::string start = std::to_string(operations.size()) + ' ';
      delta.emplace_back(key, start + std::string(random() % 4000, 'v'));
    }
  };
  while (operations.size() < count) {
    RecordedOperation operation;
    const std::uint64_t kind = random() % 40;
    if (kind == 0) {
      operation.kind = RecordedOperation::Kind::checkpoint;
    } else if (kind == 1) {
      operation.kind = RecordedOperation::Kind::compact;
    } else {
      for (std::uint64_t left = kind < 6 ? 4 : 1; left > 0; --left) add_change(operation.delta);
    }
    operations.push_back(std::move(operation));
  }
  return operations;
}

inline StoreOptions recorded_options() {
  return {.sync = Sync::each, .segment_bytes = 65536, .expected_records = 8, .compact_above = 0};
}

}  // namespace nestline::test

#endif  // NESTLINE_TESTS_STORE_RECORDED_OPERATIONS_H_
