# The store nestline::store: a library of its own, so that programs with filters alone do without it; and
# files in it, nestline::store_files, which alone need libcrypto. Included by lib/CMakeLists.txt.
nestline_find(OpenSSL::Crypto OpenSSL ${NESTLINE_OPENSSL_VERSION} COMPONENTS Crypto)
nestline_need(build "OpenSSL ${NESTLINE_OPENSSL_VERSION}" OpenSSL::Crypto)
set(store_sources
    store/changing.cc
    store/checkpoint.cc
    store/cold_reads.cc
    store/compaction.cc
    store/digest.cc
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
set(store_files_sources store/files/store_files.cc)
# nestline_store_library(NAME OUTPUT BELOW SOURCE...): nestline::NAME on the library BELOW.
function(nestline_store_library name output below)
  set(library nestline_${name})
  add_library(${library} ${ARGN})
  add_library(nestline::${name} ALIAS ${library})
  target_include_directories(
    ${library}
    PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${library} PUBLIC ${below})
  nestline_warnings(${library})
  nestline_precompile(${library})
  nestline_unity(${library})
  # A shared one finds the other libraries beside it.
  set_target_properties(
    ${library}
    PROPERTIES EXPORT_NAME ${name}
               OUTPUT_NAME ${output}
               VERSION ${PROJECT_VERSION}
               SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
               INSTALL_RPATH "$ORIGIN")
  if(library_type STREQUAL "SHARED_LIBRARY")
    target_link_options(${library} PRIVATE LINKER:--version-script=${export_list})
    set_property(TARGET ${library} APPEND PROPERTY LINK_DEPENDS ${export_list})
  endif()
endfunction()

nestline_store_library(store nestline-store nestline ${store_sources})
target_include_directories(nestline_store SYSTEM PRIVATE ${NESTLINE_XXHASH_INCLUDE_DIR})
target_link_libraries(nestline_store PRIVATE PkgConfig::NESTLINE_URCU)
nestline_store_library(store_files nestline-store-files nestline_store ${store_files_sources})
target_link_libraries(nestline_store_files PRIVATE OpenSSL::Crypto)

# The same for tests of what is behind the public header, with the faults that tests can plant
# (store/test_switches.h).
if(NESTLINE_BUILD_TESTS)
  add_library(nestline_store_hooked STATIC ${store_sources} ${store_files_sources})
  target_compile_definitions(nestline_store_hooked PUBLIC NESTLINE_TEST_HOOKS)
  target_compile_options(nestline_store_hooked PRIVATE ${test_options})
  target_include_directories(nestline_store_hooked SYSTEM PRIVATE ${NESTLINE_XXHASH_INCLUDE_DIR})
  target_link_libraries(nestline_store_hooked PUBLIC nestline_inside PkgConfig::NESTLINE_URCU OpenSSL::Crypto)
  nestline_warnings(nestline_store_hooked)
  nestline_unity(nestline_store_hooked)
endif()
