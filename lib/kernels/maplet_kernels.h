// The vectorized work of maplets, as kernels.h has it for filters: the kernels that tables need,
// and lookups that give values. Apart from those of the filters, since they are compiled as often.
//
// Table::values defines what the lookups give; tests/maplet/maplet_kernels_test.cc compares them on
// every target.
#ifndef NESTLINE_LIB_KERNELS_MAPLET_KERNELS_H_
#define NESTLINE_LIB_KERNELS_MAPLET_KERNELS_H_

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "lib/kernels/kernels.h"
#include "lib/place/layout.h"

namespace nestline {

// The keys of a batch that are answered together.
struct MapletGroup {
  struct Looked {
    std::uint64_t block;  // home
    std::uint32_t fingerprint;
    std::uint32_t header;  // under which home is read
  };
  Looked keys[kLocateMost];
  std::size_t count = 0;
};

struct MapletKernels {
  Kernels table;

  // Puts the values of the key with this hash into the front of `values`, which has room for
  // kMaxCopies and may be written behind the values; returns how many there are. kBusy: writers
  // were at its blocks, and Table::values has to answer (R3 in locking.h).
  static constexpr std::size_t kBusy = ~std::size_t{0};
  std::size_t (*find)(const BlocksView& view, std::uint64_t hash, std::uint64_t* values) noexcept;

  // The same for a group of up to kLocateMost keys, in two steps, so that the homes of one group
  // are on their way to the cache while another is answered: first the places of the keys,
  void (*locate)(const BlocksView& view, const std::uint64_t* keys, std::size_t count, Input input,
                 MapletGroup& group) noexcept;
  // then the values of all in the order of the keys, and how many each key has in `counts`.
  // `values` has room for kMaxCopies of each. Returns how many there are in all, or kBusy if any
  // key's blocks were busy.
  std::size_t (*find_batch)(const BlocksView& view, MapletGroup& group, std::uint8_t* counts,
                            std::uint64_t* values) noexcept;

  // Stores the key with this hash and this value in a free slot at home. If there is none, nothing
  // is changed, and `home` is the key's.
  using Store = bool (*)(const Block* blocks, const Geometry& geometry, std::uint64_t hash,
                         std::uint64_t value, Place& home) noexcept;
  Store store_beside_readers;
  Store store_beside_writers;
  template <class Locks>
  [[nodiscard]] Store store_first() const {
    if constexpr (std::is_same_v<Locks, OneWriter>) return store_beside_readers;
    if constexpr (std::is_same_v<Locks, BlockLocks>) return store_beside_writers;
  }
};

// For this processor, as kernels_for.
const MapletKernels& maplet_kernels();

}  // namespace nestline

#endif  // NESTLINE_LIB_KERNELS_MAPLET_KERNELS_H_
