// What the batches of all filters have in common: keys in, the result of each out.
#ifndef NESTLINE_LIB_ENGINE_BATCH_H_
#define NESTLINE_LIB_ENGINE_BATCH_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>

#include "lib/engine/place/hash.h"
#include "nestline/outcome.h"

namespace nestline { inline namespace v0_3 {

// Whether a batch holds integer keys, which are mixed first, or hashes, which are not.
enum class InputKind : std::uint8_t { integers, hashes };
NESTLINE_INLINE std::uint64_t hash_of(std::uint64_t key, InputKind input,
                                      const MixSecrets& secrets) {
  return input == InputKind::integers ? mix_integer(key, secrets) : key;
}

// A chunk of keys, or what is left of it.
struct Inputs {
  const std::uint64_t* keys = nullptr;
  std::size_t count = 0;
  InputKind kind = InputKind::hashes;

  [[nodiscard]] std::uint64_t hash(std::size_t i, const MixSecrets& secrets) const {
    return hash_of(keys[i], kind, secrets);
  }
  [[nodiscard]] Inputs from(std::size_t at) const { return {keys + at, count - at, kind}; }
  [[nodiscard]] Inputs first(std::uint64_t most) const {
    return {keys, static_cast<std::size_t>(std::min<std::uint64_t>(most, count)), kind};
  }
};

// The checks on a batch's spans before anything is changed, with one wording for all filters.

inline void check_length(const char* span, std::size_t length, std::size_t wanted) {
  if (length != wanted) {
    throw std::invalid_argument(std::string("the span '") + span + "' has " +
                                std::to_string(length) + " elements, but the keys need " +
                                std::to_string(wanted));
  }
}

inline void check_optional_length(const char* span, std::size_t length, std::size_t wanted) {
  if (length != 0) check_length(span, length, wanted);
}

// The results of a changing batch: an Outcome, or whether a key was erased, for each key if the
// caller wants them, and how many keys were stored or erased.
class Record {
 public:
  // The caller's span is empty or has an element for each key.
  Record(std::span<Outcome> outcomes, std::size_t keys)
      : results_(reinterpret_cast<std::uint8_t*>(outcomes.data()), outcomes.size()) {
    check_optional_length("outcomes", outcomes.size(), keys);
  }
  Record(std::span<std::uint8_t> erased, std::size_t keys) : results_(erased) {
    check_optional_length("erased", erased.size(), keys);
  }
  void add(std::size_t key, Outcome outcome) {
    if (!results_.empty()) results_[key] = static_cast<std::uint8_t>(outcome);
    total_ += outcome == Outcome::stored;
  }
  void add_erased(std::size_t key, bool erased) {
    if (!results_.empty()) results_[key] = erased;
    total_ += erased;
  }
  // `keys` keys from this one on were stored.
  void add_stored(std::size_t key, std::size_t keys) {
    constexpr auto kStored = static_cast<std::uint8_t>(Outcome::stored);
    if (!results_.empty()) std::ranges::fill(results_.subspan(key, keys), kStored);
    total_ += keys;
  }
  [[nodiscard]] std::size_t total() const { return total_; }

 private:
  std::span<std::uint8_t> results_;
  std::size_t total_ = 0;
};

// How far a run of inserts may go.
struct RunLimits {
  std::uint64_t room;    // how many keys may be stored before the filter is due to grow
  bool stops_when_full;  // at a key that finds no room; otherwise it is recorded as `full`
};

// Where a run of inserts ended: after how many keys, and if that was early, why.
struct RunEnd {
  std::size_t taken;
  std::size_t present = 0;  // how many of them were there already
  std::size_t refused = 0;  // how many of them found no room
  bool due = false;         // the filter must grow before the next key is stored
  bool full = false;        // the next key found no room
  bool overtaken = false;   // other writers kept overtaking the next key
};

}}  // namespace nestline

#endif  // NESTLINE_LIB_ENGINE_BATCH_H_
