# The client of Redis clusters nestline::cluster: a library of its own, so that programs with filters
# alone do without it and the libraries that it needs. Included by lib/CMakeLists.txt.
#
# It has the data type of the Redis module in it, to build parts here. A static one finds the rest of
# nestline in the library nestline. A shared one has what it needs of it, since the shared library
# nestline does not export names behind the public headers; its list of exports keeps those inside.
# It asks for -D_FILE_OFFSET_BITS=64, which changes nothing where addresses have 64 bits, and keeps the
# tests from using headers that were compiled without it.
if(NESTLINE_HIREDIS_FOUND)
  set_property(TARGET PkgConfig::NESTLINE_HIREDIS PROPERTY INTERFACE_COMPILE_OPTIONS)
endif()
set(cluster_sources
    faces/cluster/address.cc
    faces/cluster/batches.cc
    faces/cluster/client.cc
    faces/cluster/cluster_filter.cc
    faces/cluster/connection.cc
    faces/cluster/descriptor.cc
    faces/cluster/key_split.cc
    faces/cluster/merge.cc
    faces/cluster/part_set.cc
    faces/cluster/reply.cc
    faces/cluster/run.cc
    faces/cluster/session.cc
    faces/cluster/slot_map.cc
    faces/cluster/tls.cc
    faces/cluster/transfer.cc)
set(cluster_libraries OpenSSL::SSL OpenSSL::Crypto PkgConfig::NESTLINE_HIREDIS)
nestline_library(nestline_cluster nestline-cluster.map ${cluster_sources} $<TARGET_OBJECTS:nestline_redis_value>)
target_link_libraries(
  nestline_cluster
  PUBLIC nestline
  PRIVATE ${cluster_libraries} TBB::tbb)
nestline_unity(nestline_cluster)
if(library_type STREQUAL "SHARED_LIBRARY")
  add_dependencies(nestline_cluster nestline_inside)
  target_link_libraries(nestline_cluster PRIVATE $<TARGET_FILE:nestline_inside>
                                                 PkgConfig::NESTLINE_URCU)
else()
  target_link_libraries(nestline_cluster PRIVATE nestline_parallel)
endif()

# The same objects for tests of what is behind the public header.
if(NESTLINE_BUILD_TESTS)
  add_library(nestline_cluster_inside STATIC $<TARGET_OBJECTS:nestline_cluster>)
  set_target_properties(nestline_cluster_inside PROPERTIES LINKER_LANGUAGE CXX)
  target_link_libraries(nestline_cluster_inside PUBLIC nestline_redis_value ${cluster_libraries})
endif()
