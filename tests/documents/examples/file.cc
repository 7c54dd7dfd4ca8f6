#include <nestline/io.h>

#include <filesystem>
#include <iostream>

int main() {
  const auto path = std::filesystem::temp_directory_path() / "nestline-example.nest";
  nestline::Filter filter({.capacity = 1000, .fpr = 0.001});
  if (!filter.insert("in the file")) return 1;

  nestline::save(filter, path);                            // replaces the file atomically
  const auto loaded = nestline::Filter::load(path);        // checks every byte
  const auto mapped = nestline::MappedFilter::open(path);  // answers from the file, without a copy

  std::cout << loaded.may_contain("in the file") << mapped.may_contain("in the file")
            << mapped.may_contain("not in it") << '\n';
  std::filesystem::remove(path);
}
