# Writes commit.h, with the commit of the sources and the compiler, if either has changed.
#   cmake -DSOURCE=... -DHEADER=... -DCOMPILER=... -P commit.cmake
execute_process(COMMAND git rev-parse HEAD WORKING_DIRECTORY ${SOURCE} OUTPUT_VARIABLE commit
                OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
execute_process(COMMAND git status --porcelain --untracked-files=no WORKING_DIRECTORY ${SOURCE}
                OUTPUT_VARIABLE changes ERROR_QUIET)
if(NOT commit)
  set(commit unknown)
elseif(changes)
  string(APPEND commit "-changed")
endif()
set(content "// Made by commit.cmake.
#define NESTLINE_COMMIT \"${commit}\"
#define NESTLINE_COMPILER \"${COMPILER}\"
")
set(old "")
if(EXISTS ${HEADER})
  file(READ ${HEADER} old)
endif()
if(NOT old STREQUAL content)
  file(WRITE ${HEADER} "${content}")
endif()
