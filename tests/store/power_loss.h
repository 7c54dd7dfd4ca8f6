// What the loss of power does to changes that were not synced. Losses come in kinds, since tossing
// a coin for each finds no fault that needs nine changes kept and one lost: all or few are kept or
// lost, all up to one that is torn, or each has its coin.
#ifndef NESTLINE_TESTS_STORE_POWER_LOSS_H_
#define NESTLINE_TESTS_STORE_POWER_LOSS_H_

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace nestline::test {

inline constexpr std::uint64_t kSector = 512;
inline constexpr std::uint64_t kPage = 4096;

// A change of a file that is not synced.
struct Change {
  bool truncation = false;
  std::uint64_t offset = 0;
  std::vector<std::byte> bytes;
  std::uint64_t size = 0;  // of the file afterwards
};

void lay(std::vector<std::byte>& content, const Change& change);  // makes the whole change

// Draws the fate of one change after the other, the same for the same seed.
class Fates {
 public:
  explicit Fates(std::uint64_t seed) : random_(seed), kind_(random_() % kKinds) {}

  // Makes what is left of the change.
  void lay(std::vector<std::byte>& content, const Change& change);
  bool keeps_name() { return next() == Fate::kept; }  // whether a change of a name is left
  void next_file();  // draws another kind of loss for the changes that follow, sometimes

 private:
  static constexpr std::uint64_t kKinds = 7;
  enum class Fate : std::uint8_t { kept, lost, torn };

  Fate next();
  // The length of the file after a write that was lost or torn.
  void lay_length(std::vector<std::byte>& content, const Change& change);
  void lay_torn(std::vector<std::byte>& content, const Change& change);
  bool one_in(std::uint64_t count) { return random_() % count == 0; }
  std::uint64_t below(std::uint64_t end) { return random_() % end; }

  std::mt19937_64 random_;
  std::uint64_t kind_;
};

}  // namespace nestline::test

#endif  // NESTLINE_TESTS_STORE_POWER_LOSS_H_
