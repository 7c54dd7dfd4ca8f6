// Images: written and read in both ways; every wrong byte is refused, and claims take no memory.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "lib/faces/embed/fields.h"
#include "lib/faces/embed/value/value.h"
#include "lib/faces/embed/value/view.h"
#include "tests/faces/embed/redisbloom/redisbloom_model.h"
#include "tests/faces/embed/value/items.h"

namespace nestline::redis { namespace {

using Bytes = std::vector<std::byte>;

std::unique_ptr<CuckooValue> read(const std::vector<Bytes>& pieces) {
  return read_by<ImageReader>(pieces);
}

// As CF.SCANDUMP and CF.LOADCHUNK do.
std::unique_ptr<CuckooValue> load(const CuckooValue& from) {
  Chunk chunk = from.dump_chunk(0);
  auto value = CuckooValue::from_head(chunk.bytes, 42);
  for (chunk = from.dump_chunk(chunk.next); chunk.next != 0; chunk = from.dump_chunk(chunk.next)) {
    EXPECT_FALSE(value->load_chunk(chunk.next + 1, chunk.bytes) && !from.is_redisbloom());
    EXPECT_TRUE(value->load_chunk(chunk.next, chunk.bytes));
  }
  return value;
}

// Several sub_filters, surplus copies and pending ones in the ledger.
std::unique_ptr<CuckooValue> sample(std::uint64_t items, std::uint64_t seed = 42) {
  auto value = CuckooValue::create({30, 0.02, 2, 20, 1, seed});
  for (std::uint64_t i = 0; i < items; ++i) value->insert(name(i));
  value->compact();
  for (std::uint64_t i = 0; i < items; i += 3) value->erase(name(i));
  for (int i = 0; i < 20; ++i) value->insert("copies");
  return value;
}

// One whose items were replaced, so that its blocks have guests; with several sub_filters if it
// grows.
std::unique_ptr<CuckooValue> turning_sample(bool grows = false) {
  const auto value = CuckooValue::create({.capacity = 20'000,
                                          .error = 0.05,
                                          .expansion = std::uint16_t{grows},
                                          .seed = 42,
                                          .turns_over = true});
  const std::uint64_t items = grows ? 90'000 : 19'000;
  for (std::uint64_t i = 0; i < items; ++i) value->insert(name(i));
  for (std::uint64_t i = 0; i < items; ++i) {
    value->erase(name(i));
    value->insert(name(items + i));
  }
  return value->copy();
}

std::uint64_t guest_levels(const CuckooValue& value) {
  std::uint64_t levels = 0;
  std::vector<std::byte> copy;
  for (const SubFilter& each : value.list()) {
    const auto bytes = each.bytes(0, each.block_bytes(), copy);
    for (std::size_t at = kOverflowMarkByte; at < bytes.size(); at += kBlockBytes) {
      const std::uint32_t header = get<std::uint16_t>(bytes, at);
      levels += Block::guest_level_of(header);
    }
  }
  return levels;
}

std::unique_ptr<CuckooValue> mixed_sample() {
  RedisBloomModel model(100, 2, 20, 2);
  for (std::uint64_t i = 0; i < 900; ++i) model.add(name(i));
  auto value = CuckooValue::from_tables(model.loaded(), 42);
  for (std::uint64_t i = 900; i < 4000; ++i) value->insert(name(i));
  for (std::uint64_t i = 900; i < 2000; ++i) value->erase(name(i));
  return value;
}

TEST(Image, RoundTripsInBothWays) {
  std::vector<std::unique_ptr<CuckooValue>> values;
  values.push_back(CuckooValue::create({1000, 0, 2, 20, 1, 42}));
  values.push_back(sample(3000));
  values.push_back(mixed_sample());
  values.push_back(CuckooValue::create({2'000'000, 0.001, 2, 20, 0, 42}));  // 5 pieces
  for (std::uint64_t i = 0; i < 100'000; ++i) values.back()->insert(name(i));
  for (const bool grows : {false, true}) {
    values.push_back(turning_sample(grows));
    ASSERT_GE(guest_levels(*values.back()), 100U);
  }
  ASSERT_GE(values.back()->sub_filters(), 2U);
  ASSERT_GE(values[1]->sub_filters(), 2U);
  ASSERT_GE(values[1]->info().ledger_entries, 2U);
  ASSERT_GE(values[2]->info().ledger_entries, 1U);
  ASSERT_GE(pieces_of(*values[3]).size(), 5U);
  for (const auto& value : values) {
    const auto by_pieces = read(pieces_of(*value));
    ASSERT_NE(by_pieces, nullptr);
    const auto by_chunks = load(*value);
    ASSERT_TRUE(by_chunks->is_complete());
    EXPECT_EQ(by_pieces->digest(), value->digest());
    EXPECT_EQ(by_chunks->digest(), value->digest());
    EXPECT_EQ(by_pieces->deletes(), value->deletes());
    EXPECT_EQ(by_pieces->settings(), value->settings());
    EXPECT_EQ(guest_levels(*by_pieces), guest_levels(*value));
    // Both behave alike afterwards.
    for (const auto* each : {&value, &by_pieces, &by_chunks}) {
      for (std::uint64_t i = 0; i < 3000; ++i) (*each)->insert(name(i * 7));
      for (std::uint64_t i = 0; i < 3000; ++i) (*each)->erase(name(i * 7));
    }
    EXPECT_EQ(by_pieces->digest(), value->digest());
    EXPECT_EQ(by_chunks->digest(), value->digest());
  }
}

// Threads that look up beside leave nothing of theirs in the bytes, and take no level away.
TEST(Image, OfAValueThatIsSharedIsTheSame) {
  const auto value = turning_sample();
  const std::uint64_t digest = value->digest(), levels = guest_levels(*value);
  const auto view = value->view();
  ASSERT_NE(view, nullptr);
  EXPECT_EQ(value->digest(), digest);
  EXPECT_EQ(guest_levels(*value), levels);
  for (const auto& each : {value->copy(), reloaded(*value)}) {
    EXPECT_EQ(each->digest(), digest);
    EXPECT_EQ(guest_levels(*each), levels);
  }
}

TEST(Image, GuestLevelsOfAValueThatDoesNotTurnOverAreRefused) {
  const auto from = turning_sample();
  auto pieces = pieces_of(*from);
  ASSERT_EQ(get<std::uint16_t>(pieces[0], 118), 2U);  // where older versions want 0
  ImageHead head = decode_head(pieces[0]).value();
  head.settings.turns_over = false;
  pieces[0] = encode_head(head);
  ASSERT_EQ(get<std::uint16_t>(pieces[0], 118), 0U);
  EXPECT_EQ(read(pieces), nullptr);
  const auto value = CuckooValue::from_head(pieces[0], 0);
  const Chunk chunk = from->dump_chunk(1);
  EXPECT_FALSE(value->load_chunk(chunk.next, chunk.bytes));
  // Nothing but 0 and 2.
  for (const int number : {1, 3, 256, 65535}) {
    put(pieces[0], 118, static_cast<std::uint16_t>(number));
    seal(pieces[0]);
    EXPECT_FALSE(decode_head(pieces[0])) << number;
  }
}

TEST(Image, RedisBloomTablesRoundTripInTheirOwnForm) {
  RedisBloomModel model(100, 2, 20, 2);
  for (std::uint64_t i = 0; i < 900; ++i) model.add(name(i));
  const auto value = CuckooValue::from_tables(model.loaded(), 1);
  const auto pieces = pieces_of(*value);
  ASSERT_EQ(pieces.size(), 1 + model.tables().size());
  EXPECT_EQ(pieces[0].size(), 38U);
  EXPECT_EQ(value->dump_chunk(1).next, 1 + model.tables()[0].size());
  const auto loaded = load(*value);
  EXPECT_TRUE(loaded->is_redisbloom());
  EXPECT_TRUE(loaded->is_complete());
  EXPECT_EQ(loaded->digest(), value->digest());
  // Tables of more than 16 MiB come in pieces.
  const RedisBloomHeader large{0, std::uint64_t{1} << 23, 0, 2, 4, 20, 1};
  const auto two = CuckooValue::from_tables(RedisBloomTables(large), 1);
  EXPECT_EQ(pieces_of(*two).size(), 5U);
  EXPECT_EQ(two->dump_chunk(1).bytes.size(), std::size_t{16} << 20);
  EXPECT_EQ(load(*two)->digest(), two->digest());
}

// What a RedisBloom server did, repeated here: tables, and corrections for items that have no place
// in them, but no sub_filter. In between its pieces look like RedisBloom's.
TEST(Image, TablesWithCorrectionsRoundTripInBothWays) {
  std::mt19937_64 random(5);
  std::uint64_t with_corrections = 0;
  for (int run = 0; run < 300; ++run) {
    SCOPED_TRACE(run);
    const Settings settings = {.capacity = 4 + random() % 60,
                               .bucket_size = static_cast<std::uint16_t>(1 + random() % 4),
                               .expansion = static_cast<std::uint16_t>(random() % 2),
                               .seed = random() % 2};
    const auto value = CuckooValue::create_as_redisbloom(settings);
    const std::uint64_t range = 1 + random() % 100;
    for (std::uint64_t i = random() % 200; i-- > 0;) {
      value->insert_as_redisbloom(name(random() % range),
                                  random() % 4 == 0 ? Unless::present : Unless::never);
    }
    for (std::uint64_t i = random() % 20; i-- > 0;) {
      const std::string item = name(random() % range);
      if (value->exists(item)) value->erase(item);
    }
    if (random() % 8 == 0) value->compact();
    if (random() % 4 == 0) value->open_generation();
    with_corrections += value->info().ledger_entries != 0 && value->sub_filters() == 0;
    const auto by_chunks = load(*value);
    const auto copied = value->copy();
    ASSERT_TRUE(by_chunks->is_complete());
    for (const auto* const each : {&by_chunks, &copied}) {
      ASSERT_EQ((*each)->digest(), value->digest());
      ASSERT_EQ((*each)->is_redisbloom(), value->is_redisbloom());
      for (std::uint64_t i = 0; i < range; ++i) {
        ASSERT_EQ((*each)->count(name(i)), value->count(name(i)));
      }
    }
    if (value->is_redisbloom()) continue;
    const auto by_pieces = read(pieces_of(*value));
    ASSERT_NE(by_pieces, nullptr);
    ASSERT_EQ(by_pieces->digest(), value->digest());
  }
  EXPECT_GT(with_corrections, 50U);
}

TEST(Image, RefusesEveryByteThatIsWrong) {
  const auto pieces = pieces_of(*mixed_sample());
  ASSERT_GE(pieces.size(), 5U);
  std::mt19937 random(1);
  for (std::size_t p = 0; p < pieces.size(); ++p) {
    for (int i = 0; i < 60; ++i) {
      auto wrong = pieces;
      const std::size_t at =
          i < 40 ? static_cast<std::size_t>(i) * 4 % wrong[p].size() : random() % wrong[p].size();
      wrong[p][at] ^= static_cast<std::byte>(1U << random() % 8);
      ASSERT_EQ(read(wrong), nullptr) << p << " " << at;
    }
  }
}

TEST(Image, RefusesWhatIsMissingOrTooMuch) {
  const auto pieces = pieces_of(*mixed_sample());
  const auto refused = [&](const std::function<void(std::vector<Bytes>&)>& change) {
    auto wrong = pieces;
    change(wrong);
    EXPECT_EQ(read(wrong), nullptr);
  };
  for (std::size_t p = 0; p < pieces.size(); ++p) {
    const auto at = static_cast<std::ptrdiff_t>(p);
    refused([&](auto& wrong) { wrong.resize(p); });
    refused([&](auto& wrong) { wrong.erase(wrong.begin() + at); });
    refused([&](auto& wrong) { wrong.insert(wrong.begin() + at, pieces[p]); });
    for (const std::size_t length : {std::size_t{0}, std::size_t{7}, std::size_t{39},
                                     pieces[p].size() - 1, pieces[p].size() - 8}) {
      refused([&](auto& wrong) { wrong[p].resize(length); });
    }
    refused([&](auto& wrong) { wrong[p].push_back(std::byte{0}); });
  }
  refused([&](auto& wrong) { wrong.push_back(pieces.back()); });
  // Pieces of another value of the same shape: the counts do not fit.
  const auto one = pieces_of(*sample(500, 1));
  const auto other = sample(500, 2);
  other->erase(name(1));
  const auto two = pieces_of(*other);
  auto both = one;
  both[1] = two[1];
  EXPECT_EQ(read(both) == nullptr || one[1] == two[1], true);
}

TEST(Image, ClaimsTakeNoMemory) {
  ImageHead head;
  for (int i = 0; i < 1000; ++i) {
    head.sub_filters.push_back({{16, 0, 0, std::uint64_t{1} << 40, 1, 0}, 0});
  }
  head.redisbloom = {0, std::uint64_t{1} << 55, 0, 65535, 255, 20, 1};
  head.ledger_entries = 1 << 29;
  ImageReader reader;
  ASSERT_TRUE(reader.add(encode_head(head)));
  const Bytes content(kPieceBytes);
  const Areas areas(head);
  const PiecePlace second = areas.after(areas.first());
  ASSERT_TRUE(reader.add(encode_piece(areas.first(), content)));
  ASSERT_TRUE(reader.add(encode_piece(second, content)));
  EXPECT_FALSE(reader.add(encode_piece(second, content)));
  EXPECT_EQ(reader.finish(), nullptr);
  EXPECT_THROW(CuckooValue::from_head(encode_head(head), 0), std::bad_alloc);
  head.sub_filters.resize(65536);
  EXPECT_FALSE(decode_head(encode_head(head)));
  head.sub_filters.clear();
  head.redisbloom.bucket_size = 0;
  EXPECT_FALSE(decode_head(encode_head(head)));
}

TEST(Image, RefusesHeadsOutOfRange) {
  const auto refused = [](const std::function<void(ImageHead&)>& spoil) {
    ImageHead head;
    head.sub_filters.push_back({{12, 1, 3, 10, 100, 0}, 50});
    ASSERT_TRUE(decode_head(encode_head(head)));
    spoil(head);
    EXPECT_FALSE(decode_head(encode_head(head)));
    EXPECT_THROW(CuckooValue::from_head(encode_head(head), 0), std::invalid_argument);
  };
  refused([](auto& h) { h.settings.capacity = 0; });
  refused([](auto& h) { h.settings.error = -1; });
  refused([](auto& h) { h.settings.expansion = 3; });
  refused([](auto& h) { h.settings.bucket_size = 0; });
  refused([](auto& h) { h.items = ~std::uint64_t{0}; });
  refused([](auto& h) { h.ledger_entries = ~std::uint64_t{0}; });
  refused([](auto& h) { h.sub_filters[0].shape.bits = 11; });
  refused([](auto& h) { h.sub_filters[0].shape.bits = 9; });
  refused([](auto& h) { h.settings.all_widths = true; });  // with expansion 1
  refused([](auto& h) { h.sub_filters[0].shape.growth = 20; });
  refused([](auto& h) { h.sub_filters[0].shape.base_blocks = 0; });
  refused([](auto& h) { h.sub_filters[0].shape.base_blocks = ~std::uint64_t{0}; });
  refused([](auto& h) { h.sub_filters[0].shape.capacity = 801; });
  refused([](auto& h) { h.sub_filters[0].keys = 801; });
  // More items than there is room for, or no room at all.
  refused([](auto& h) { h.items = 51; });
  refused([](auto& h) { h.sub_filters.clear(); });
  refused([](auto& h) { h.redisbloom = {9, 4, 0, 1, 2, 20, 1}; });
  refused([](auto& h) {
    h.sub_filters.clear();
    h.redisbloom = {8, 4, 0, 1, 2, 20, 0};
    h.settings.capacity = std::uint64_t{1} << 40;
  });
}

// Numbers of sub_filters come from the head, so the last possible number may be among them.
TEST(Image, GenerationsAfterTheLastNumberTakeFreeOnes) {
  constexpr std::uint32_t kLast = ~std::uint32_t{0};
  ImageHead head;
  head.settings.capacity = 100;
  for (const std::uint32_t number : {0U, kLast - 1}) {
    head.sub_filters.push_back({{12, 0, 0, 10, 100, number}, 0});
  }
  const auto value = CuckooValue::from_head(encode_head(head), 0);
  ASSERT_TRUE(value->is_complete());
  std::uint64_t items = 0;
  while (value->sub_filters() < 5) ASSERT_EQ(value->insert(name(items++)), Outcome::stored);
  const auto now = decode_head(value->dump_chunk(0).bytes);
  ASSERT_TRUE(now);
  std::vector<std::uint32_t> numbers;
  for (const ImageSubFilter& each : now->sub_filters) numbers.push_back(each.shape.number);
  EXPECT_EQ(numbers, (std::vector<std::uint32_t>{0, kLast - 1, kLast, 1, 2}));
  for (std::uint64_t i = 0; i < items; ++i) ASSERT_TRUE(value->exists(name(i))) << i;
}

TEST(Image, RefusesPiecesInTheWrongPlaceAndKeepsTheValue) {
  const auto from = sample(3000);
  const auto chunks = chunks_of(*from);
  const auto value = CuckooValue::from_head(chunks[0].bytes, 0);
  EXPECT_FALSE(value->is_complete());
  for (const std::uint64_t iterator : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{2},
                                       chunks[1].next + 1, chunks[2].next, ~std::uint64_t{0}}) {
    EXPECT_FALSE(value->load_chunk(iterator, chunks[1].bytes)) << iterator;
  }
  EXPECT_FALSE(value->load_chunk(chunks[1].next, {}));
  EXPECT_FALSE(value->load_chunk(chunks[1].next, chunks[0].bytes));
  EXPECT_EQ(value->items(), 0U);
  // A value whose pieces are missing works: nothing is found, things are added and erased.
  EXPECT_FALSE(value->exists(name(2000)));
  EXPECT_EQ(value->insert("new"), Outcome::stored);
  EXPECT_TRUE(value->erase("new"));
  // The same piece twice counts once.
  for (int i = 0; i < 2; ++i) {
    for (std::size_t p = 1; p < chunks.size(); ++p) {
      EXPECT_TRUE(value->load_chunk(chunks[p].next, chunks[p].bytes));
    }
  }
  EXPECT_TRUE(value->is_complete());
  EXPECT_EQ(value->items(), from->items());
  for (std::uint64_t i = 1; i < 3000; i += 3) ASSERT_TRUE(value->exists(name(i))) << i;
  EXPECT_GE(value->count("copies"), 20U);
}

TEST(Image, RefusesPiecesOfAGenerationThatHasGrownSince) {
  const auto from = CuckooValue::create({300, 0, 2, 20, 1, 42});
  for (std::uint64_t i = 0; i < 100; ++i) from->insert(name(i));
  const auto value = CuckooValue::from_head(from->dump_chunk(0).bytes, 0);
  const Chunk before = from->dump_chunk(1);
  for (std::uint64_t i = 100; i < 500; ++i) from->insert(name(i));
  ASSERT_GE(from->list()[0].growth(), 1U);
  const Chunk after = from->dump_chunk(1);
  EXPECT_FALSE(value->load_chunk(after.next, after.bytes));
  EXPECT_EQ(value->items(), 0U);
  EXPECT_TRUE(value->load_chunk(before.next, before.bytes));
  EXPECT_TRUE(value->is_complete());
}

TEST(Image, AValueThatIsBeingLoadedBehavesAsItsCopies) {
  const auto from = sample(3000);
  ASSERT_GE(from->sub_filters(), 2U);
  const auto chunks = chunks_of(*from);
  std::vector<std::unique_ptr<CuckooValue>> values;
  values.push_back(CuckooValue::from_head(chunks[0].bytes, 0));
  ASSERT_TRUE(values[0]->load_chunk(chunks[1].next, chunks[1].bytes));
  values.push_back(values[0]->copy());
  values.push_back(read(pieces_of(*values[0])));
  values.push_back(load(*values[0]));
  std::uint64_t shown = 1;
  while (!values[0]->exists(name(shown))) shown += 3;
  for (const auto& value : values) {
    ASSERT_NE(value, nullptr);
    EXPECT_FALSE(value->is_complete());
    EXPECT_TRUE(value->erase(name(shown)));  // no sub_filter is dropped that is to be filled
  }
  for (const auto& value : values) EXPECT_EQ(value->digest(), values[0]->digest());
  for (const auto& value : values) {
    for (std::size_t p = 1; p < chunks.size(); ++p) {
      ASSERT_TRUE(value->load_chunk(chunks[p].next, chunks[p].bytes)) << p;
    }
    EXPECT_TRUE(value->is_complete());
    EXPECT_EQ(value->items(), from->items());
    EXPECT_EQ(value->digest(), values[0]->digest());
  }
}

TEST(Image, IteratorsPastTheEndGiveNothing) {
  for (const auto& value : {sample(100), mixed_sample()}) {
    std::uint64_t last = 0;
    for (const Chunk& chunk : chunks_of(*value)) last = chunk.next;
    for (const std::uint64_t iterator :
         {last, last + 1, std::uint64_t{1000}, std::uint64_t{1} << 30, std::uint64_t{1} << 52,
          std::uint64_t{1} << 62, ~std::uint64_t{0}}) {
      if (iterator == std::uint64_t{1} << 52 && value->info().ledger_entries != 0) continue;
      EXPECT_EQ(value->dump_chunk(iterator).next, 0U) << iterator;
    }
    for (const Chunk& chunk : chunks_of(*value)) EXPECT_LT(chunk.next, std::uint64_t{1} << 53);
  }
}

// Processor time of this thread, without the system's part.
double worked_seconds() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec) +
         static_cast<double>(usage.ru_utime.tv_usec) / 1e6;
}

// Looking at all sub_filters for each piece takes minutes here, work for a piece much less.
TEST(Image, TakesTimeInProportionToItsPieces) {
  static constexpr double kMaxSeconds = 2;
  ImageHead head;
  for (std::uint32_t i = 0; i < 65535; ++i) head.sub_filters.push_back({{12, 0, 0, 1, 1, i}, 0});
  const auto value = CuckooValue::from_head(encode_head(head), 0);
  auto expect_quick = [start = worked_seconds()](const char* what) mutable {
    EXPECT_LT(worked_seconds() - start, kMaxSeconds) << what;
    start = worked_seconds();
  };
  const auto chunks = chunks_of(*value);
  ASSERT_EQ(chunks.size(), 65536U);
  expect_quick("dump");
  const std::uint64_t digest = value->digest();
  expect_quick("digest");
  for (std::size_t i = 1; i < chunks.size(); ++i) {
    ASSERT_TRUE(value->load_chunk(chunks[i].next, chunks[i].bytes));
  }
  expect_quick("load by chunks");
  ImageReader reader;
  for (const Chunk& chunk : chunks) ASSERT_TRUE(reader.add(chunk.bytes));
  const auto by_pieces = reader.finish();
  ASSERT_NE(by_pieces, nullptr);
  expect_quick("read");
  EXPECT_EQ(by_pieces->digest(), digest);
}

// A long ledger: as above, each piece is found without the entries before it.
TEST(Image, FindsPiecesOfALongLedger) {
  Ledger ledger;
  std::mt19937_64 random(3);
  constexpr std::uint64_t kEntries = 300'000;
  // Neighbours too, more of them than a piece has entries.
  for (std::uint64_t i = 0; i < kEntries / 2; ++i) ledger.set(random(), {2, i});
  for (std::uint64_t i = 0; ledger.size() < kEntries; ++i) ledger.set((7ULL << 60) + i, {-1, 0});
  Ledger read;
  std::uint64_t pieces = 0;
  PiecePlace place{AreaKind::ledger, 0, 0, 0};
  for (; place.offset != kStretches; place.offset = place.area_bytes, ++pieces) {
    const auto content = encode_entries(ledger, place);
    ASSERT_FALSE(content.empty());
    ASSERT_LE(content.size(), 24 * (kEntriesInPiece + (1U << kStretchBits)));
    PiecePlace elsewhere = place;
    elsewhere.offset = place.area_bytes - 1;
    if (elsewhere.offset != place.offset) {
      ASSERT_FALSE(decode_entries({elsewhere, content}, read));
    }
    ASSERT_TRUE(decode_entries({place, content}, read));
  }
  EXPECT_GE(pieces, 7U);
  EXPECT_LE(pieces, 10U);
  EXPECT_EQ(read.size(), ledger.size());
  EXPECT_EQ(read.total(), ledger.total());
  for (const auto& [hash, entry] : ledger.entries()) ASSERT_EQ(read.copies(hash), entry.copies);
}

}  // namespace
}  // namespace nestline::redis
