# Tests of the Redis module in real servers: Python programs with the client of Debian's package
# python3-redis, which belongs to Debian's own interpreter; any other that has it will do.
#
# A module that is sanitized is loaded behind the sanitizer's run time, by sanitizer_test.py; of a
# build that is not, the same program runs a server under valgrind.
find_program(REDIS_SERVER redis-server)
find_program(REDIS_CLI redis-cli)
find_program(VALGRIND valgrind)
if(NOT NESTLINE_REDIS_PYTHON)
  foreach(candidate ${Python3_EXECUTABLE} /usr/bin/python3)
    execute_process(COMMAND ${candidate} -c "import redis" RESULT_VARIABLE status OUTPUT_QUIET
                    ERROR_QUIET)
    if(status EQUAL 0)
      set(NESTLINE_REDIS_PYTHON ${candidate} CACHE FILEPATH "A Python 3 with the package redis")
      break()
    endif()
  endforeach()
endif()
mark_as_advanced(REDIS_SERVER REDIS_CLI VALGRIND NESTLINE_REDIS_PYTHON)

# nestline_server_test(NAME LABEL ENVIRONMENT [ARGUMENT...])
function(nestline_server_test name label environment)
  add_test(NAME redis_${name}_test COMMAND ${NESTLINE_REDIS_PYTHON} -B
                                           ${CMAKE_CURRENT_LIST_DIR}/${name}_test.py ${ARGN})
  set_tests_properties(
    redis_${name}_test
    PROPERTIES ENVIRONMENT "NESTLINE_REDIS_MODULE=$<TARGET_FILE:nestline_redis>;\
NESTLINE_REDIS_SERVER=${REDIS_SERVER};NESTLINE_REDIS_CLI=${REDIS_CLI};${environment}"
               FAIL_REGULAR_EXPRESSION "Ran 0 tests"
               LABELS ${label}
               TIMEOUT 300)
endfunction()

if(NOT REDIS_SERVER OR NOT REDIS_CLI OR NOT NESTLINE_REDIS_PYTHON)
  message(STATUS "No tests of the Redis module in servers: they need redis-server, redis-cli and a "
                 "Python 3 with the package redis (scripts/install-dependencies redis-test)")
elseif(NESTLINE_SANITIZE MATCHES "address" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=libasan.so OUTPUT_VARIABLE libasan
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
  nestline_server_test(
    sanitizer slow
    "NESTLINE_REDIS_SANITIZER=address;NESTLINE_REDIS_LIBASAN=${libasan};NESTLINE_HOSTILE_SECONDS=3"
    chunks_test.py hostile_test.py)
elseif(NOT NESTLINE_SANITIZE)
  foreach(name chunks commands hostile model module persistence replica restore)
    nestline_server_test(${name} quick "")
  endforeach()
  nestline_server_test(cluster slow "")
  if(VALGRIND)
    nestline_server_test(sanitizer slow "NESTLINE_REDIS_SANITIZER=valgrind")
  else()
    message(STATUS "No test of the Redis module under valgrind, which is not there")
  endif()
endif()
