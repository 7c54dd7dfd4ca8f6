// Fuzz target: bytes are operations on a small filter, checked against an exact multiset.
//
//   width, capacity, seed, then for each operation its byte and what it takes
//
// At all times, a stored key is found, its copies are counted, and the size is exact. An insert
// that fails leaves every byte as it was. A batch does what its keys do one by one. A filter that
// was written and read continues as if it had not been.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nestline/filter.h"
#include "nestline/io.h"

namespace {

using nestline::Filter;
using nestline::Hash;
using nestline::Inserted;
using nestline::KeySpan;
using nestline::Outcome;

void check(bool good) {
  if (!good) std::abort();
}

// The input, byte by byte; zeros after its end.
class Input {
 public:
  explicit Input(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}
  [[nodiscard]] bool empty() const { return bytes_.empty(); }
  unsigned next() {
    if (bytes_.empty()) return 0;
    const unsigned byte = bytes_.front();
    bytes_ = bytes_.subspan(1);
    return byte;
  }

 private:
  std::span<const std::uint8_t> bytes_;
};

enum class Kind : std::uint8_t { integer, string, hash };

// 256 keys of each kind. The hashes collide as much as hashes can: few homes, fingerprints, bucket
// offsets.
struct KeySet {
  std::vector<std::uint64_t> integers;
  std::vector<std::string> texts;
  std::vector<std::string_view> strings;
  std::vector<Hash> hashes;

  KeySet() {
    for (std::uint64_t i = 0; i < 256; ++i) {
      integers.push_back(i);
      texts.push_back(std::string(i / 2, 'x') + static_cast<char>(i));
      hashes.push_back({(i & 7) << 61 | (i >> 3 & 3) << 20 | (i >> 5) * 0x2111});
    }
    strings.assign(texts.begin(), texts.end());
  }

  // Calls `use` with the keys of a kind.
  template <typename Use>
  void with(Kind kind, Use&& use) const {
    if (kind == Kind::integer) use(std::span(integers));
    if (kind == Kind::string) use(std::span(strings));
    if (kind == Kind::hash) use(std::span(hashes));
  }
};

const KeySet& keys() {
  static const KeySet set;
  return set;
}

class Run {
 public:
  explicit Run(Input& input)
      : input_(input),
        bits_(width_of(input.next())),
        filter_({.capacity = 1 + input.next() % 200, .bits = bits_, .seed = input.next()}),
        twin_(nestline::Filter::load(nestline::to_bytes(filter_))) {}

  void operation() {
    const unsigned code = input_.next();
    kind_ = static_cast<Kind>(code >> 4 & 3 ? (code >> 4 & 3) - 1 : 0);
    keys().with(kind_, [&](auto all) {
      switch (code & 15) {
        case 8:
          return erase(all);
        case 9:
          return insert_unique(all);
        case 10:
          return update(all);
        case 11:
          return insert_batch(all);
        case 12:
          return erase_batch(all);
        case 13:
          return ask_batch(all);
        case 14:
          return reload();
        case 15:
          return input_.next() == 0 ? clear() : erase(all);
        default:
          return insert(all);
      }
    });
  }

  // No false negative, and the right size.
  void check_all() {
    std::uint64_t total = 0;
    for (const Kind kind : {Kind::integer, Kind::string, Kind::hash}) {
      keys().with(kind, [&](auto all) {
        for (std::size_t i = 0; i < all.size(); ++i) {
          const unsigned copies = model(kind)[i];
          total += copies;
          check_key(all[i], copies);
        }
      });
    }
    check(filter_.size() == total);
    check_twin();
  }

 private:
  static int width_of(unsigned code) {
    return code < 128 ? std::array{8, 12, 16}[code % 3] : 9 + static_cast<int>(code % 2);
  }

  using Copies = std::array<unsigned, 256>;
  Copies& model(Kind kind) { return copies_[static_cast<std::size_t>(kind)]; }
  Copies& model() { return model(kind_); }

  template <typename Key>
  void check_key(const Key& key, unsigned copies) const {
    const unsigned counted = filter_.count(key);
    check(counted >= copies && counted <= (bits_ == 16 ? 10u : 8u));
    check(filter_.may_contain(key) == (counted != 0));
  }

  // Runs a change that stores one key or changes nothing. The twin has had every successful change
  // and no other, so it must hold the same bytes.
  template <typename Change>
  Inserted change(Change&& run) {
    const Inserted inserted = run(filter_);
    if (inserted) {
      check(bool{run(twin_)});
    } else {
      check_twin();
    }
    return inserted;
  }

  void check_twin() const { check(nestline::to_bytes(filter_) == nestline::to_bytes(twin_)); }

  template <typename Keys>
  void insert(Keys all) {
    const unsigned i = input_.next();
    const Inserted inserted = change([&](Filter& filter) { return filter.insert(all[i]); });
    check(inserted.outcome != Outcome::present);
    model()[i] += bool{inserted};
    check_key(all[i], model()[i]);
  }

  template <typename Keys>
  void insert_unique(Keys all) {
    const unsigned i = input_.next();
    const bool there = filter_.may_contain(all[i]);
    const Inserted inserted = change([&](Filter& filter) { return filter.insert_unique(all[i]); });
    check((inserted.outcome == Outcome::present) == there);
    model()[i] += bool{inserted};
    check_key(all[i], model()[i]);
  }

  template <typename Keys>
  void erase(Keys all) {
    const unsigned i = some_present();
    if (model()[i] == 0) return;
    check(filter_.erase(all[i]) && twin_.erase(all[i]));
    --model()[i];
    check_key(all[i], model()[i]);
  }

  template <typename Keys>
  void update(Keys all) {
    const unsigned from = some_present();
    const unsigned to = input_.next();
    if (model()[from] == 0) return;
    const Inserted inserted = change([&](Filter& f) { return f.update(all[from], all[to]); });
    check(inserted.outcome != Outcome::present);
    model()[from] -= bool{inserted};
    model()[to] += bool{inserted};
    check_key(all[to], model()[to]);
    check_key(all[from], model()[from]);
  }

  template <typename Keys>
  void insert_batch(Keys all) {
    const auto chosen = choose(all, 80);  // more would only be slow where the filter is full
    std::vector<Outcome> outcomes(chosen.batch.size());
    const std::size_t count = filter_.insert(chosen.batch, outcomes);
    std::size_t stored = 0;
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      check(twin_.insert(chosen.batch[i]).outcome == outcomes[i]);
      model()[chosen.index[i]] += outcomes[i] == Outcome::stored;
      stored += outcomes[i] == Outcome::stored;
    }
    check(count == stored);
    check_twin();
  }

  template <typename Keys>
  void erase_batch(Keys all) {
    auto chosen = choose(all);
    // Only stored keys may be erased, each at most as often as it is stored.
    Copies left = model();
    std::size_t kept = 0;
    for (std::size_t i = 0; i < chosen.batch.size(); ++i) {
      if (left[chosen.index[i]] == 0) continue;
      --left[chosen.index[i]];
      chosen.batch[kept++] = chosen.batch[i];
    }
    chosen.batch.resize(kept, all[0]);
    check(filter_.erase(chosen.batch) == kept);
    for (const auto& key : chosen.batch) check(twin_.erase(key));
    model() = left;
  }

  template <typename Keys>
  void ask_batch(Keys all) const {
    const auto chosen = choose(all);
    const std::size_t size = chosen.batch.size();
    std::vector<std::uint8_t> found(size);
    std::vector<std::uint8_t> counts(size);
    std::vector<std::uint32_t> positions(size);
    std::vector<std::uint64_t> bitmap((size + 63) / 64);
    const std::size_t hits = filter_.may_contain(chosen.batch, found);
    check(filter_.may_contain_bits(chosen.batch, bitmap) == hits);
    check(filter_.select(chosen.batch, positions) == hits);
    filter_.count(chosen.batch, counts);
    std::size_t seen = 0;
    for (std::size_t i = 0; i < size; ++i) {
      check(filter_.may_contain(chosen.batch[i]) == (found[i] != 0));
      check((bitmap[i / 64] >> i % 64 & 1) == found[i]);
      check(filter_.count(chosen.batch[i]) == counts[i]);
      if (found[i] != 0) check(positions[seen++] == i);
    }
    check(seen == hits);
  }

  void reload() {
    const auto bytes = nestline::to_bytes(filter_);
    filter_ = nestline::Filter::load(bytes);
    check_twin();
  }

  void clear() {
    filter_.clear();
    twin_.clear();
    copies_ = {};
    check(filter_.size() == 0);
  }

  // A stored key of the present kind, or any key if none is stored.
  unsigned some_present() {
    unsigned i = input_.next();
    for (unsigned steps = 0; steps < 256 && model()[i] == 0; ++steps) i = (i + 1) % 256;
    return i;
  }

  template <typename Key>
  struct Chosen {
    std::vector<Key> batch;
    std::vector<unsigned> index;
  };

  // Up to `most` keys: a run of them that starts anywhere and goes on by any step.
  template <typename Key>
  Chosen<Key> choose(std::span<const Key> all, unsigned most = 255) const {
    const unsigned first = input_.next();
    const unsigned step = input_.next();
    const unsigned count = input_.next() % (most + 1);
    Chosen<Key> chosen;
    for (unsigned i = 0; i < count; ++i) {
      chosen.index.push_back((first + i * step) % 256);
      chosen.batch.push_back(all[chosen.index.back()]);
    }
    return chosen;
  }

  Input& input_;
  int bits_;
  Filter filter_;
  Filter twin_;  // gets keys one by one, and is never reloaded
  Kind kind_ = Kind::integer;
  std::array<Copies, 3> copies_{};
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(std::span(data, size));
  Run run(input);
  while (!input.empty()) run.operation();
  run.check_all();
  return 0;
}
