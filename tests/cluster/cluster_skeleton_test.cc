#include <gtest/gtest.h>

#include "nestline/cluster.h"

TEST(Skeleton, Throws) {
  EXPECT_THROW(nestline::ClusterFilter::open({}, "x"), nestline::ClusterError);
}
