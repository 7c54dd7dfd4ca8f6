// Adding parts to parts, on the servers.
#ifndef NESTLINE_LIB_CLUSTER_MERGE_H_
#define NESTLINE_LIB_CLUSTER_MERGE_H_

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "lib/cluster/session.h"

namespace nestline::cluster {

/// Adds to each of these parts of the content the key that `source` names, in the same slot. Throws
/// ClusterError; when the content was replaced meanwhile, the filter has nothing of it.
void merge_parts(Session& target, std::span<const std::uint32_t> parts,
                 const std::function<std::string(std::uint32_t part)>& source);

/// ClusterFilter::merge. Throws ClusterError, std::invalid_argument, std::bad_alloc.
void merge(Session& target, Session& source);

}  // namespace nestline::cluster

#endif  // NESTLINE_LIB_CLUSTER_MERGE_H_
