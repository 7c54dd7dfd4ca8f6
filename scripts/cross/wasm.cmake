# Builds for WebAssembly, one thread, with Debian's Emscripten and the libraries that scripts/test-systems has made. Programs
# run in Node.js.
include(/usr/share/emscripten/cmake/Modules/Platform/Emscripten.cmake)
set(CMAKE_CROSSCOMPILING_EMULATOR node)
get_filename_component(libraries ${CMAKE_CURRENT_LIST_DIR}/../../build/systems/wasm-libraries ABSOLUTE)
get_filename_component(top ${CMAKE_CURRENT_LIST_DIR}/../.. ABSOLUTE)
set(lacking ${top}/lib/faces/npm/lacking)
string(APPEND CMAKE_CXX_FLAGS_INIT " -msimd128 -fwasm-exceptions -Wno-shorten-64-to-32 -isystem ${lacking} "
       "-include ${lacking}/lacking.h -include ${top}/tests/support/lacking_names.h")
# Linked with -O1, since beyond it Emscripten wants a parser of JavaScript that Debian's lacks. Code is compiled as elsewhere.
string(APPEND CMAKE_EXE_LINKER_FLAGS_INIT " -O1 -sALLOW_MEMORY_GROWTH -sNODERAWFS "
       "-sINITIAL_MEMORY=64MB -sTOTAL_STACK=1MB")
set(CMAKE_FIND_ROOT_PATH ${libraries})
