// Values with a window: lives, images in both ways and in parts, hostile and frozen bytes.
#include "lib/faces/embed/value/windowed_value.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <memory_resource>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nestline/keys.h"
#include "tests/faces/embed/value/items.h"

namespace nestline::redis { namespace {

using Piece8 = std::vector<std::byte>;

std::unique_ptr<WindowedValue> windowed(std::uint64_t capacity, double error = 0,
                                        std::uint64_t window = 600) {
  return WindowedValue::create({capacity, error, 42, window}, 1'000'000);
}

// What an RDB file has.
std::vector<Piece8> saved(const WindowedValue& value) {
  std::vector<Piece8> pieces = {value.dump_chunk(0).bytes};
  for (std::uint64_t i = 0; i < value.pieces(); ++i) pieces.push_back(value.piece(i));
  return pieces;
}

std::unique_ptr<WindowedValue> read_windowed(const std::vector<Piece8>& pieces) {
  return read_by<WindowedReader>(pieces);
}

// As CF.SCANDUMP and CF.LOADCHUNK do.
std::unique_ptr<WindowedValue> load_windowed(const WindowedValue& from) {
  const std::vector<Chunk> chunks = chunks_of(from);
  auto value = WindowedValue::from_head(chunks[0].bytes);
  for (std::size_t i = 1; i < chunks.size(); ++i) {
    EXPECT_FALSE(value->is_complete());
    EXPECT_TRUE(value->load_chunk(chunks[i].next, chunks[i].bytes));
  }
  return value;
}

// Changes of every kind, a function of the seed.
void play(WindowedValue& value, std::uint64_t seed, int steps) {
  std::mt19937_64 random(seed);
  for (int i = 0; i < steps; ++i) {
    switch (random() % 10) {
      case 0:
        value.sweep(random() % 200);
        break;
      case 1:
        if (random() % 4 == 0) value.advance(value.tick() + 1, 1'000'000 + value.tick());
        break;
      default:
        for (int k = 0; k < 30; ++k) {
          value.insert(name(random() % 100'000), static_cast<unsigned>(1 + random() % 14));
        }
    }
  }
}

TEST(WindowedValue, ItemsLiveForTheWindowAndNoLongerThanATickMore) {
  const auto value = windowed(20'000, 0.001);
  std::map<std::string, std::uint64_t> last;  // the last tick of each item
  std::mt19937_64 random(1);
  for (int tick = 0; tick < 60; ++tick) {
    for (int i = 0; i < 500; ++i) {
      const std::string item = name(random() % 3000);
      const auto life = static_cast<unsigned>(1 + random() % 14);
      EXPECT_NE(value->insert(item, life), Outcome::full);
      std::uint64_t& end = last[item];
      end = std::max(end, value->tick() + life);
    }
    value->sweep(random() % 100);
    ASSERT_TRUE(value->advance(value->tick() + 1, 0));
    EXPECT_FALSE(value->advance(value->tick(), 0));
    int dead_found = 0, dead = 0;
    for (const auto& [item, end] : last) {
      if (end >= value->tick()) {
        EXPECT_TRUE(value->exists(item)) << item;
      } else {
        ++dead;
        dead_found += value->exists(item);
      }
    }
    EXPECT_LE(dead_found, 3 + dead / 200);
  }
  value->clear();
  EXPECT_EQ(value->filter().size(), 0U);
  EXPECT_EQ(value->tick(), 60U);
}

// After how many ticks the first of the items, with their ends, is not alive any more; 0: none is.
std::uint64_t first_death(const std::map<std::string, std::uint64_t>& ends, std::uint64_t tick) {
  std::uint64_t first = 0;
  for (const auto& [item, end] : ends) {
    if (end < tick) continue;
    if (first == 0 || end + 1 - tick < first) first = end + 1 - tick;
  }
  return first;
}

TEST(WindowedValue, TellsWhenTheNextItemMayDie) {
  const auto value = windowed(1000, 0.001);
  EXPECT_EQ(value->next_death(), 0U);
  std::map<std::string, std::uint64_t> ends;
  std::mt19937_64 random(5);
  for (int step = 0; step < 1000; ++step) {
    if (random() % 3 == 0) {
      const std::string item = name(random());
      const auto life = static_cast<unsigned>(1 + random() % 14);
      ASSERT_EQ(value->insert(item, life), Outcome::stored);
      ends[item] = value->tick() + life;
    } else {
      ASSERT_TRUE(value->advance(value->tick() + 1 + (random() % 8 == 0 ? random() % 20 : 0), 0));
    }
    ASSERT_EQ(value->next_death(), first_death(ends, value->tick())) << step;
    if (step % 8 != 0) continue;
    ASSERT_EQ(value->copy()->next_death(), value->next_death());
    // Others only have the slots, which tell no more than that something is in them.
    const auto loaded = read_windowed(saved(*value));
    ASSERT_EQ(loaded->next_death(), value->filter().size() == 0 ? 0U : 1U);
    ASSERT_EQ(load_windowed(*value)->next_death(), loaded->next_death());
  }
  // A renewal only puts a death off.
  value->clear();
  EXPECT_EQ(value->next_death(), 0U);
  value->insert("x", 3);
  value->insert("x", 9);
  EXPECT_EQ(value->next_death(), 4U);
  std::array<Outcome, 1> outcome;
  value->insert(std::array<std::uint64_t, 1>{7}, outcome);
  EXPECT_TRUE(value->advance(value->tick() + 4, 0));
  EXPECT_EQ(value->next_death(), 6U);
  EXPECT_TRUE(value->advance(value->tick() + 6, 0));
  EXPECT_EQ(value->next_death(), 5U);
  EXPECT_TRUE(value->advance(value->tick() + 5, 0));
  EXPECT_EQ(value->next_death(), 0U);
}

TEST(WindowedValue, SecondsAreRoundedUpToTicks) {
  EXPECT_EQ(windowed(10, 0, 14)->tick_length(), 1'000'000);
  EXPECT_EQ(windowed(10, 0, 1)->tick_length(), 71'429);
  for (const std::uint64_t window :
       {1ull, 2ull, 13ull, 14ull, 15ull, 600ull, 86'400ull, 0xffff'ffffull}) {
    const auto value = windowed(10, 0, window);
    EXPECT_GE(static_cast<std::uint64_t>(value->tick_length()) * 14, window * 1'000'000);
    EXPECT_EQ(value->life_of(window), 14U);
    for (const std::uint64_t seconds : {std::uint64_t{1}, (window + 1) / 2, window}) {
      const std::uint64_t life = value->life_of(seconds);
      EXPECT_GE(life * window, seconds * 14) << window << ' ' << seconds;
      EXPECT_LT((life - 1) * window, seconds * 14) << window << ' ' << seconds;
    }
  }
  EXPECT_THROW(windowed(10, 0, 0), std::invalid_argument);
  EXPECT_THROW(windowed(10, 0, std::uint64_t{1} << 32), std::invalid_argument);
  EXPECT_THROW(windowed(0), std::invalid_argument);
  EXPECT_THROW(windowed(10, 1e-9), std::invalid_argument);
}

TEST(WindowedValue, AnItemIsTheSameWhicheverWayItComes) {
  std::vector<std::string> names;
  for (std::uint64_t i = 0; i < 700; ++i) names.push_back(name(i % 500));
  const std::vector<std::string_view> items(names.begin(), names.end());
  std::vector<std::uint64_t> hashes;
  for (const std::string& each : names) hashes.push_back(hash_key(each, 42).value);
  const auto one = windowed(1000), many = windowed(1000), hashed = windowed(1000);
  std::vector<Outcome> outcomes(items.size()), of_hashes(items.size());
  many->insert(items, outcomes);
  hashed->insert(hashes, of_hashes);
  EXPECT_EQ(outcomes, of_hashes);
  for (std::size_t i = 0; i < items.size(); ++i) EXPECT_EQ(one->insert(items[i]), outcomes[i]) << i;
  EXPECT_EQ(many->digest(), hashed->digest());
  std::vector<std::uint8_t> found(items.size());
  one->exists(hashes, found);
  EXPECT_EQ(std::count(found.begin(), found.end(), 1), 700);
  hashed->exists(items, found);
  EXPECT_EQ(std::count(found.begin(), found.end(), 1), 700);
  outcomes.pop_back();
  found.pop_back();
  EXPECT_THROW(many->insert(items, outcomes), std::invalid_argument);
  EXPECT_THROW(many->insert(hashes, outcomes), std::invalid_argument);
  EXPECT_THROW(many->exists(items, found), std::invalid_argument);
  EXPECT_THROW(many->exists(hashes, found), std::invalid_argument);
}

TEST(WindowedValue, RoundTripsInBothWaysAtEveryPoint) {
  for (const double error : {0.02, 0.001}) {
    for (const std::uint64_t capacity : {10ull, 30'000ull, 1'500'000ull}) {
      const auto value = windowed(capacity, error);
      ASSERT_EQ(value->pieces() > 2, capacity > 1'000'000);
      for (int round = 0; round < 6; ++round) {
        play(*value, static_cast<std::uint64_t>(round), 60);
        auto by_pieces = read_windowed(saved(*value));
        ASSERT_NE(by_pieces, nullptr);
        auto by_chunks = load_windowed(*value);
        auto copy = value->copy();
        for (const auto* each : {&by_pieces, &by_chunks, &copy}) {
          ASSERT_TRUE((*each)->is_complete());
          ASSERT_EQ((*each)->digest(), value->digest());
          EXPECT_EQ((*each)->tick(), value->tick());
          EXPECT_EQ((*each)->time(), value->time());
          EXPECT_EQ((*each)->window(), value->window());
          EXPECT_EQ((*each)->unswept(), value->unswept());
          EXPECT_EQ((*each)->filter().size(), value->filter().size());
          play(**each, 99, 40);  // they behave alike afterwards
        }
        EXPECT_EQ(by_pieces->digest(), by_chunks->digest());
        EXPECT_EQ(by_pieces->digest(), copy->digest());
        const auto twin = read_windowed(saved(*value));
        play(*twin, 99, 40);
        EXPECT_EQ(by_pieces->digest(), twin->digest());
      }
    }
  }
}

TEST(WindowedValue, APartlyLoadedValueIsSavedAndGoesOn) {
  const auto value = windowed(2'000'000);
  for (std::uint64_t i = 0; i < 100'000; ++i) value->insert(name(i));
  const std::vector<Chunk> chunks = chunks_of(*value);
  ASSERT_GE(chunks.size(), 4U);
  auto part = WindowedValue::from_head(chunks[0].bytes);
  EXPECT_FALSE(part->load_chunk(chunks[2].next, chunks[2].bytes));  // out of order
  EXPECT_FALSE(part->load_chunk(chunks[1].next + 1, chunks[1].bytes));
  for (std::size_t i = 1; i < chunks.size(); ++i) {
    ASSERT_FALSE(part->is_complete());
    const std::uint64_t digest = part->digest();
    // Saved, copied, dumped and loaded again it is the same.
    const auto read = read_windowed(saved(*part));
    ASSERT_NE(read, nullptr);
    EXPECT_FALSE(read->is_complete());
    EXPECT_EQ(read->digest(), digest);
    EXPECT_EQ(part->copy()->digest(), digest);
    const auto again = load_windowed(*part);
    EXPECT_FALSE(again->is_complete());
    EXPECT_EQ(again->digest(), digest);
    part = i % 2 == 0 ? read_windowed(saved(*part)) : part->copy();
    // A client that had no reply sends the piece again.
    for (int times = 0; times < 2; ++times) {
      EXPECT_TRUE(part->load_chunk(chunks[i].next, chunks[i].bytes));
    }
    if (i > 1) {
      EXPECT_TRUE(part->load_chunk(chunks[1].next, chunks[1].bytes));
    }
  }
  ASSERT_TRUE(part->is_complete());
  EXPECT_EQ(part->digest(), value->digest());
  EXPECT_FALSE(part->load_chunk(chunks.back().next + 1, chunks.back().bytes));
  part->insert("one more item");
  bool is_refused = false;
  for (std::size_t i = 1; i < chunks.size(); ++i) {
    is_refused |= !part->load_chunk(chunks[i].next, chunks[i].bytes);
  }
  EXPECT_TRUE(is_refused);  // the piece with the new item
}

void seal_windowed(Piece8& bytes) {
  const std::size_t covered = bytes.size() - 8;
  put(bytes, covered, checksum(std::span(bytes).first(covered)));
}

TEST(WindowedValue, EveryWrongByteIsRefused) {
  const auto value = windowed(100);
  play(*value, 3, 5);
  const std::vector<Piece8> good = saved(*value);
  ASSERT_NE(read_windowed(good), nullptr);
  std::vector<Piece8> bad = good;
  for (std::size_t i = 0; i < bad.size(); ++i) {
    for (std::size_t at = 0; at < bad[i].size(); ++at) {
      bad[i][at] ^= std::byte{1};
      EXPECT_EQ(read_windowed(bad), nullptr) << i << ' ' << at;
      if (i == 0) {
        EXPECT_THROW((void)WindowedValue::from_head(bad[0]), std::invalid_argument) << at;
      } else {
        const auto made = WindowedValue::from_head(good[0]);
        const std::uint64_t digest = made->digest();
        EXPECT_FALSE(made->load_chunk(2, bad[1])) << at;
        EXPECT_EQ(made->digest(), digest);
      }
      bad[i][at] ^= std::byte{1};
    }
    for (const std::size_t size : {std::size_t{0}, std::size_t{7}, bad[i].size() - 1}) {
      std::vector<Piece8> cut = good;
      cut[i].resize(size);
      EXPECT_EQ(read_windowed(cut), nullptr);
    }
  }
  EXPECT_EQ(read_windowed({good[0]}), nullptr);
  EXPECT_EQ(read_windowed({good[0], good[1], good[1]}), nullptr);
  EXPECT_EQ(read_windowed({good[1]}), nullptr);
}

TEST(WindowedValue, FieldsThatNoValueHasAreRefused) {
  const auto value = windowed(100);
  for (std::uint64_t i = 0; i < 50; ++i) value->insert(name(i));
  value->advance(20, 5);
  for (std::uint64_t i = 0; i < 50; ++i) value->insert(name(i));
  const Piece8 good = value->dump_chunk(0).bytes;
  const auto refuses = [&](std::size_t at, auto number) {
    Piece8 head = good;
    put(head, at, number);
    seal_windowed(head);
    return !WindowedValue::decode_head(head);
  };
  const auto big = [](unsigned bits) { return std::uint64_t{1} << bits; };
  EXPECT_FALSE(refuses(8, std::uint32_t{1}));  // as it is
  EXPECT_TRUE(refuses(8, std::uint32_t{2}));
  for (const int bits : {0, 4, 9, 16, 40, 44}) {
    EXPECT_TRUE(refuses(12, static_cast<std::uint8_t>(bits))) << bits;
  }
  for (const int life : {0, 13, 15}) {
    EXPECT_TRUE(refuses(13, static_cast<std::uint8_t>(life))) << life;
  }
  EXPECT_TRUE(refuses(14, std::uint16_t{1}));
  for (const double error : {-0.1, 1.0, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_TRUE(refuses(24, std::bit_cast<std::uint64_t>(error)));
  }
  // In 56: before the last exchange, and long after it.
  for (const auto& [at, number] : {std::pair<std::size_t, std::uint64_t>{16, 0},
                                   {16, big(40)},
                                   {40, 0},
                                   {40, big(50)},
                                   {48, 0},
                                   {48, kMaxWindow + 1},
                                   {56, 19},
                                   {56, 36},
                                   {56, kMaxTick + 1},
                                   {64, kMaxTime + 1},
                                   {80, value->blocks() + 1},
                                   {96, value->filter().slots() + 1},
                                   {104, 2}}) {
    EXPECT_TRUE(refuses(at, number)) << at << ' ' << number;
  }
  EXPECT_TRUE(refuses(88, std::uint32_t{64}));
  EXPECT_TRUE(refuses(92, std::uint32_t{1}));

  // Another number of items, or a tick that makes lives too long, shows with the blocks.
  for (const auto& [at, number] : {std::pair<std::size_t, std::uint64_t>{96, 49}, {56, 19}}) {
    std::vector<Piece8> pieces = saved(*value);
    put(pieces[0], at, number);
    if (at == 56) put(pieces[0], 72, number);
    seal_windowed(pieces[0]);
    ASSERT_TRUE(WindowedValue::decode_head(pieces[0])) << at;
    EXPECT_EQ(read_windowed(pieces), nullptr) << at;
    const auto made = WindowedValue::from_head(pieces[0]);
    const std::uint64_t digest = made->digest();
    EXPECT_FALSE(made->load_chunk(2, pieces[1])) << at;
    EXPECT_EQ(made->digest(), digest);
    EXPECT_EQ(made->filter().size(), 0U);
  }
}

// Counts what is allocated.
class CountingMemory : public std::pmr::memory_resource {
 public:
  std::size_t bytes = 0;

 private:
  void* do_allocate(std::size_t size, std::size_t alignment) override {
    bytes += size;
    return std::pmr::new_delete_resource()->allocate(size, alignment);
  }
  void do_deallocate(void* memory, std::size_t size, std::size_t alignment) override {
    std::pmr::new_delete_resource()->deallocate(memory, size, alignment);
  }
  [[nodiscard]] bool do_is_equal(const memory_resource& other) const noexcept override {
    return this == &other;
  }
};

TEST(WindowedValue, ClaimsTakeNoMemory) {
  std::vector<Piece8> pieces = saved(*windowed(100));
  const std::uint64_t blocks = std::uint64_t{1} << 32;  // 256 GiB
  put(pieces[0], 40, blocks);
  put(pieces[0], 80, blocks);
  put(pieces[0], 104, std::uint64_t{1});
  seal_windowed(pieces[0]);
  const auto head = WindowedValue::decode_head(pieces[0]);
  ASSERT_TRUE(head);
  CountingMemory memory;
  WindowedReader reader(&memory);
  ASSERT_TRUE(reader.add(pieces[0]));
  const std::vector<std::byte> content(kPieceBytes);
  for (std::uint64_t i = 0; i < 4; ++i) {
    const PiecePlace place{AreaKind::blocks, 0, i * kPieceBytes, head->shape.stored_bytes()};
    ASSERT_TRUE(reader.add(encode_piece(place, content)));
  }
  EXPECT_EQ(reader.finish(), nullptr);
  EXPECT_EQ(memory.bytes, 0U);
}

// The format is frozen: see docs/FORMAT.md.
TEST(WindowedValue, BytesStayAsTheyAre) {
  const auto value = WindowedValue::create({4000, 0.02, 7, 600}, 1'700'000'000'000);
  for (std::uint64_t i = 0; i < 3600; ++i)
    value->insert(name(i), static_cast<unsigned>(1 + i % 14));
  value->advance(3, 1'700'000'000'128);
  value->sweep(64);
  for (std::uint64_t i = 3590; i < 3620; ++i) value->insert(name(i));
  const std::vector<Piece8> pieces = saved(*value);
  ASSERT_EQ(pieces.size(), 2U);
  const auto hex = [](std::span<const std::byte> bytes) {
    std::string text;
    for (const std::byte byte : bytes) {
      text += "0123456789abcdef"[static_cast<unsigned>(byte) >> 4];
      text += "0123456789abcdef"[static_cast<unsigned>(byte) & 15];
    }
    return text;
  };
  EXPECT_EQ(hex(std::span(pieces[0]).first(112)),
            "8e4e43570d0a1a0a01000000080e0000c00f0000000000007b14ae47e17a943f"
            "0700000000000000700000000000000058020000000000000300000000000000"
            "8068e5cf8b010000000000000000000040000000000000001e00000000000000"
            "830c0000000000000100000000000000");
  EXPECT_EQ(checksum(pieces[1]), 17991728748993465668U);
  EXPECT_EQ(value->digest(), 3304913145152891174U);
}

}  // namespace
}  // namespace nestline::redis
