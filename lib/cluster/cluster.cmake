# The client of Redis clusters nestline::cluster: a library of its own, so that programs with filters
# alone do without it and the libraries that it needs. Included by lib/CMakeLists.txt.
#
# It has the data type of the Redis module in it, to build parts here. A static one finds the rest of
# nestline in the library nestline. A shared one has what it needs of it, since the shared library
# nestline does not export names behind the public headers; cluster_export_list keeps those inside.
nestline_find(OpenSSL::SSL OpenSSL ${NESTLINE_OPENSSL_VERSION} COMPONENTS SSL Crypto)
nestline_find_module(HIREDIS hiredis>=${NESTLINE_HIREDIS_VERSION})
nestline_need(build "OpenSSL ${NESTLINE_OPENSSL_VERSION}" OpenSSL::SSL
              "hiredis ${NESTLINE_HIREDIS_VERSION} by pkg-config" PkgConfig::NESTLINE_HIREDIS)
# It asks for -D_FILE_OFFSET_BITS=64, which changes nothing where addresses have 64 bits, and keeps the
# tests from using headers that were compiled without it.
if(NESTLINE_HIREDIS_FOUND)
  set_property(TARGET PkgConfig::NESTLINE_HIREDIS PROPERTY INTERFACE_COMPILE_OPTIONS)
endif()
set(cluster_sources
    cluster/address.cc
    cluster/batches.cc
    cluster/client.cc
    cluster/cluster_filter.cc
    cluster/connection.cc
    cluster/descriptor.cc
    cluster/key_split.cc
    cluster/merge.cc
    cluster/part_set.cc
    cluster/reply.cc
    cluster/run.cc
    cluster/session.cc
    cluster/slot_map.cc
    cluster/tls.cc
    cluster/transfer.cc)
set(cluster_libraries OpenSSL::SSL OpenSSL::Crypto PkgConfig::NESTLINE_HIREDIS)
add_library(nestline_cluster ${cluster_sources} $<TARGET_OBJECTS:nestline_redis_value>)
add_library(nestline::cluster ALIAS nestline_cluster)
target_include_directories(
  nestline_cluster
  PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
  PRIVATE ${PROJECT_SOURCE_DIR})
target_link_libraries(
  nestline_cluster
  PUBLIC nestline
  PRIVATE ${cluster_libraries} TBB::tbb)
nestline_warnings(nestline_cluster)
nestline_precompile(nestline_cluster)
nestline_unity(nestline_cluster)
# A shared one finds the other library beside it.
set_target_properties(
  nestline_cluster
  PROPERTIES EXPORT_NAME cluster
             OUTPUT_NAME nestline-cluster
             VERSION ${PROJECT_VERSION}
             SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
             INSTALL_RPATH "$ORIGIN")
if(library_type STREQUAL "SHARED_LIBRARY")
  set(cluster_export_list ${CMAKE_CURRENT_SOURCE_DIR}/packaging/nestline-cluster.map)
  add_dependencies(nestline_cluster nestline_inside)
  target_link_libraries(nestline_cluster PRIVATE $<TARGET_FILE:nestline_inside>
                                                 PkgConfig::NESTLINE_URCU)
  target_link_options(nestline_cluster PRIVATE LINKER:--version-script=${cluster_export_list})
  set_property(TARGET nestline_cluster APPEND PROPERTY LINK_DEPENDS ${cluster_export_list})
endif()

# The same objects for tests of what is behind the public header.
if(NESTLINE_BUILD_TESTS)
  add_library(nestline_cluster_inside STATIC $<TARGET_OBJECTS:nestline_cluster>)
  set_target_properties(nestline_cluster_inside PROPERTIES LINKER_LANGUAGE CXX)
  target_link_libraries(nestline_cluster_inside PUBLIC nestline_redis_value ${cluster_libraries})
endif()
