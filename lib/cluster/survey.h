// What the servers do among themselves, and what they tell about the parts.
#ifndef NESTLINE_LIB_CLUSTER_SURVEY_H_
#define NESTLINE_LIB_CLUSTER_SURVEY_H_

#include "lib/cluster/session.h"
#include "nestline/cluster.h"

namespace nestline::cluster {

/// ClusterFilter::merge. Throws ClusterError, std::invalid_argument, std::bad_alloc.
void merge(Session& target, Session& source);

/// ClusterFilter::stats. Throws ClusterError, std::bad_alloc.
ClusterStats survey(Session& session);

}  // namespace nestline::cluster

#endif  // NESTLINE_LIB_CLUSTER_SURVEY_H_
