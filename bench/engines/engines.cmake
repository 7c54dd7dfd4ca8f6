# engines_bench: a Guard before the engines that are installed.
add_executable(
  engines_bench
  engines/engines.cc
  engines/engines_bench.cc
  store/machine.cc
  store/workload.cc)
add_dependencies(engines_bench nestline_commit)
target_include_directories(engines_bench PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/generated
                                                 ${PROJECT_SOURCE_DIR})
target_link_libraries(engines_bench PRIVATE nestline::nestline Threads::Threads)
nestline_warnings(engines_bench)

# engine(NAME HEADER LIBRARY [SOURCE...]): engines/NAME.cc, if its header and library are there.
set(engines_left_out "")
function(engine name header library)
  string(TOUPPER ${name} upper)
  find_path(NESTLINE_${upper}_INCLUDE_DIR ${header})
  find_library(NESTLINE_${upper}_LIBRARY ${library})
  mark_as_advanced(NESTLINE_${upper}_INCLUDE_DIR NESTLINE_${upper}_LIBRARY)
  if(NOT NESTLINE_${upper}_INCLUDE_DIR OR NOT NESTLINE_${upper}_LIBRARY)
    set(engines_left_out ${engines_left_out} ${name} PARENT_SCOPE)
    return()
  endif()
  target_sources(engines_bench PRIVATE engines/${name}.cc ${ARGN})
  target_compile_definitions(engines_bench PRIVATE NESTLINE_ENGINES_${upper})
  target_include_directories(engines_bench SYSTEM PRIVATE ${NESTLINE_${upper}_INCLUDE_DIR})
  target_link_libraries(engines_bench PRIVATE ${NESTLINE_${upper}_LIBRARY})
endfunction()
engine(leveldb leveldb/db.h leveldb engines/filter_policy.cc)
engine(rocksdb rocksdb/db.h rocksdb)
engine(lmdb lmdb.h lmdb)
engine(sqlite sqlite3.h sqlite3)
if(engines_left_out)
  list(JOIN engines_left_out ", " engines_left_out)
  message(STATUS "nestline: engines_bench without ${engines_left_out} "
                 "(scripts/install-dependencies bench)")
  return()
endif()

# What docs/ENGINES.md quotes, with all of them.
add_executable(engine_recipes engines/recipes.cc)
target_link_libraries(
  engine_recipes PRIVATE nestline::nestline ${NESTLINE_LEVELDB_LIBRARY} ${NESTLINE_ROCKSDB_LIBRARY}
                         ${NESTLINE_LMDB_LIBRARY} ${NESTLINE_SQLITE_LIBRARY})
nestline_warnings(engine_recipes)
