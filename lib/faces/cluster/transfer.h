// What ClusterFilter does with its session: batches, uploads, downloads, merges, figures.
#ifndef NESTLINE_LIB_FACES_CLUSTER_TRANSFER_H_
#define NESTLINE_LIB_FACES_CLUSTER_TRANSFER_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "lib/faces/cluster/part_set.h"
#include "lib/faces/cluster/session.h"

namespace nestline { inline namespace v0_3 { namespace cluster {

// ClusterFilter's. They throw ClusterError, std::bad_alloc, and merge std::invalid_argument.
void upload(Session& session, const PartSet& parts, Upload how);
PartSet download(Session& session);
void merge(Session& target, Session& source);
void fit(Session& session);
ClusterStats survey(Session& session);
/// Adds to each of these parts of the content the key that `source` names, in the same slot. Throws
/// ClusterError; when the content was replaced meanwhile, the filter has nothing of it.
void merge_parts(Session& target, std::span<const std::uint32_t> parts,
                 const std::function<std::string(std::uint32_t part)>& source);

/// What is done to the keys, and how the answer looks.
struct BatchCommand {
  std::string_view name;  ///< CF.M...H
  bool changes;
  bool gives_bytes;  ///< A byte a key; else a bit.
};

inline constexpr BatchCommand kLookup{"CF.MEXISTSH", false, false};
inline constexpr BatchCommand kInsert{"CF.MADDH", true, false};
inline constexpr BatchCommand kInsertUnique{"CF.MADDNXH", true, false};
inline constexpr BatchCommand kErase{"CF.MDELH", true, false};
inline constexpr BatchCommand kCount{"CF.MCOUNTH", false, true};
/// Carries the command out for all keys: out[i] is the answer for keys[i], unless it is empty.
/// Returns the sum. Throws ClusterError, std::bad_alloc, std::invalid_argument for a wrong length.
std::uint64_t run_batch(Session& session, KeySplit& split, const BatchCommand& command,
                        KeySpan keys, std::span<std::uint8_t> out);
/// The bits of a reply, lowest first, as bytes at out[positions[i]], unless `out` is empty. Returns
/// how many are 1; nothing when `bits` has another length or bits behind the last are set.
std::optional<std::uint64_t> spread_bits(std::string_view bits,
                                         std::span<const std::uint32_t> positions,
                                         std::span<std::uint8_t> out);
void unlink_parts(Session& session, std::uint64_t epoch);  ///< throws ClusterError

}}}  // namespace nestline::cluster

#endif  // NESTLINE_LIB_FACES_CLUSTER_TRANSFER_H_
