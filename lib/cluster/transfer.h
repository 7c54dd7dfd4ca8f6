// What is done with whole parts: uploads and downloads in pieces, merges on the servers, figures.
#ifndef NESTLINE_LIB_CLUSTER_TRANSFER_H_
#define NESTLINE_LIB_CLUSTER_TRANSFER_H_

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "lib/cluster/part_set.h"
#include "lib/cluster/session.h"
#include "nestline/cluster.h"

namespace nestline::cluster {

// The members of ClusterFilter. They throw ClusterError, std::bad_alloc; merge also
// std::invalid_argument.
void upload(Session& session, const PartSet& parts, Upload how);
PartSet download(Session& session);
void merge(Session& target, Session& source);
ClusterStats survey(Session& session);

/// Adds to each of these parts of the content the key that `source` names, in the same slot. Throws
/// ClusterError; when the content was replaced meanwhile, the filter has nothing of it.
void merge_parts(Session& target, std::span<const std::uint32_t> parts,
                 const std::function<std::string(std::uint32_t part)>& source);

/// Removes the parts of an epoch. Throws ClusterError.
void unlink_parts(Session& session, std::uint64_t epoch);

}  // namespace nestline::cluster

#endif  // NESTLINE_LIB_CLUSTER_TRANSFER_H_
