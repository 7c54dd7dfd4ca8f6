// Whether finished operations of several threads can be put into an order that explains them: the
// search that tests/filters/concurrent/history.h describes, for any model.
#ifndef NESTLINE_TESTS_SUPPORT_ORDER_SEARCH_H_
#define NESTLINE_TESTS_SUPPORT_ORDER_SEARCH_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <unordered_set>
#include <vector>

namespace nestline::test {

constexpr std::uint64_t mix(std::uint64_t word) {
  word = (word ^ (word >> 32)) * 0xd6e8feb86659fd93u;
  return word ^ (word >> 32);
}

inline std::uint64_t word_of(const std::array<std::uint8_t, 8>& bytes) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes.data(), sizeof word);
  return word;
}

// Operation: has `start` and `end`, tickets. State: the model's content, which can be compared and
// has a StateHash.
template <class Operation, class State, class StateHash>
class OrderSearch {
 public:
  static constexpr std::size_t kMaxOperations = 64;  // they fit a word of bits

  explicit OrderSearch(const std::vector<Operation>& operations) : operations_(operations) {}

  // apply(operation, state) gives the state after an operation, as a std::optional; nothing when
  // the operation cannot have given its answer.
  template <class Apply>
  bool run(const Apply& apply, const State& start) {
    return operations_.size() <= kMaxOperations && extend(apply, 0, start);
  }
  // The longest order that was found, as indices of operations.
  [[nodiscard]] const std::vector<std::size_t>& longest() const { return longest_; }

 private:
  struct Visited {
    std::uint64_t done;
    State state;
    bool operator==(const Visited&) const = default;
  };
  struct VisitedHash {
    std::size_t operator()(const Visited& visited) const {
      const std::uint64_t done = visited.done * 0x9e3779b97f4a7c15u;
      return static_cast<std::size_t>(mix(done ^ StateHash{}(visited.state)));
    }
  };

  template <class Apply>
  bool extend(const Apply& apply, std::uint64_t done, const State& state) {
    if (order_.size() > longest_.size()) longest_ = order_;
    if (order_.size() == operations_.size()) return true;
    if (!visited_.insert({done, state}).second) return false;
    std::uint64_t first_end = std::numeric_limits<std::uint64_t>::max();
    for (std::size_t i = 0; i < operations_.size(); ++i) {
      if ((done >> i & 1) == 0) first_end = std::min(first_end, operations_[i].end);
    }
    for (std::size_t i = 0; i < operations_.size(); ++i) {
      if ((done >> i & 1) != 0 || operations_[i].start > first_end) continue;
      const std::optional<State> next = apply(operations_[i], state);
      if (!next) continue;
      order_.push_back(i);
      if (extend(apply, done | std::uint64_t{1} << i, *next)) return true;
      order_.pop_back();
    }
    return false;
  }

  const std::vector<Operation>& operations_;
  std::vector<std::size_t> order_;
  std::vector<std::size_t> longest_;
  std::unordered_set<Visited, VisitedHash> visited_;
};

}  // namespace nestline::test

#endif  // NESTLINE_TESTS_SUPPORT_ORDER_SEARCH_H_
