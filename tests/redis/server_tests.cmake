# Tests of the Redis module in real servers: Python programs with the client of Debian's package
# python3-redis, which belongs to Debian's own interpreter; any other that has it will do. A program
# that is sanitized cannot be loaded into a server that is not.
find_program(REDIS_SERVER redis-server)
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
mark_as_advanced(REDIS_SERVER NESTLINE_REDIS_PYTHON)

if(REDIS_SERVER AND NESTLINE_REDIS_PYTHON)
  foreach(name chunks commands model module persistence restore)
    add_test(NAME redis_${name}_test COMMAND ${NESTLINE_REDIS_PYTHON} -B
                                             ${CMAKE_CURRENT_LIST_DIR}/${name}_test.py)
    set_tests_properties(
      redis_${name}_test
      PROPERTIES
        ENVIRONMENT "NESTLINE_REDIS_MODULE=$<TARGET_FILE:nestline_redis>;\
NESTLINE_REDIS_SERVER=${REDIS_SERVER}"
        FAIL_REGULAR_EXPRESSION "Ran 0 tests"
        LABELS quick
        TIMEOUT 300)
  endforeach()
else()
  message(STATUS "No tests of the Redis module in servers: they need redis-server and a Python 3 with "
                 "the package redis (scripts/install-dependencies redis-test)")
endif()
