// Uses every part of the public interface that needs the compiled library: filters, files, errors.
#include <nestline/concurrent_filter.h>
#include <nestline/filter.h>
#include <nestline/io.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <string_view>
#include <utility>
#include <vector>

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: consumer FILE\n";
    return 2;
  }
  const std::filesystem::path path = argv[1];
  std::vector<std::uint64_t> keys;
  for (std::uint64_t key = 0; key < 100'000; ++key) keys.push_back(key * key);

  nestline::Filter filter({.capacity = 200'000, .fpr = 0.001});
  std::cout << "inserted " << filter.insert(keys) << '\n';
  std::cout << "string " << static_cast<bool>(filter.insert(std::string_view("a string"))) << '\n';

  nestline::save(filter, path);
  const nestline::MappedFilter mapped = nestline::MappedFilter::open(path);
  mapped.verify();
  std::vector<std::uint8_t> found(keys.size());
  std::cout << "found " << mapped.may_contain(keys, found) << '\n';
  nestline::ConcurrentFilter shared(nestline::Filter::load(path));
  std::cout << "erased " << shared.erase(keys) << '\n';
  std::cout << "size " << std::move(shared).freeze().size() << '\n';

  // An exception must be recognized on both sides of a shared library.
  std::vector<std::byte> bytes = nestline::to_bytes(filter);
  bytes.front() = ~bytes.front();
  try {
    nestline::Filter::load(bytes);
    std::cout << "bad bytes accepted\n";
  } catch (const nestline::FormatError& error) {
    std::cout << "refused at " << error.offset << '\n';
  }
}
