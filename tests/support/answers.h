// What a filter of any kind answers for a batch of keys, in every form of a lookup.
#ifndef NESTLINE_TESTS_SUPPORT_ANSWERS_H_
#define NESTLINE_TESTS_SUPPORT_ANSWERS_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace nestline::test {

struct Answers {
  std::vector<std::uint8_t> found;            // of each key
  std::vector<std::uint8_t> counts;           // of filters that count
  std::vector<std::uint8_t> remaining_ticks;  // of filters whose keys expire
  std::vector<std::uint32_t> selected;        // the positions of the keys that are found
  bool operator==(const Answers&) const = default;

  [[nodiscard]] std::size_t hits() const { return selected.size(); }
};

// Asks in every form that the filter has. All must agree, and write what belongs to the keys only.
// The bytes that are written begin `shift` bytes after an aligned place.
template <class AnyFilter, class KeyRange>
Answers answers_of(const AnyFilter& filter, const KeyRange& keys, std::size_t shift = 0) {
  const std::size_t length = std::size(keys);
  Answers answers;
  std::vector<std::uint8_t> room(shift + length + 1, 77);
  const auto bytes = std::span(room).subspan(shift, length);
  const std::size_t hits = filter.may_contain(keys, bytes);
  answers.found.assign(bytes.begin(), bytes.end());
  if constexpr (requires { filter.count(keys, bytes); }) {
    filter.count(keys, bytes);
    answers.counts.assign(bytes.begin(), bytes.end());
  }
  if constexpr (requires { filter.remaining_ticks(keys, bytes); }) {
    filter.remaining_ticks(keys, bytes);
    answers.remaining_ticks.assign(bytes.begin(), bytes.end());
  } else if constexpr (requires { filter.remaining_ticks(keys[0]); }) {
    for (const auto& key : keys)
      answers.remaining_ticks.push_back(static_cast<std::uint8_t>(filter.remaining_ticks(key)));
  }
  EXPECT_EQ(room.back(), 77);

  std::vector<std::uint64_t> bits((length + 63) / 64 + 1, ~std::uint64_t{0});
  EXPECT_EQ(filter.may_contain_bits(keys, std::span(bits).first(bits.size() - 1)), hits);
  EXPECT_EQ(bits.back(), ~std::uint64_t{0});
  std::vector<std::uint8_t> bits_as_bytes;
  for (std::size_t i = 0; i + 64 < bits.size() * 64; ++i) {
    bits_as_bytes.push_back(bits[i / 64] >> i % 64 & 1);
  }
  EXPECT_TRUE(std::all_of(bits_as_bytes.begin() + static_cast<std::ptrdiff_t>(length),
                          bits_as_bytes.end(), [](std::uint8_t bit) { return bit == 0; }));
  bits_as_bytes.resize(length);
  EXPECT_EQ(bits_as_bytes, answers.found);

  std::vector<std::uint32_t> chosen;  // in another order, some twice
  std::vector<std::uint32_t> found_of_chosen;
  for (std::size_t i = 0; i < length; ++i) {
    if (answers.found[i] != 0) answers.selected.push_back(static_cast<std::uint32_t>(i));
    chosen.push_back(static_cast<std::uint32_t>(i * 7919 % length / 2));
    if (answers.found[chosen.back()] != 0) found_of_chosen.push_back(chosen.back());
  }
  std::vector<std::uint32_t> positions(length, 99);
  EXPECT_EQ(filter.select(keys, positions), hits);
  EXPECT_TRUE(std::equal(answers.selected.begin(), answers.selected.end(), positions.begin()));
  EXPECT_EQ(answers.hits(), hits);
  const std::span<const std::uint32_t> selection = chosen;
  positions.resize(filter.select(keys, selection, positions));
  EXPECT_EQ(positions, found_of_chosen);
  chosen.resize(filter.select(keys, selection, chosen));  // in place
  EXPECT_EQ(chosen, found_of_chosen);
  return answers;
}

// The same, and each key by itself must have the same answers.
template <class AnyFilter, class KeyRange>
Answers answers_of_each(const AnyFilter& filter, const KeyRange& keys, std::size_t shift = 0) {
  Answers answers = answers_of(filter, keys, shift);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < answers.found.size(); ++i) {
    wrong += filter.may_contain(keys[i]) != (answers.found[i] != 0);
    wrong += filter.may_contain(filter.prepare(keys[i])) != (answers.found[i] != 0);
    if constexpr (requires { filter.count(keys[i]); }) {
      wrong += filter.count(keys[i]) != answers.counts[i];
    }
    if constexpr (requires { filter.remaining_ticks(keys[i]); }) {
      wrong += filter.remaining_ticks(keys[i]) != answers.remaining_ticks[i];
    }
  }
  EXPECT_EQ(wrong, 0u);
  return answers;
}

}  // namespace nestline::test

#endif  // NESTLINE_TESTS_SUPPORT_ANSWERS_H_
