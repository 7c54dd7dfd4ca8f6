// RedisBloom's cuckoo filter as a model for tests: it makes data as users of RedisBloom have them.
//
// Written to be read, not for speed, and independent of the code that it tests: the hash is
// libstdc++'s MurmurHash64A. It adds items, for tables to load, and counts, erases and compacts.
#ifndef NESTLINE_TESTS_FACES_EMBED_REDISBLOOM_REDISBLOOM_MODEL_H_
#define NESTLINE_TESTS_FACES_EMBED_REDISBLOOM_REDISBLOOM_MODEL_H_

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/faces/embed/redisbloom/redisbloom_tables.h"

namespace nestline::redis {

// The standard library's hash reads words in the machine's order; RedisBloom's are little-endian.
inline std::uint64_t standard_murmur_hash64a(std::string bytes, std::uint64_t seed) {
  if constexpr (std::endian::native == std::endian::big) {
    for (auto rest = std::span(bytes); rest.size() >= 8; rest = rest.subspan(8)) {
      std::ranges::reverse(rest.first(8));
    }
  }
  return std::_Hash_bytes(bytes.data(), bytes.size(), seed);
}

class RedisBloomModel {
 public:
  using Table = std::vector<std::uint8_t>;  // bucket after bucket

  RedisBloomModel(std::uint64_t capacity, std::uint16_t bucket_size, std::uint16_t max_iterations,
                  std::uint16_t expansion)
      : bucket_size_(bucket_size),
        max_iterations_(max_iterations),
        expansion_(expansion == 0 ? std::uint16_t{0} : std::bit_ceil(expansion)),
        buckets_(std::bit_ceil(std::max<std::uint64_t>(1, capacity / bucket_size))) {
    grow();
  }

  static std::uint64_t hash(std::string_view item) {
    return standard_murmur_hash64a(std::string(item), 0);
  }

  // False: full.
  bool add(std::string_view item) {
    const std::uint64_t h = hash(item);
    for (;;) {
      if (put_free(h) || kick(h)) {
        ++items_;
        return true;
      }
      if (expansion_ == 0) return false;
      grow();
    }
  }

  [[nodiscard]] std::uint64_t count(std::string_view item) const {
    const std::uint64_t h = hash(item);
    std::uint64_t copies = 0;
    for (const Table& table : tables_) {
      for (const std::uint64_t each : {h, other(h, mark(h))}) {
        for (std::size_t slot = 0; slot < bucket_size_; ++slot) {
          copies += table[at(table, each, slot)] == mark(h);
        }
      }
    }
    return copies;
  }

  bool erase(std::string_view item) {
    const std::uint64_t h = hash(item);
    for (std::size_t i = tables_.size(); i-- > 0;) {
      for (const std::uint64_t each : {h, other(h, mark(h))}) {
        if (!replace(tables_[i], each, mark(h), 0)) continue;
        --items_;
        ++deletes_;
        const bool many = static_cast<double>(deletes_) > static_cast<double>(items_) * 0.10;
        if (tables_.size() > 1 && many) compact(false);
        return true;
      }
    }
    return false;
  }

  void compact(bool all) {
    for (std::size_t i = tables_.size(); i-- > 1;) {
      if (move_out(i)) {
        if (i + 1 == tables_.size()) tables_.pop_back();
      } else if (!all) {
        break;
      }
    }
    deletes_ = 0;
  }

  [[nodiscard]] RedisBloomHeader header() const {
    return {items_, buckets_, deletes_, tables_.size(), bucket_size_, max_iterations_, expansion_};
  }
  [[nodiscard]] const std::vector<Table>& tables() const { return tables_; }
  // The Size of RedisBloom's CF.INFO.
  [[nodiscard]] std::uint64_t told_size() const {
    std::uint64_t size = 40 + 16 * tables_.size();
    for (const Table& table : tables_) size += table.size();
    return size;
  }

  // The same in our form.
  [[nodiscard]] RedisBloomTables loaded() const {
    RedisBloomTables made(header());
    for (std::size_t i = 0; i < tables_.size(); ++i) {
      made.load_table(i, 0, std::as_bytes(std::span(tables_[i])));
    }
    return made;
  }

 private:
  static std::uint8_t mark(std::uint64_t h) { return static_cast<std::uint8_t>(h % 255 + 1); }
  static std::uint64_t other(std::uint64_t h, std::uint8_t fingerprint) {
    return h ^ (std::uint64_t{fingerprint} * 0x5bd1e995);
  }
  [[nodiscard]] std::size_t at(const Table& table, std::uint64_t h, std::size_t slot) const {
    const std::uint64_t buckets = table.size() / bucket_size_;
    return static_cast<std::size_t>(h % buckets * bucket_size_ + slot);
  }

  void grow() {
    std::uint64_t buckets = buckets_;
    for (std::size_t i = 0; i < tables_.size(); ++i) buckets *= expansion_;
    tables_.emplace_back(static_cast<std::size_t>(buckets * bucket_size_));
  }

  // In the first slot of the bucket that holds `from`.
  bool replace(Table& table, std::uint64_t h, std::uint8_t from, std::uint8_t to) const {
    for (std::size_t slot = 0; slot < bucket_size_; ++slot) {
      if (table[at(table, h, slot)] != from) continue;
      table[at(table, h, slot)] = to;
      return true;
    }
    return false;
  }

  bool put_free(std::uint64_t h) {
    return std::any_of(tables_.rbegin(), tables_.rend(), [&](Table& table) {
      return replace(table, h, 0, mark(h)) || replace(table, other(h, mark(h)), 0, mark(h));
    });
  }

  bool kick(std::uint64_t h) {
    Table& table = tables_.back();
    const Table before = table;
    std::uint8_t fingerprint = mark(h);
    std::size_t victim = 0;
    for (unsigned i = 0; i < max_iterations_; ++i) {
      std::swap(fingerprint, table[at(table, h, victim)]);
      h = other(h % (table.size() / bucket_size_), fingerprint);
      if (replace(table, h, 0, fingerprint)) return true;
      victim = (victim + 1) % bucket_size_;
    }
    table = before;
    return false;
  }

  bool move_out(std::size_t from) {
    bool emptied = true;
    for (std::size_t i = 0; i < tables_[from].size(); ++i) {
      std::uint8_t& slot = tables_[from][i];
      if (slot == 0) continue;
      const std::uint64_t h = i / bucket_size_;
      const bool moved = std::any_of(
          tables_.begin(), tables_.begin() + static_cast<std::ptrdiff_t>(from), [&](Table& table) {
            return replace(table, h, 0, slot) || replace(table, other(h, slot), 0, slot);
          });
      if (moved) slot = 0;
      emptied = emptied && moved;
    }
    return emptied;
  }

  std::uint16_t bucket_size_;
  std::uint16_t max_iterations_;
  std::uint16_t expansion_;
  std::uint64_t buckets_;
  std::uint64_t items_ = 0;
  std::uint64_t deletes_ = 0;
  std::vector<Table> tables_;
};

}  // namespace nestline::redis

#endif  // NESTLINE_TESTS_FACES_EMBED_REDISBLOOM_REDISBLOOM_MODEL_H_
