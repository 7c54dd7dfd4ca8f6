// Writes the inputs that fuzz_redis_payload begins with: make_redis_corpus FOLDER. Run by hand.
//
// Each is an image of a small value in the fuzz target's parts: head without checksum, contents.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <ios>
#include <span>
#include <string>
#include <vector>

#include "lib/engine/place/little_endian.h"
#include "lib/faces/embed/value/value.h"
#include "lib/faces/embed/value/windowed_value.h"
#include "tests/faces/embed/redisbloom/redisbloom_model.h"

namespace {

using namespace nestline::redis;
using Bytes = std::vector<std::byte>;
constexpr std::size_t kPieceHead = 32;
constexpr std::size_t kChecksum = 8;

void append(Bytes& input, bool is_raw, std::span<const std::byte> content) {
  Bytes part(3 + content.size());
  nestline::put(part, 0, static_cast<std::uint16_t>(content.size()));
  part[2] = static_cast<std::byte>(is_raw);
  std::copy(content.begin(), content.end(), part.begin() + 3);
  input.insert(input.end(), part.begin(), part.end());
}

template <class Value>
void write(const std::filesystem::path& file, const Value& value, bool is_raw = false) {
  Bytes input;
  value.for_each_chunk([&](const Chunk& chunk) {
    std::span<const std::byte> part = chunk.bytes;
    if (!is_raw) part = part.first(part.size() - kChecksum);
    if (!is_raw && !input.empty()) part = part.subspan(kPieceHead);
    append(input, is_raw, part);
  });
  std::ofstream(file, std::ios::binary)
      .write(reinterpret_cast<const char*>(input.data()),
             static_cast<std::streamsize>(input.size()));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: make_redis_corpus FOLDER\n");
    return 2;
  }
  const std::filesystem::path folder = argv[1];
  std::filesystem::create_directories(folder);
  const auto make = [](double error, std::uint16_t expansion, int items) {
    auto value = CuckooValue::create({10, error, 2, 20, expansion, 3});
    for (int i = 0; i < items; ++i) value->insert(std::to_string(i));
    for (int i = 0; i < items; i += 3) value->erase(std::to_string(i));
    for (int i = 0; i < 20; ++i) value->insert("copies");
    return value;
  };
  write(folder / "empty", *CuckooValue::create({10, 0, 2, 20, 1, 3}));
  write(folder / "sub_filters", *make(0, 1, 1500));
  write(folder / "wide", *make(0.0003, 4, 400));
  write(folder / "narrow", *make(0.1, 1, 300));
  const auto turning = CuckooValue::create(
      {.capacity = 3600, .error = 0.05, .expansion = 0, .seed = 3, .turns_over = true});
  for (int i = 0; i < 6000; ++i) {
    if (i >= 3450) turning->erase(std::to_string(i - 3450));
    turning->insert(std::to_string(i));
  }
  write(folder / "turning", *turning);
  RedisBloomModel model(16, 2, 20, 2);
  for (int i = 0; i < 60; ++i) model.add(std::to_string(i));
  auto value = CuckooValue::from_tables(model.loaded(), 3);
  write(folder / "redisbloom", *value, true);
  for (int i = 60; i < 120; ++i) value->insert(std::to_string(i));
  for (int i = 0; i < 120; i += 2) value->erase(std::to_string(i));
  write(folder / "mixed", *value);
  for (const double error : {0.02, 0.001}) {
    const auto windowed = WindowedValue::create({400, error, 3, 600}, 1'700'000'000'000);
    for (int i = 0; i < 500; ++i) {
      windowed->insert(std::to_string(i), static_cast<unsigned>(1 + i % 14));
      if (i % 100 == 99) windowed->advance(windowed->tick() + 1, 1'700'000'000'000);
    }
    write(folder / (error < 0.01 ? "window_wide" : "window"), *windowed);
  }
  return 0;
}
