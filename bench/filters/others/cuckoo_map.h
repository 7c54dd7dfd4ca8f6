// Reference: libcuckoo's map (Li, Andersen, Kaminsky, Freedman: "Algorithmic Improvements for Fast
// Concurrent Cuckoo Hashing", EuroSys 2014) from keys to nothing: an exact set that threads
// share.
#ifndef NESTLINE_BENCH_FILTERS_OTHERS_CUCKOO_MAP_H_
#define NESTLINE_BENCH_FILTERS_OTHERS_CUCKOO_MAP_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <libcuckoo/cuckoohash_map.hh>
#include <utility>

namespace nestline::bench {

struct Empty {};

// libcuckoo takes its buckets from the low bits of the hash, and std::hash of an integer is the
// integer itself. With that, consecutive keys would fill one bucket after the other. So it gets a
// hash that mixes well and costs no more than the filter's own: the two halves of a product,
// folded.
struct FoldedProduct {
  std::size_t operator()(std::uint64_t key) const noexcept {
    __extension__ using Wide = unsigned __int128;
    const Wide product = Wide{key ^ 0x7d3c5b1fe2a94867u} * 0xb1e54d87c93a6f2du;
    return static_cast<std::uint64_t>(product >> 64) ^ static_cast<std::uint64_t>(product);
  }
};

// As a user makes it: with room for the wanted keys, on its default allocator. And with what makes
// it faster: huge pages, which it does not use by itself, and twice the room.
template <template <typename> class Allocator, unsigned kRoom>
class CuckooMap {
 public:
  explicit CuckooMap(std::uint64_t keys) : map_(kRoom * keys) {}
  [[nodiscard]] bool contains(std::uint64_t key) const { return map_.contains(key); }
  bool insert(std::uint64_t key) { return map_.insert(key, Empty{}); }
  bool erase(std::uint64_t key) { return map_.erase(key); }
  [[nodiscard]] double load() const { return map_.load_factor(); }

 private:
  libcuckoo::cuckoohash_map<std::uint64_t, Empty, FoldedProduct, std::equal_to<>,
                            Allocator<std::pair<const std::uint64_t, Empty>>>
      map_;
};

}  // namespace nestline::bench

#endif  // NESTLINE_BENCH_FILTERS_OTHERS_CUCKOO_MAP_H_
