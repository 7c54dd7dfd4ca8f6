# store_bench: the store beside those of the other databases that are installed.
add_executable(
  store_bench
  store/machine.cc
  store/rows_disk.cc
  store/rows_get.cc
  store/rows_open.cc
  store/rows_threads.cc
  store/session.cc
  store/store_bench.cc
  store/systems/nestline.cc
  store/systems/systems.cc
  store/workload.cc)
add_dependencies(store_bench nestline_commit)
target_include_directories(store_bench PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/generated
                                               ${PROJECT_SOURCE_DIR})
target_link_libraries(store_bench PRIVATE nestline::store Threads::Threads)
nestline_warnings(store_bench)

# store_system(NAME HEADER LIBRARY): store/systems/NAME.cc, if its header and library are there.
set(systems_left_out "")
function(store_system name header library)
  string(TOUPPER ${name} upper)
  find_path(NESTLINE_${upper}_INCLUDE_DIR ${header})
  find_library(NESTLINE_${upper}_LIBRARY ${library})
  mark_as_advanced(NESTLINE_${upper}_INCLUDE_DIR NESTLINE_${upper}_LIBRARY)
  if(NOT NESTLINE_${upper}_INCLUDE_DIR OR NOT NESTLINE_${upper}_LIBRARY)
    set(systems_left_out ${systems_left_out} ${name} PARENT_SCOPE)
    return()
  endif()
  target_sources(store_bench PRIVATE store/systems/${name}.cc)
  target_compile_definitions(store_bench PRIVATE NESTLINE_BENCH_${upper})
  target_include_directories(store_bench SYSTEM PRIVATE ${NESTLINE_${upper}_INCLUDE_DIR})
  target_link_libraries(store_bench PRIVATE ${NESTLINE_${upper}_LIBRARY})
endfunction()
store_system(leveldb leveldb/db.h leveldb)
store_system(rocksdb rocksdb/db.h rocksdb)
store_system(lmdb lmdb.h lmdb)
store_system(tkrzw tkrzw_dbm_hash.h tkrzw)
store_system(tinycdb cdb.h cdb)
if(systems_left_out)
  list(JOIN systems_left_out ", " systems_left_out)
  message(STATUS "nestline: store_bench without ${systems_left_out} "
                 "(scripts/install-dependencies bench)")
endif()
