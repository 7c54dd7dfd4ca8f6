// What the servers tell about the parts.
#ifndef NESTLINE_LIB_CLUSTER_SURVEY_H_
#define NESTLINE_LIB_CLUSTER_SURVEY_H_

#include "lib/cluster/session.h"
#include "nestline/cluster.h"

namespace nestline::cluster {

/// ClusterFilter::stats. Throws ClusterError, std::bad_alloc.
ClusterStats survey(Session& session);

}  // namespace nestline::cluster

#endif  // NESTLINE_LIB_CLUSTER_SURVEY_H_
