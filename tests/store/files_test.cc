// Files in a store: every byte comes back, equal pieces are stored once, and no wrong file comes.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "lib/store/manifests.h"
#include "lib/store/state.h"
#include "nestline/store_files.h"
#include "tests/store/on_call.h"
#include "tests/store/simulated_disk.h"
#include "tests/store/stepped_disk.h"
#include "tests/support/temp_folder.h"

namespace nestline { namespace {

class Files : public ::testing::Test {
 protected:
  const test::TempFolder top_;
  const std::filesystem::path folder_ = top_ / "store";
};

// Gives `content`, at most `most` bytes at a time.
FileSource source_of(const std::string& content, std::size_t most = SIZE_MAX) {
  return [&content, most, done = std::size_t{0}](std::span<char> to) mutable {
    const std::size_t size = std::min({most, to.size(), content.size() - done});
    content.copy(to.data(), size, done);
    done += size;
    return size;
  };
}

std::string file_of(const Store& store, std::string_view name) {
  std::string content;
  if (!get_file(store, name, [&](std::string_view bytes) { content += bytes; })) return "(none)";
  return content;
}

std::string noise(std::size_t size) {
  std::mt19937_64 random(size);
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

TEST_F(Files, EverySizeAndEveryCutComesBack) {
  Store store = Store::open(folder_, {.sync = Sync::never});
  for (const std::size_t size :
       std::initializer_list<std::size_t>{0, 1, 11, 12, 13, 24, 4095, 4096, 4097, 100000}) {
    std::string lines;
    for (std::size_t i = 0; lines.size() < size; ++i) lines += std::string(i % 90, 'x') + "\n";
    lines.resize(size);
    for (const std::string& content : {noise(size), std::string(size, '\0'), lines}) {
      for (const FilePieces pieces : {FilePieces{}, FilePieces{12, false}, FilePieces{12, true},
                                      FilePieces{4095, true}, FilePieces{1 << 30, true}}) {
        for (const std::size_t most : {std::size_t{7}, SIZE_MAX}) {
          ASSERT_EQ(put_file(store, "f", source_of(content, most), pieces), size);
          ASSERT_EQ(file_of(store, "f"), content) << size << " in pieces of " << pieces.bytes;
        }
      }
    }
  }
}

TEST_F(Files, EqualPiecesAreStoredOnce) {
  Store store = Store::open(folder_);
  std::string content;
  for (int i = 0; i < 10000; ++i) content += "0123456789ab";
  EXPECT_EQ(put_file(store, "f", source_of(content), {.bytes = 12}), 120000U);
  EXPECT_EQ(store.size(), 1);
  content += "other end";
  put_file(store, "g", source_of(content), {.bytes = 12});
  EXPECT_EQ(store.size(), 2);
  EXPECT_EQ(file_of(store, "g"), content);
  // A piece is a record under its digest: that of the empty text and of "abc" are known.
  put_file(store, "abc", source_of("abc"));
  std::string value;
  EXPECT_TRUE(store.get(std::string_view("\xba\x78\x16\xbf\x8f\x01\xcf\xea\x41\x41\x40\xde\x5d\xae"
                                         "\x22\x23\xb0\x03\x61\xa3\x96\x17\x7a\x9c\xb4\x10\xff\x61"
                                         "\xf2\x00\x15\xad",
                                         32),
                        value));
  EXPECT_EQ(value, "abc");
}

TEST_F(Files, NamesAreApartFromKeysAndLastAcrossOpening) {
  const std::string name("zero\0and\ttab", 12);
  {
    Store store = Store::open(folder_);
    store.put("f", "a value");
    put_file(store, "f", source_of("one"));
    put_file(store, name, source_of(""));
    put_file(store, "", source_of("no name"));
    put_file(store, "f", source_of("two, which replaces one"), {.bytes = 10});
  }
  Store store = Store::open(folder_);
  const auto files = list_files(store);
  ASSERT_EQ(files.size(), 3);
  EXPECT_EQ(files[0].name, "");
  EXPECT_EQ(files[1].name, "f");
  EXPECT_EQ(files[1].bytes, 23);
  EXPECT_EQ(files[1].pieces, 3);
  EXPECT_EQ(files[2].name, name);
  EXPECT_EQ(files[2].pieces, 0);
  EXPECT_EQ(file_of(store, "f"), "two, which replaces one");
  EXPECT_EQ(file_of(store, name), "");
  EXPECT_TRUE(store.erase("f"));
  EXPECT_EQ(file_of(store, "f"), "two, which replaces one");
  EXPECT_TRUE(erase_file(store, "f"));
  EXPECT_FALSE(erase_file(store, "f"));
  EXPECT_EQ(file_of(store, "f"), "(none)");
  EXPECT_EQ(file_of(Store::open(folder_, {.read_only = true}), ""), "no name");
}

TEST_F(Files, SurviveCompaction) {
  Store store = Store::open(folder_, {.segment_bytes = 1 << 16, .compact_above = 0});
  const std::string first = noise(300000), second = noise(200000);
  put_file(store, "first", source_of(first));
  put_file(store, "second", source_of(noise(100)));
  put_file(store, "second", source_of(second));
  put_file(store, "third", source_of(first), {.bytes = 1000});
  erase_file(store, "third");
  store.compact();
  EXPECT_EQ(file_of(store, "first"), first);
  EXPECT_EQ(file_of(store, "second"), second);
  EXPECT_EQ(file_of(store, "third"), "(none)");
}

std::uint64_t folder_bytes(const std::filesystem::path& folder) {
  std::uint64_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) bytes += entry.file_size();
  return bytes;
}

// Of two files with the same pieces one is deleted before, and the other while compact() has
// compacted a file of the log, and has found out what files have.
TEST(FilesOfEqualPieces, ThatIsDeletedInACompactionIsFreedByTheNext) {
  test::BeforeCall before;
  Store store = Store::State::open(
      test::disk_with_steps_at_syncs(test::SimulatedMachine::make(1)->disk(), before),
      {.sync = Sync::never, .segment_bytes = 1 << 14, .expected_records = 8, .compact_above = 0},
      test::kOnCall);
  const std::string content = noise(20'000);
  for (int i = 0; i < 4; ++i) store.put("often", noise(5000));  // dead records at the beginning
  put_file(store, "one", source_of(content), {.bytes = 1000});
  put_file(store, "two", source_of(content), {.bytes = 1000});
  EXPECT_EQ(store.size(), 21U);
  EXPECT_TRUE(erase_file(store, "one"));
  // The log goes on in a new file, with the writers' mutex held; then comes what has been
  // compacted.
  int syncs = 0;
  before = [&] {
    if (++syncs == 3) {
      EXPECT_TRUE(erase_file(store, "two"));
    }
  };
  store.compact();
  before = nullptr;
  EXPECT_GT(syncs, 3);
  EXPECT_EQ(store.size(), 21U);
  store.compact();
  EXPECT_EQ(store.size(), 1U);
}

TEST_F(Files, CompactionDropsPiecesThatNoFileHas) {
  const std::string shared = noise(100000), own = noise(300000), newer = noise(50000);
  const auto open = [&] {
    return Store::open(folder_,
                       {.segment_bytes = 1 << 16, .expected_records = 1, .compact_above = 0});
  };
  {
    Store store = open();
    // No file has named it, though its key is the digest of its value: it is no piece.
    store.put(std::string_view("\xba\x78\x16\xbf\x8f\x01\xcf\xea\x41\x41\x40\xde\x5d\xae"
                               "\x22\x23\xb0\x03\x61\xa3\x96\x17\x7a\x9c\xb4\x10\xff\x61"
                               "\xf2\x00\x15\xad",
                               32),
              "abc");
    put_file(store, "kept", source_of(shared));
    put_file(store, "deleted", source_of(shared + std::string(288, 's') + own));
    put_file(store, "replaced", source_of(newer + own));
    EXPECT_EQ(store.unused_piece_bytes(), 0);
    store.compact();
    EXPECT_EQ(file_of(store, "deleted"), shared + std::string(288, 's') + own);
    EXPECT_TRUE(erase_file(store, "deleted"));
    put_file(store, "replaced", source_of(newer));
    EXPECT_GT(store.unused_piece_bytes(), 2 * own.size());
  }
  {
    const Store reader = Store::open(folder_, {.read_only = true});
    EXPECT_GT(reader.unused_piece_bytes(), 2 * own.size());
    EXPECT_LT(reader.unused_piece_bytes(), reader.stats().live_bytes);
  }
  Store store = open();
  const std::uint64_t records = store.size();
  store.compact();
  EXPECT_LT(store.size(), records);
  EXPECT_EQ(store.unused_piece_bytes(), 0);
  EXPECT_EQ(file_of(store, "kept"), shared);
  EXPECT_EQ(file_of(store, "replaced"), newer);
  EXPECT_EQ(store.size(), 1 + (100000 + 4095) / 4096 + (50000 + 4095) / 4096);
  store.compact();
  EXPECT_LT(folder_bytes(folder_), 250000U);
  // Its digest is a piece's now.
  put_file(store, "abc", source_of("abc"));
  erase_file(store, "kept");
  erase_file(store, "replaced");
  store.compact();
  EXPECT_EQ(store.size(), 1);
  EXPECT_EQ(file_of(store, "abc"), "abc");
}

TEST_F(Files, ABackgroundCompactionOfTheOldListDropsPieces) {
  Store store = Store::State::open(open_system_disk(folder_, true),
                                   {.segment_bytes = 1 << 16, .compact_above = 0.01},
                                   {.threads = false, .log_bytes_per_checkpoint = 0});
  put_file(store, "f", source_of(noise(200000)));
  store.put("other", std::string(60000, 'v'));
  EXPECT_TRUE(erase_file(store, "f"));
  for (int i = 0; i < 20; ++i) Store::State::keep_up_on(store);
  EXPECT_EQ(store.size(), 1);
}

// A file that is put or read has its pieces, whatever is dropped meanwhile.
TEST_F(Files, PiecesInUseAreNotDropped) {
  Store store = Store::open(folder_, {.segment_bytes = 1 << 16, .compact_above = 0});
  const std::string content = noise(100000);
  put_file(store, "first", source_of(content));
  const auto read = source_of(content, 10000);
  bool is_deleted = false;
  put_file(store, "second", [&](std::span<char> to) {
    const std::size_t size = read(to);
    if (size == 0 || is_deleted) return size;
    is_deleted = erase_file(store, "first");
    store.compact();  // some pieces were there and others come later
    return size;
  });
  EXPECT_EQ(file_of(store, "second"), content);
  std::string found;
  bool is_there = get_file(store, "second", [&](std::string_view bytes) {
    if (erase_file(store, "second")) store.compact();
    found += bytes;
  });
  EXPECT_TRUE(is_there);
  EXPECT_EQ(found, content);
  EXPECT_GT(store.size(), 0);
  store.compact();  // nobody reads the file now
  EXPECT_EQ(store.size(), 0);
}

TEST_F(Files, ABadSourceLeavesTheOldFile) {
  Store store = Store::open(folder_);
  put_file(store, "f", source_of("old"));
  const auto put = [&](const FileSource& source, const FilePieces& pieces) {
    put_file(store, "f", source, pieces);
  };
  EXPECT_THROW(put([](std::span<char> to) { return to.size() + 1; }, {}), std::invalid_argument);
  int calls = 0;
  const auto failing = [&](std::span<char> to) -> std::size_t {
    if (++calls > 3) throw std::runtime_error("the source failed");
    std::fill(to.begin(), to.end(), 'n');
    return to.size();
  };
  EXPECT_THROW(put(failing, {}), std::runtime_error);
  EXPECT_THROW(put(source_of("new"), {.bytes = 0}), std::invalid_argument);
  EXPECT_THROW(put(source_of("new"), {.bytes = std::uint64_t{1} << 32}), std::invalid_argument);
  EXPECT_EQ(file_of(store, "f"), "old");
}

TEST_F(Files, ChangedAndMissingPiecesAreNoticedAndMended) {
  Store store = Store::open(folder_);
  const std::string content = noise(200);
  put_file(store, "f", source_of(content), {.bytes = 10});
  std::vector<std::string> keys;
  store.for_each([&](std::string_view key, std::string_view) { keys.emplace_back(key); });
  ASSERT_EQ(keys.size(), 20);
  std::string kept;
  ASSERT_TRUE(store.get(keys[7], kept));
  for (const std::string_view wrong : {"short", "0123456789", "longer than it was"}) {
    store.put(keys[7], wrong);
    EXPECT_THROW(file_of(store, "f"), StoreError);
    put_file(store, "f", source_of(content), {.bytes = 10});
    EXPECT_EQ(file_of(store, "f"), content);
  }
  store.erase(keys[19]);
  EXPECT_THROW(file_of(store, "f"), StoreError);
  put_file(store, "again", source_of(content), {.bytes = 10});
  EXPECT_EQ(file_of(store, "f"), content);
}

TEST_F(Files, SeveralThreadsStoreAndReadEqualFiles) {
  Store store = Store::open(folder_, {.sync = Sync::never, .segment_bytes = 1 << 20});
  const std::string content = noise(500000);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 5; ++i) {
        const std::string name = std::to_string(thread) + "/" + std::to_string(i);
        put_file(store, name, source_of(content, 10000), {.bytes = 1000});
        EXPECT_EQ(file_of(store, name), content);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(list_files(store).size(), 20);
  EXPECT_EQ(store.size(), 500);
}

TEST(Manifests, OnlyWholeOnesAreRead) {
  ManifestWriter writer;
  PieceDigest digest{};
  for (int i = 0; i < 3; ++i) {
    digest.fill(static_cast<char>(i));
    writer.add(digest, 100 + static_cast<std::size_t>(i));
  }
  const std::string good(writer.finish());
  const Manifest manifest("f", good);
  EXPECT_EQ(manifest.total(), 303);
  EXPECT_EQ(manifest.pieces(), 3);
  EXPECT_EQ(manifest.length(2), 102);
  EXPECT_EQ(manifest.digest(2), std::string_view(digest.data(), digest.size()));
  EXPECT_THROW(manifest.fail(0, "is missing"), StoreError);
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_THROW(Manifest("f", std::string_view(good).substr(0, size)), StoreError) << size;
  }
  EXPECT_THROW(Manifest("f", good + '\0'), StoreError);
  // Every byte of it counts, but those of the digests, which the pieces are checked against.
  for (std::size_t at = 0; at < good.size(); ++at) {
    std::string flipped = good;
    flipped[at] = static_cast<char>(flipped[at] ^ 1);
    const bool in_digest = at >= 24 && (at - 24) % 36 < 32;
    if (in_digest) {
      EXPECT_NO_THROW(Manifest("f", flipped));
    } else {
      EXPECT_THROW(Manifest("f", flipped), StoreError) << at;
    }
  }
}

}  // namespace
}  // namespace nestline
