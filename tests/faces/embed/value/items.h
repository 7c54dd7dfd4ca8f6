// Items of the tests, and what must hold of a value that has them.
#ifndef NESTLINE_TESTS_FACES_EMBED_VALUE_ITEMS_H_
#define NESTLINE_TESTS_FACES_EMBED_VALUE_ITEMS_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/faces/embed/value/value.h"

namespace nestline::redis {

inline std::string name(std::uint64_t i) { return "item:" + std::to_string(i); }
using Multiset = std::map<std::string, std::uint64_t>;  // the items with their copies

inline std::uint64_t total(const Multiset& model) {
  std::uint64_t copies = 0;
  for (const auto& [item, count] : model) copies += count;
  return copies;
}

// Every item of the model is found, by each of the three kinds of lookup.
inline void expect_all(const CuckooValue& value, const Multiset& model) {
  std::vector<std::string_view> items;
  for (const auto& [item, count] : model) {
    if (count != 0) items.push_back(item);
  }
  std::vector<std::uint8_t> found(items.size());
  value.exists(items, found);
  for (std::size_t i = 0; i < items.size(); ++i) {
    ASSERT_TRUE(found[i]) << items[i];
    ASSERT_TRUE(value.exists(items[i])) << items[i];
    ASSERT_GE(value.count(items[i]), model.at(std::string(items[i]))) << items[i];
  }
  ASSERT_EQ(value.items(), total(model));
}

// The pieces with the iterators that CF.LOADCHUNK takes beside them, of both kinds of values.
template <class Value>
std::vector<Chunk> chunks_of(const Value& value) {
  std::vector<Chunk> chunks;
  value.for_each_chunk([&](const Chunk& chunk) { chunks.push_back(chunk); });
  return chunks;
}

// The pieces of a value's image, the head first.
inline std::vector<std::vector<std::byte>> pieces_of(const CuckooValue& value) {
  std::vector<std::vector<std::byte>> pieces;
  for (Chunk& chunk : chunks_of(value)) pieces.push_back(std::move(chunk.bytes));
  return pieces;
}

// The value of these pieces, as an RDB file has them; null where one is refused.
template <class Reader>
auto read_by(const std::vector<std::vector<std::byte>>& pieces) {
  Reader reader;
  for (const auto& piece : pieces) {
    if (reader.add(piece)) continue;
    EXPECT_FALSE(reader.add(piece));
    EXPECT_EQ(reader.finish(), nullptr);
    return decltype(reader.finish())();
  }
  return reader.finish();
}

// The value as it is read from its image, which is the same.
inline std::unique_ptr<CuckooValue> reloaded(const CuckooValue& value) {
  auto loaded = read_by<ImageReader>(pieces_of(value));
  if (loaded == nullptr) throw std::runtime_error("the image of a value is refused");
  EXPECT_EQ(loaded->digest(), value.digest());
  return loaded;
}

}  // namespace nestline::redis

#endif  // NESTLINE_TESTS_FACES_EMBED_VALUE_ITEMS_H_
