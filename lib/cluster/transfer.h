// Whole parts between here and the servers, in pieces.
#ifndef NESTLINE_LIB_CLUSTER_TRANSFER_H_
#define NESTLINE_LIB_CLUSTER_TRANSFER_H_

#include "lib/cluster/part_set.h"
#include "lib/cluster/session.h"
#include "nestline/cluster.h"

namespace nestline::cluster {

/// ClusterFilter::upload. Throws ClusterError, std::bad_alloc.
void upload(Session& session, const PartSet& parts, Upload how);

/// ClusterFilter::download. Throws ClusterError, std::bad_alloc.
PartSet download(Session& session);

/// Removes the parts of an epoch. Throws ClusterError.
void unlink_parts(Session& session, std::uint64_t epoch);

/// Milliseconds since 1970 by the clock of the descriptor's server. Throws ClusterError.
std::uint64_t server_time(Session& session);

/// Removes the parts that uploads have left which were killed, or which have not been heard of for
/// ten minutes: those cannot become the content any more. Throws ClusterError.
void remove_left(Session& session);

}  // namespace nestline::cluster

#endif  // NESTLINE_LIB_CLUSTER_TRANSFER_H_
