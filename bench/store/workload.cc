#include "bench/store/workload.h"

#include <cstring>

namespace nestline::bench {
namespace {

// Numbers from here on are never put.
constexpr std::uint64_t kMissing = std::uint64_t{1} << 40;

// Steele, Lea and Flood's SplitMix64: a bijection, so no two keys are equal.
std::uint64_t mix(std::uint64_t number) {
  number += 0x9e3779b97f4a7c15;
  number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9;
  number = (number ^ (number >> 27)) * 0x94d049bb133111eb;
  return number ^ (number >> 31);
}

void write_key(char* to, std::uint64_t number) {
  const std::uint64_t words[] = {mix(number), mix(~number)};
  static_assert(sizeof words == kKeyBytes);
  std::memcpy(to, words, sizeof words);
}

std::uint64_t head_of(std::uint64_t number) { return mix(number ^ 0x5bd1e995); }

// Random bytes, of which values take a part each.
const std::vector<char>& noise() {
  static const std::vector<char> bytes = [] {
    std::vector<char> made(std::size_t{1} << 20);
    for (std::size_t i = 0; i < made.size(); i += sizeof(std::uint64_t)) {
      const std::uint64_t word = mix(~i);
      std::memcpy(made.data() + i, &word, sizeof word);
    }
    return made;
  }();
  return bytes;
}

}  // namespace

void Records::resize(std::size_t count) {
  key_bytes_.resize(count * kKeyBytes);
  value_bytes_.resize(count * kValueBytes);
  keys_.resize(count);
}

void Records::set(std::size_t i, std::uint64_t number) {
  char* key = key_bytes_.data() + i * kKeyBytes;
  write_key(key, number);
  keys_[i] = {key, kKeyBytes};
  char* value = value_bytes_.data() + i * kValueBytes;
  const std::uint64_t head = head_of(number);
  std::memcpy(value, &head, sizeof head);
  const std::size_t at = head % (noise().size() - kValueBytes);
  std::memcpy(value + sizeof head, noise().data() + at, kValueBytes - sizeof head);
}

void Records::make(const std::vector<std::uint64_t>& numbers) {
  resize(numbers.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) set(i, numbers[i]);
}

void Records::make(std::uint64_t first, std::size_t count, std::uint64_t step) {
  resize(count);
  for (std::size_t i = 0; i < count; ++i) set(i, first + i * step);
}

void Questions::draw(std::size_t count) {
  bytes_.resize(count * kKeyBytes);
  keys_.resize(count);
  heads_ = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t number = random_() % records_;
    char* key = bytes_.data() + i * kKeyBytes;
    write_key(key, present_ ? number : number + kMissing);
    keys_[i] = {key, kKeyBytes};
    if (present_) heads_ += head_of(number);
  }
}

}  // namespace nestline::bench
