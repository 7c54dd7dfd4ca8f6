# engines_bench: a Guard before the engines that are installed.
add_executable(
  engines_bench
  store/engines/engines_bench.cc
  store/machine.cc
  store/measuring.cc
  store/workload.cc)
add_dependencies(engines_bench nestline_commit)
target_include_directories(engines_bench PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/generated
                                                 ${PROJECT_SOURCE_DIR})
target_link_libraries(engines_bench PRIVATE nestline::nestline Threads::Threads)
nestline_warnings(engines_bench)
nestline_precompile(engines_bench)

nestline_database(engines_bench leveldb leveldb/db.h leveldb store/systems/leveldb.cc store/engines/filter_policy.cc)
nestline_database(engines_bench rocksdb rocksdb/db.h rocksdb store/systems/rocksdb.cc)
nestline_database(engines_bench lmdb lmdb.h lmdb store/systems/lmdb.cc)
nestline_database(engines_bench sqlite sqlite3.h sqlite3 store/engines/sqlite.cc)
if(engines_bench_left_out)
  list(JOIN engines_bench_left_out ", " engines_bench_left_out)
  message(STATUS "nestline: engines_bench without ${engines_bench_left_out} "
                 "(scripts/install-dependencies bench)")
  return()
endif()

# What docs/ENGINES.md quotes, with all of them.
add_executable(engine_recipes store/engines/recipes.cc)
target_link_libraries(
  engine_recipes PRIVATE nestline::nestline ${NESTLINE_LEVELDB_LIBRARY} ${NESTLINE_ROCKSDB_LIBRARY}
                         ${NESTLINE_LMDB_LIBRARY} ${NESTLINE_SQLITE_LIBRARY})
nestline_warnings(engine_recipes)
