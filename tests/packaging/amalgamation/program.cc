// What a program does with filters of one thread, for each width and on each target that this
// processor has: amalgamation_test.py compiles it with the amalgamation and with the library.
// Prints what is wrong.
#include <nestline/filter.h>
#include <nestline/io.h>
#include <nestline/mapped_filter.h>
#include <nestline/memory.h>
#include <nestline/reader.h>
#include <nestline/version.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "lib/engine/engine.h"
#include "lib/engine/kernels/targets.h"

namespace {

int failures = 0;

void expect(bool right, const std::string& what) {
  if (right) return;
  std::cerr << "not so: " << what << '\n';
  ++failures;
}

constexpr std::size_t kKeys = 20000;

std::vector<std::uint64_t> keys_from(std::uint64_t first) {
  std::vector<std::uint64_t> keys(kKeys);
  std::iota(keys.begin(), keys.end(), first);
  return keys;
}

std::size_t found(const auto& filter, nestline::KeySpan keys) {
  std::vector<std::uint8_t> answers(keys.size());
  return filter.may_contain(keys, answers);
}

std::vector<std::byte> try_width(double fpr, const std::filesystem::path& path,
                                 const std::string& name) {
  const nestline::Options options = {.capacity = 2 * kKeys, .fpr = fpr};
  const auto keys = keys_from(1), more = keys_from(1 << 20), others = keys_from(1 << 30);
  nestline::Filter filter(options);
  expect(filter.insert(keys) == kKeys, name + "all keys are inserted");
  nestline::Filter built = nestline::Filter::build(options, more);
  filter.merge(built);
  expect(found(filter, keys) == kKeys && found(filter, more) == kKeys,
         name + "merged, all are found");
  expect(double(found(filter, others)) < 3 * fpr * kKeys, name + "others are not");
  std::size_t together = 0;
  const nestline::Reader reader = filter.reader();
  for (const std::uint64_t key : keys) together += reader.may_contain(reader.prepare(key));
  expect(together == kKeys, name + "a Reader finds them");

  nestline::save(filter, path);
  const auto loaded = nestline::Filter::load(path);
  const auto mapped = nestline::MappedFilter::open(path);
  expect(found(loaded, others) == found(filter, others) &&
             found(mapped, others) == found(filter, others) && found(loaded, keys) == kKeys &&
             found(mapped, more) == kKeys,
         name + "a file has the same answers");
  auto bytes = nestline::to_bytes(loaded);
  expect(bytes == nestline::to_bytes(filter), name + "and the same bytes");

  expect(filter.erase(keys) == kKeys, name + "all are erased");
  expect(filter.count(keys[0]) + filter.count(keys[1]) < 8, name + "copies are counted");
  expect(double(found(filter, keys)) < 3 * fpr * kKeys, name + "and absent then");
  expect(found(filter, more) == kKeys, name + "and the others still found");

  bytes[bytes.size() / 2] ^= std::byte{1};
  try {
    (void)nestline::Filter::load(std::span<const std::byte>(bytes));
    expect(false, name + "damage is found");
  } catch (const nestline::FormatError&) {
    bytes[bytes.size() / 2] ^= std::byte{1};
  }
  return bytes;
}

}  // namespace

int main(int, char** arguments) {
  const std::filesystem::path path = arguments[1];
  const auto targets = nestline::usable_targets();
  for (const double fpr : {0.05, 0.02, 0.01, 0.005, 0.001, 0.0001}) {
    std::vector<std::byte> first;
    for (const std::int64_t target : targets) {
      nestline::force_target(target);
      const std::string name =
          "target " + std::to_string(target) + ", " + std::to_string(fpr) + ": ";
      const auto bytes = try_width(fpr, path, name);
      if (first.empty()) first = bytes;
      expect(bytes == first, name + "the file is that of the other targets");
    }
  }
  std::cout << targets.size() << " targets, " NESTLINE_VERSION_STRING "\n";
  return failures == 0 ? 0 : 1;
}
