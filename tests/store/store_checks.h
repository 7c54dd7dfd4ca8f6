// Compares a store with what it should hold, and throws what is wrong as a std::runtime_error.
#ifndef NESTLINE_TESTS_STORE_STORE_CHECKS_H_
#define NESTLINE_TESTS_STORE_STORE_CHECKS_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "nestline/store.h"
#include "tests/store/store_model.h"

namespace nestline::test {

// `what` makes the sentence.
template <typename What>
void expect(bool good, What&& what) {
  if (!good) throw std::runtime_error(what());
}

// Options of a store of small files, which compacts only when it has to.
inline StoreOptions options_of(std::uint64_t segment_bytes, Sync sync = Sync::interval,
                               std::uint64_t expected_records = 8) {
  return {.sync = sync,
          .segment_bytes = segment_bytes,
          .expected_records = expected_records,
          .compact_above = 0};
}

// What `run` throws, which must be a StoreError.
template <typename Run>
std::string refusal_of(Run&& run) {
  try {
    run();
  } catch (const StoreError& error) {
    return error.what();
  }
  return "(nothing was thrown)";
}

// Files of the log in a folder, the oldest first.
std::vector<std::filesystem::path> logs_of(const std::filesystem::path& folder);
std::string key_of(std::size_t number);  // a key of 0 to about 300 bytes, another for each number
Content content_of(const Store& store);  // by for_each, which must give each key once

// Where they differ, in a sentence.
std::string difference(const Content& found, const Content& expected);

// The key alone, by get and contains.
void check_key(const Store& store, const std::string& key, const Content& expected);

// Everything: for_each, each of the keys alone, all in a batch, and the number of records.
void check_store(const Store& store, const Content& expected, const std::vector<std::string>& keys);

}  // namespace nestline::test

#endif  // NESTLINE_TESTS_STORE_STORE_CHECKS_H_
