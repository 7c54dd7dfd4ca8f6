// The records that every database gets, and the questions: keys of 16 random bytes, values of 100
// that do not compress, made from a number without a table. The first bytes of a value follow from
// its number, so that answers can be checked by their sum.
#ifndef NESTLINE_BENCH_STORE_WORKLOAD_H_
#define NESTLINE_BENCH_STORE_WORKLOAD_H_

#include <cstddef>
#include <cstdint>
#include <random>
#include <string_view>
#include <vector>

namespace nestline::bench {

inline constexpr std::size_t kKeyBytes = 16;
inline constexpr std::size_t kValueBytes = 100;

// Records, or keys alone, in memory that is used again for the next ones.
class Records {
 public:
  // The records of these numbers, in this order.
  void make(const std::vector<std::uint64_t>& numbers);
  // The records first, first + step, ... : `count` of them.
  void make(std::uint64_t first, std::size_t count, std::uint64_t step = 1);

  [[nodiscard]] const std::vector<std::string_view>& keys() const { return keys_; }
  [[nodiscard]] std::string_view value(std::size_t i) const {
    return {value_bytes_.data() + i * kValueBytes, kValueBytes};
  }

 private:
  void resize(std::size_t count);
  void set(std::size_t i, std::uint64_t number);

  std::vector<char> key_bytes_;
  std::vector<char> value_bytes_;
  std::vector<std::string_view> keys_;
};

// Keys to ask for, drawn at random.
class Questions {
 public:
  Questions(std::uint64_t records, bool present, std::uint64_t seed)
      : records_(records), present_(present), random_(seed) {}
  void draw(std::size_t count);
  [[nodiscard]] const std::vector<std::string_view>& keys() const { return keys_; }
  // The sum of the first words of the values; Taken::heads grows by it if the answers are right.
  [[nodiscard]] std::uint64_t heads() const { return heads_; }

 private:
  std::uint64_t records_;
  bool present_;
  std::mt19937_64 random_;
  std::vector<char> bytes_;
  std::vector<std::string_view> keys_;
  std::uint64_t heads_ = 0;
};

}  // namespace nestline::bench

#endif  // NESTLINE_BENCH_STORE_WORKLOAD_H_
