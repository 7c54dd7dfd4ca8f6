# store_bench: the store beside those of the other databases that are installed.
add_executable(
  store_bench
  store/machine.cc
  store/measuring.cc
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
nestline_precompile(store_bench)

nestline_database(store_bench leveldb leveldb/db.h leveldb store/systems/leveldb.cc)
nestline_database(store_bench rocksdb rocksdb/db.h rocksdb store/systems/rocksdb.cc)
nestline_database(store_bench lmdb lmdb.h lmdb store/systems/lmdb.cc)
nestline_database(store_bench tkrzw tkrzw_dbm_hash.h tkrzw store/systems/tkrzw.cc)
nestline_database(store_bench tinycdb cdb.h cdb store/systems/tinycdb.cc)
if(store_bench_left_out)
  list(JOIN store_bench_left_out ", " store_bench_left_out)
  message(STATUS "nestline: store_bench without ${store_bench_left_out} "
                 "(scripts/install-dependencies bench)")
endif()
