# The store nestline::store: a library of its own, so that programs with filters alone do without it and
# the libraries that it needs. Included by lib/CMakeLists.txt.
nestline_find(OpenSSL::Crypto OpenSSL ${NESTLINE_OPENSSL_VERSION} COMPONENTS Crypto)
nestline_need(build "OpenSSL ${NESTLINE_OPENSSL_VERSION}" OpenSSL::Crypto)
set(store_sources
    store/changing.cc
    store/checkpoint.cc
    store/cold_reads.cc
    store/compaction.cc
    store/digest.cc
    store/files.cc
    store/index.cc
    store/log.cc
    store/log_format.cc
    store/opening.cc
    store/reading.cc
    store/recovery.cc
    store/repair.cc
    store/replay.cc
    store/segment_reader.cc
    store/segment_table.cc
    store/survey.cc
    store/sync_queue.cc
    store/system_disk.cc
    store/upkeep.cc)
set(store_libraries PkgConfig::NESTLINE_URCU OpenSSL::Crypto)
add_library(nestline_store ${store_sources})
add_library(nestline::store ALIAS nestline_store)
target_include_directories(
  nestline_store
  PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
  PRIVATE ${PROJECT_SOURCE_DIR})
target_include_directories(nestline_store SYSTEM PRIVATE ${NESTLINE_XXHASH_INCLUDE_DIR})
target_link_libraries(
  nestline_store
  PUBLIC nestline
  PRIVATE ${store_libraries})
nestline_warnings(nestline_store)
nestline_precompile(nestline_store)
nestline_unity(nestline_store)
# A shared one finds the other library beside it.
set_target_properties(
  nestline_store
  PROPERTIES EXPORT_NAME store
             OUTPUT_NAME nestline-store
             VERSION ${PROJECT_VERSION}
             SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
             INSTALL_RPATH "$ORIGIN")
if(library_type STREQUAL "SHARED_LIBRARY")
  target_link_options(nestline_store PRIVATE LINKER:--version-script=${export_list})
  set_property(TARGET nestline_store APPEND PROPERTY LINK_DEPENDS ${export_list})
endif()

# The same for tests of what is behind the public header, with the faults that tests can plant
# (store/test_switches.h).
if(NESTLINE_BUILD_TESTS)
  add_library(nestline_store_hooked STATIC ${store_sources})
  target_compile_definitions(nestline_store_hooked PUBLIC NESTLINE_TEST_HOOKS)
  target_compile_options(nestline_store_hooked PRIVATE ${test_options})
  target_include_directories(nestline_store_hooked SYSTEM PRIVATE ${NESTLINE_XXHASH_INCLUDE_DIR})
  target_link_libraries(nestline_store_hooked PUBLIC nestline_inside ${store_libraries})
  nestline_warnings(nestline_store_hooked)
  nestline_unity(nestline_store_hooked)
endif()
