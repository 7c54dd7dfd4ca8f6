// Measures how full filters of few blocks get, also after growth. safe_keys in
// lib/filters/filter/sizing.cc is based on these figures.
//
//   fill_limits BITS BASE_BLOCKS FILLINGS [SEED [GROWTH]]
//
// Fills FILLINGS filters of BASE_BLOCKS * 2^GROWTH blocks with random hashes until the first insert
// fails. Prints the number of keys stored by then: the lowest, and the number that all but one in
// 10, 100, ... fillings passed. Also prints how many fillings ended with `too_many_copies`, because
// of keys that look the same. For a promise about one filter in a million, use at least ten million
// fillings, or extend the printed tail. The results are counts, not times, so any machine will do.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "lib/engine/engine.h"
#include "lib/engine/place/geometry.h"
#include "lib/engine/place/hash.h"
#include "lib/engine/place/layout.h"

namespace {

template <class L>
void measure(const nestline::Geometry& geometry, std::uint64_t fillings, std::uint64_t seed) {
  std::vector<nestline::Block> storage(geometry.blocks());
  const nestline::BlocksView view = {storage.data(), geometry, {}};
  const auto insert = nestline::filter_engine(L::kBits, nestline::Placement::anywhere)
                          .of_filters()
                          .operations.alone.insert;
  const nestline::MixSecrets secrets = nestline::derive_secrets(seed);
  std::vector<std::uint64_t> stored_at_failure(geometry.blocks() * L::kSlots + 1);
  std::uint64_t counter = 0;
  std::uint64_t copies = 0;
  for (std::uint64_t i = 0; i < fillings; ++i) {
    std::fill(storage.begin(), storage.end(), nestline::Block{});
    std::uint64_t stored = 0;
    auto outcome = nestline::Outcome::stored;
    while (outcome == nestline::Outcome::stored) {
      outcome = *insert(view, nestline::mix_integer(counter++, secrets));
      stored += outcome == nestline::Outcome::stored;
    }
    ++stored_at_failure[stored];
    copies += outcome == nestline::Outcome::too_many_copies;
  }
  const double slots = static_cast<double>(geometry.blocks() * L::kSlots);
  std::printf(
      "%d bits, %llu base blocks, growth %u, %llu fillings, %llu ended by copies, seed %llu:",
      L::kBits, static_cast<unsigned long long>(geometry.base_blocks), geometry.growth,
      static_cast<unsigned long long>(fillings), static_cast<unsigned long long>(copies),
      static_cast<unsigned long long>(seed));
  std::uint64_t below = 0;
  std::uint64_t rank = 1;
  for (std::uint64_t stored = 0; stored < stored_at_failure.size(); ++stored) {
    below += stored_at_failure[stored];
    while (below >= rank && rank <= fillings) {
      std::printf("  %.0e: %llu (%.3f)", static_cast<double>(rank) / static_cast<double>(fillings),
                  static_cast<unsigned long long>(stored), static_cast<double>(stored) / slots);
      rank *= 10;
    }
  }
  std::printf("\n");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: fill_limits BITS BASE_BLOCKS FILLINGS [SEED [GROWTH]]\n");
    return 2;
  }
  const int bits = std::atoi(argv[1]);
  if (!nestline::is_width(bits)) {
    std::fprintf(stderr, "fill_limits: BITS is 8, 9, 10, 12 or 16\n");
    return 2;
  }
  const std::uint64_t seed = argc > 4 ? std::strtoull(argv[4], nullptr, 10) : 1;
  const int growth = argc > 5 ? std::atoi(argv[5]) : 0;
  if (growth < 0 || static_cast<std::uint32_t>(growth) > nestline::max_growth(bits)) {
    std::fprintf(stderr, "fill_limits: GROWTH is 0 to BITS - 4\n");
    return 2;
  }
  const nestline::Geometry geometry{std::strtoull(argv[2], nullptr, 10),
                                    static_cast<std::uint32_t>(growth)};
  nestline::visit_layout(bits, [&](auto layout) {
    measure<decltype(layout)>(geometry, std::strtoull(argv[3], nullptr, 10), seed);
  });
}
