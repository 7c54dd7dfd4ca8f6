# Functions that define the tests of all folders.

# nestline_leave_out_cases(NAME SANITIZERS PATTERN...): builds with these SANITIZERS (address, thread, fuzz) leave out
# the cases of the program NAME that match a PATTERN of GoogleTest: those take minutes there, or would show nothing.
# Called before the program is defined.
function(nestline_leave_out_cases name sanitizers)
  set(built "${NESTLINE_SANITIZE}")
  if(NESTLINE_FUZZ)
    set(built fuzz)
  endif()
  foreach(sanitizer ${sanitizers})
    if(built MATCHES "${sanitizer}")
      list(JOIN ARGN ":" patterns)
      string(APPEND ${name}_left_out ":${patterns}")
      set(${name}_left_out "${${name}_left_out}" PARENT_SCOPE)
    endif()
  endforeach()
endfunction()

# nestline_leave_out_sources(NAME SANITIZERS [SOURCE...]): the same for sources of the program, or, without any, for all
# of it: compiling them with sanitizers takes longest. They reach no memory in ways of their own, so that other builds
# find what they would; a comment beside the call says which.
function(nestline_leave_out_sources name sanitizers)
  set(built "${NESTLINE_SANITIZE}")
  if(NESTLINE_FUZZ)
    set(built fuzz)
  endif()
  foreach(sanitizer ${sanitizers})
    if(built MATCHES "${sanitizer}")
      if(ARGN)
        set(${name}_sources_left_out ${${name}_sources_left_out} ${ARGN} PARENT_SCOPE)
      else()
        set(${name}_is_left_out ON PARENT_SCOPE)
      endif()
    endif()
  endforeach()
endfunction()

# nestline_test(NAME LIBRARY LABEL [SOURCE...]): the GoogleTest program NAME of these sources, or of NAME.cc. They
# are compiled together, since most of the time goes into headers, and into what GoogleTest's templates become.
# Tests that use more than the public headers link nestline_inside. The preset fuzz has neither those of threads, for
# which the preset tsan is, nor the slow ones: those count rates and growth over millions of keys, which reach no memory
# that fewer do not reach.
function(nestline_test name library label)
  if(NESTLINE_FUZZ AND label MATCHES "^(threads|slow)$")
    return()
  endif()
  if(library STREQUAL "nestline_hooked" AND NOT NESTLINE_SANITIZE MATCHES "thread")
    set(label slow) # for the engine that it needs
  endif()
  if(label STREQUAL "slow" AND NOT NESTLINE_SLOW_TESTS)
    return()
  endif()
  if(${name}_is_left_out)
    return()
  endif()
  set(sources ${ARGN})
  if(NOT sources)
    set(sources ${name}.cc)
  endif()
  list(REMOVE_ITEM sources "" ${${name}_sources_left_out})
  add_executable(${name} ${sources})
  set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ${library} GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE NESTLINE_TEST_DATA="${CMAKE_CURRENT_SOURCE_DIR}")
  if(TARGET test_headers)
    target_precompile_headers(${name} REUSE_FROM test_headers)
  endif()
  nestline_warnings(${name})
  if(label STREQUAL "threads")
    add_dependencies(thread_tests ${name})
  endif()
  string(REGEX REPLACE "^:" "-" filter "${${name}_left_out}")
  if(NOT NESTLINE_FUZZ AND NOT NESTLINE_SANITIZE MATCHES "address")
    gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 TEST_FILTER "*${filter}" PROPERTIES LABELS ${label} TIMEOUT 600)
    return()
  endif()
  # These programs are slow to start, so one process runs a third of the cases.
  foreach(shard 0 1 2)
    add_test(NAME ${name}.${shard} COMMAND ${name} --gtest_brief=1 --gtest_filter=*${filter})
    set_tests_properties(
      ${name}.${shard} PROPERTIES ENVIRONMENT "GTEST_TOTAL_SHARDS=3;GTEST_SHARD_INDEX=${shard}"
                                  LABELS ${label} TIMEOUT 1800)
  endforeach()
endfunction()

# nestline_runnable(VARIABLE TARGET): what a script starts to run a program of ours: the program, or where
# that is for another processor a script that runs it under the emulator.
function(nestline_runnable variable target)
  if(CMAKE_CROSSCOMPILING)
    list(JOIN CMAKE_CROSSCOMPILING_EMULATOR " " emulator)
    set(script ${CMAKE_CURRENT_BINARY_DIR}/run/$<TARGET_FILE_NAME:${target}>)
    file(
      GENERATE
      OUTPUT ${script}
      CONTENT "#!/bin/sh\nexec ${emulator} \"$<TARGET_FILE:${target}>\" \"$@\"\n"
      FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
    set(${variable} ${script} PARENT_SCOPE)
  else()
    set(${variable} $<TARGET_FILE:${target}> PARENT_SCOPE)
  endif()
endfunction()

# nestline_python_test(NAME LABEL [ENVIRONMENT...]): the unittest program NAME.py of this folder.
# Not Python3::Interpreter, which the emulator for another processor would run.
function(nestline_python_test name label)
  add_test(NAME ${name} COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/${name}.py)
  set_tests_properties(
    ${name} PROPERTIES ENVIRONMENT "${ARGN}" FAIL_REGULAR_EXPRESSION "Ran 0 tests" LABELS ${label}
                       TIMEOUT 600 COST 50) # it has many cases, so it begins before those of GoogleTest
endfunction()

# For programs in C: Clang has two run-time libraries of the undefined sanitizer, and the library
# needs the one for C++.
function(nestline_links_sanitizers name)
  if(NESTLINE_FUZZ)
    set_target_properties(${name} PROPERTIES LINKER_LANGUAGE CXX)
  endif()
endfunction()

# nestline_fuzz(NAME LIBRARY [SOURCE...]): the fuzz target fuzz_NAME.cc. Its kept inputs run as a test: with
# libFuzzer in a NESTLINE_FUZZ build, with our own main in every other build. Not in the development build:
# they take long to compile.
set(NESTLINE_FUZZ_FOLDER ${CMAKE_CURRENT_SOURCE_DIR}/filters/fuzz)
function(nestline_fuzz name library)
  if(precompiles AND NOT NESTLINE_FUZZ)
    return()
  endif()
  add_executable(fuzz_${name} fuzz_${name}.cc ${ARGN})
  target_include_directories(fuzz_${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(fuzz_${name} PRIVATE ${library})
  nestline_warnings(fuzz_${name})
  set_target_properties(fuzz_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  if(NESTLINE_FUZZ)
    target_compile_options(fuzz_${name} PRIVATE -fsanitize=fuzzer-no-link)
    target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
    set(run_once -runs=0)
  else()
    target_sources(fuzz_${name} PRIVATE ${NESTLINE_FUZZ_FOLDER}/fuzz_replay_main.cc)
    set(run_once "")
  endif()
  add_test(NAME fuzz_${name}.corpus COMMAND fuzz_${name} ${run_once}
                                            ${NESTLINE_FUZZ_FOLDER}/corpus/${name})
  set_tests_properties(fuzz_${name}.corpus PROPERTIES LABELS quick TIMEOUT 300)
endfunction()

# nestline_corpus_maker(NAME LIBRARY): the program NAME.cc that writes kept inputs; run by hand.
function(nestline_corpus_maker name library)
  add_executable(${name} EXCLUDE_FROM_ALL ${name}.cc)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ${library})
  nestline_warnings(${name})
endfunction()
