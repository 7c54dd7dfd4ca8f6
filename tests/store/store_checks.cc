// See store_checks.h.
#include "tests/store/store_checks.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>

namespace nestline::test {

namespace fs = std::filesystem;
namespace {

std::string shown(std::string_view text) {
  return '"' + std::string(text.substr(0, 40)) + (text.size() > 40 ? "\"..." : "\"");
}

}  // namespace

std::vector<fs::path> logs_of(const fs::path& folder) {
  std::vector<fs::path> logs;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".log") logs.push_back(entry.path());
  }
  std::ranges::sort(logs);
  return logs;
}

std::string key_of(std::size_t number) {
  if (number == 0) return "";
  std::string key = "key " + std::to_string(number);
  if (number % 7 == 0) key.append(number % 300, 'k');
  if (number % 11 == 0) key.push_back('\0');
  return key;
}

Content content_of(const Store& store) {
  Content content;
  store.for_each([&](std::string_view key, std::string_view value) {
    const bool is_new = content.emplace(key, value).second;
    expect(is_new, [&] { return "for_each gives twice the key " + shown(key); });
  });
  return content;
}

std::string difference(const Content& found, const Content& expected) {
  for (const auto& [key, value] : expected) {
    const auto other = found.find(key);
    if (other == found.end()) return "the key " + shown(key) + " is missing";
    if (other->second != value) {
      return "the key " + shown(key) + " has the value " + shown(other->second) + " instead of " +
             shown(value);
    }
  }
  for (const auto& [key, value] : found) {
    if (!expected.contains(key)) return "the key " + shown(key) + " should not be there";
  }
  return "no difference";
}

void check_key(const Store& store, const std::string& key, const Content& expected) {
  const auto entry = expected.find(key);
  std::string value = "untouched";
  const bool found = store.get(key, value);
  expect(found == (entry != expected.end()),
         [&] { return "get " + std::string(found ? "finds " : "misses ") + shown(key); });
  const std::string& right = found ? entry->second : "untouched";
  expect(value == right, [&] {
    return "get of " + shown(key) + " gives " + shown(value) + ", not " + shown(right);
  });
  expect(store.contains(key) == found, [&] { return "contains is wrong about " + shown(key); });
}

void check_store(const Store& store, const Content& expected,
                 const std::vector<std::string>& keys) {
  const Content found = content_of(store);
  expect(found == expected, [&] { return "for_each: " + difference(found, expected); });
  for (const std::string& key : keys) check_key(store, key, expected);
  const std::vector<std::string_view> views(keys.begin(), keys.end());
  std::vector<int> answers(keys.size());
  const std::size_t count = store.get(std::span(views), [&](std::size_t i, std::string_view value) {
    ++answers.at(i);
    const auto entry = expected.find(keys[i]);
    expect(entry != expected.end() && entry->second == value,
           [&] { return "a batch of get is wrong about " + shown(keys[i]); });
  });
  std::size_t right = 0;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const int times = expected.contains(keys[i]) ? 1 : 0;
    right += static_cast<std::size_t>(times);
    expect(answers[i] == times, [&] {
      return "a batch of get answers " + std::to_string(answers[i]) + " times for " +
             shown(keys[i]);
    });
  }
  expect(count == right, [] { return "a batch of get counts wrong"; });
  const std::uint64_t records = store.size();
  expect(records == expected.size(), [&] {
    return "stats() counts " + std::to_string(records) + " records of " +
           std::to_string(expected.size());
  });
}

}  // namespace nestline::test
