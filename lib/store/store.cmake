# The store nestline::store: a library of its own, so that programs with filters alone do without it; and
# files in it, nestline::store_files, which alone need libcrypto. Included by lib/CMakeLists.txt.
set(store_sources
    store/changing.cc
    store/checkpoint.cc
    store/cold_reads.cc
    store/compaction.cc
    store/copying.cc
    store/digest.cc
    store/index.cc
    store/log.cc
    store/log_batch.cc
    store/log_format.cc
    store/manifests.cc
    store/opening.cc
    store/pieces.cc
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
set(store_files_sources store/files/store_files.cc)
nestline_library(nestline_store nestline.map ${store_sources})
target_include_directories(nestline_store SYSTEM PRIVATE ${NESTLINE_XXHASH_INCLUDE_DIR})
target_link_libraries(
  nestline_store
  PUBLIC nestline
  PRIVATE PkgConfig::NESTLINE_URCU)
nestline_unity(nestline_store)
set(store_objects $<TARGET_OBJECTS:nestline_store>)
if(NESTLINE_BUILD_STORE_FILES)
  nestline_library(nestline_store_files nestline.map ${store_files_sources})
  target_link_libraries(
    nestline_store_files
    PUBLIC nestline_store
    PRIVATE OpenSSL::Crypto)
  list(APPEND store_objects $<TARGET_OBJECTS:nestline_store_files>)
endif()

# The same for tests of what is behind the public header, with the faults that tests can plant
# (store/test_switches.h).
if(TARGET nestline_store_files AND NESTLINE_BUILD_TESTS AND NESTLINE_SANITIZE MATCHES "thread")
  add_library(nestline_store_hooked INTERFACE)
  target_link_libraries(nestline_store_hooked INTERFACE nestline_store_files nestline_inside)
elseif(TARGET nestline_store_files AND NESTLINE_BUILD_TESTS)
  add_library(nestline_store_hooked STATIC ${store_sources} ${store_files_sources})
  target_compile_definitions(nestline_store_hooked PUBLIC NESTLINE_TEST_HOOKS)
  target_include_directories(nestline_store_hooked SYSTEM PRIVATE ${NESTLINE_XXHASH_INCLUDE_DIR})
  target_link_libraries(nestline_store_hooked PUBLIC nestline_inside PkgConfig::NESTLINE_URCU OpenSSL::Crypto)
  nestline_warnings(nestline_store_hooked)
  nestline_precompile(nestline_store_hooked)
  nestline_unity(nestline_store_hooked)
endif()
