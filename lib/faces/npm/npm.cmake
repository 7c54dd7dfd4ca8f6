# nestline.wasm, the program in the package for npm, by Emscripten: scripts/package npm.
add_executable(
  nestline_npm
  engine/expiring_filters.cc
  ${engine_sources}
  engine/kernels/targets.cc
  engine/place/geometry.cc
  engine/place/hash.cc
  faces/npm/npm.cc
  filters/concurrent/concurrent_filter.cc
  filters/expiring/expiring_batch.cc
  filters/expiring/expiring_files.cc
  filters/expiring/expiring_filter.cc
  filters/file/file_format.cc
  filters/file/format_error.cc
  filters/file/io.cc
  filters/filter/filter.cc
  filters/filter/folding.cc
  filters/filter/growth.cc
  filters/filter/sizing.cc
  filters/filter/storage.cc
  ${system_sources})
target_compile_features(nestline_npm PRIVATE cxx_std_20)
target_include_directories(nestline_npm PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR})
target_include_directories(nestline_npm SYSTEM PRIVATE ${NESTLINE_XXHASH_INCLUDE_DIR} ${NESTLINE_HIGHWAY_INCLUDE_DIR}
                                                       ${CMAKE_CURRENT_LIST_DIR}/lacking)
nestline_leave_out(nestline_npm PRIVATE)
nestline_warnings(nestline_npm)
target_compile_definitions(nestline_npm PRIVATE NESTLINE_SMALL=1)
# Code of the library counts bytes in 64 bits and checks before it has them in 32.
target_compile_options(nestline_npm PRIVATE -Oz -msimd128 -fwasm-exceptions -Wno-shorten-64-to-32
                                            "SHELL:-include ${CMAKE_CURRENT_LIST_DIR}/lacking/lacking.h")
# Of 4 GiB the last page is left out, so that no end of memory is 0. Not -sMALLOC=emmalloc, which is smaller and goes
# wrong from 2 GiB on.
target_link_options(
  nestline_npm
  PRIVATE
  -Oz
  -msimd128
  -fwasm-exceptions
  --no-entry
  -sSTANDALONE_WASM
  -sALLOW_MEMORY_GROWTH
  -sMAXIMUM_MEMORY=4294901760
  -sINITIAL_MEMORY=1MB
  -sTOTAL_STACK=256KB
  -sERROR_ON_UNDEFINED_SYMBOLS=0
  -sWARN_ON_UNDEFINED_SYMBOLS=0)
set_target_properties(nestline_npm PROPERTIES OUTPUT_NAME nestline SUFFIX .wasm)
