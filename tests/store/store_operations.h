// A prepared store and the operations on it that can fail, for tests in which the disk refuses.
#ifndef NESTLINE_TESTS_STORE_STORE_OPERATIONS_H_
#define NESTLINE_TESTS_STORE_STORE_OPERATIONS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "nestline/store.h"
#include "tests/store/store_checks.h"
#include "tests/store/store_model.h"

namespace nestline::test {

struct StoreStep {
  std::string name;
  Delta delta;  // what it changes
  std::function<void(Store&)> run;
};

inline constexpr std::size_t kPreparedKeys = 24;

// Fills about four files of `segment_bytes`, half of which are dead.
inline Content prepare_store(Store& store, std::uint64_t segment_bytes) {
  Content content;
  const std::size_t bytes = segment_bytes * 4 / (2 * kPreparedKeys);
  for (unsigned round = 0; round < 2; ++round) {
    for (std::size_t key = 0; key < kPreparedKeys; ++key) {
      std::string value = std::to_string(round) + ' ' + std::to_string(key) + ' ';
      value.append(bytes, static_cast<char>('a' + key));
      store.put(key_of(key), value);
      content[key_of(key)] = std::move(value);
    }
  }
  store.erase(key_of(kPreparedKeys - 1));
  content.erase(key_of(kPreparedKeys - 1));
  return content;
}

inline std::vector<std::string> keys_of_steps() {
  std::vector<std::string> keys = {"new", "large", "b1", "b2"};
  for (std::size_t key = 0; key < kPreparedKeys; ++key) keys.push_back(key_of(key));
  return keys;
}

inline std::vector<StoreStep> store_steps(std::uint64_t segment_bytes) {
  const std::string large(segment_bytes * 3, 'l');
  const std::string half(segment_bytes / 2, 'h');
  std::vector<StoreStep> steps;
  steps.push_back({"put", {{"new", "value"}}, [](Store& s) { s.put("new", "value"); }});
  steps.push_back(
      {"put over", {{key_of(3), "value"}}, [](Store& s) { s.put(key_of(3), "value"); }});
  steps.push_back(
      {"insert", {{"new", "value"}}, [](Store& s) { (void)s.insert_unique("new", "value"); }});
  steps.push_back(
      {"erase", {{key_of(4), std::nullopt}}, [](Store& s) { (void)s.erase(key_of(4)); }});
  steps.push_back({"large put", {{"large", large}}, [large](Store& s) { s.put("large", large); }});
  const Delta writes = {{"b1", half}, {"b2", half}, {key_of(5), std::nullopt}};
  steps.push_back({"write", writes, [writes](Store& s) { s.write(batch_of(writes)); }});
  steps.push_back({"put and sync", {{"new", "value"}}, [](Store& s) {
                     s.put("new", "value");
                     s.sync();
                   }});
  steps.push_back({"checkpoint", {}, [](Store& s) { s.checkpoint(); }});
  steps.push_back({"compact", {}, [](Store& s) { s.compact(); }});
  return steps;
}

// Whether it throws what a store may: an error of the system that names its file, or a sentence.
template <typename Run, typename NamesFile>
bool throws_clearly(Run&& run, NamesFile&& names_file) {
  try {
    run();
    return false;
  } catch (const std::system_error& error) {
    const std::string what = error.what();
    expect(names_file(what), [&] { return "the error names no file: " + what; });
  } catch (const StoreError& error) {
    const std::string what = error.what();
    expect(what.size() > 20, [&] { return "not a sentence: " + what; });
  }
  return true;
}

// Whether the content is that before or after the step. Throws otherwise.
inline void expect_before_or_after(const Content& found, const Content& before,
                                   const Content& after) {
  if (found == before || found == after) return;
  throw std::runtime_error("neither what was before: " + difference(found, before) +
                           "; nor what should be after: " + difference(found, after));
}

}  // namespace nestline::test

#endif  // NESTLINE_TESTS_STORE_STORE_OPERATIONS_H_
