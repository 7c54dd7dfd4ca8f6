// Batches of keys: to all parts at once, in commands of hashes.
#ifndef NESTLINE_LIB_CLUSTER_BATCHES_H_
#define NESTLINE_LIB_CLUSTER_BATCHES_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "lib/cluster/key_split.h"
#include "lib/cluster/session.h"
#include "nestline/keys.h"

namespace nestline::cluster {

/// What is done to the keys, and how the answer looks.
struct BatchCommand {
  std::string_view name;  ///< CF.M...H
  bool changes;
  bool gives_bytes;  ///< A byte a key; else a bit.
};

inline constexpr BatchCommand kAsk{"CF.MEXISTSH", false, false};
inline constexpr BatchCommand kAdd{"CF.MADDH", true, false};
inline constexpr BatchCommand kAddUnique{"CF.MADDNXH", true, false};
inline constexpr BatchCommand kErase{"CF.MDELH", true, false};
inline constexpr BatchCommand kCount{"CF.MCOUNTH", false, true};

/// Carries the command out for all keys. out[i] is the answer for keys[i]; it may be empty. Returns
/// the sum of the answers. Throws ClusterError, std::bad_alloc, std::invalid_argument when `out`
/// has another length.
std::uint64_t run_batch(Session& session, KeySplit& split, const BatchCommand& command,
                        KeySpan keys, std::span<std::uint8_t> out);

/// The bits of an answer, least significant first, as bytes 0 and 1 at out[positions[i]]. Returns
/// how many are 1. `out` may be empty. False in `fits` when `bits` has not the length for the
/// positions, or bits behind the last are set.
std::uint64_t spread_bits(std::string_view bits, std::span<const std::uint32_t> positions,
                          std::span<std::uint8_t> out, bool& fits);

}  // namespace nestline::cluster

#endif  // NESTLINE_LIB_CLUSTER_BATCHES_H_
