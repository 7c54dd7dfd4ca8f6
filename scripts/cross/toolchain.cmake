# Builds for another processor, with Debian's cross compiler and the libraries that
# scripts/cross/sysroot has unpacked. Programs run here under qemu.
#
#   cmake -S . -B build/cross/arm64 -DCMAKE_TOOLCHAIN_FILE=scripts/cross/toolchain.cmake \
#         -DNESTLINE_CROSS=arm64
#
# NESTLINE_CROSS: arm64, s390x, or riscv64, for which nothing can be linked.
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES NESTLINE_CROSS)
set(CMAKE_SYSTEM_PROCESSOR ${NESTLINE_CROSS})
set(libraries_of ${NESTLINE_CROSS}) # see scripts/cross/sysroot
if(NESTLINE_CROSS STREQUAL "arm64")
  set(CMAKE_SYSTEM_PROCESSOR aarch64)
  set(library_triple aarch64-linux-gnu)
elseif(NESTLINE_CROSS STREQUAL "riscv64")
  set(libraries_of arm64)
  set(library_triple aarch64-linux-gnu)
elseif(NESTLINE_CROSS STREQUAL "s390x")
  set(library_triple s390x-linux-gnu)
else()
  message(FATAL_ERROR "NESTLINE_CROSS is \"${NESTLINE_CROSS}\", not arm64, s390x or riscv64")
endif()
set(CMAKE_SYSTEM_NAME Linux)

set(triple ${CMAKE_SYSTEM_PROCESSOR}-linux-gnu)
get_filename_component(sysroot ${CMAKE_CURRENT_LIST_DIR}/../../build/cross/sysroot-${libraries_of}
                       ABSOLUTE)
set(CMAKE_C_COMPILER ${triple}-gcc)
set(CMAKE_CXX_COMPILER ${triple}-g++)
set(CMAKE_LIBRARY_ARCHITECTURE ${library_triple})
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-${CMAKE_SYSTEM_PROCESSOR}-static -L /usr/${triple})

# Not CMAKE_SYSROOT: the C library is the cross compiler's own.
set(CMAKE_FIND_ROOT_PATH ${sysroot} ${sysroot}/usr /usr/${triple})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${sysroot})
set(ENV{PKG_CONFIG_LIBDIR} ${sysroot}/usr/lib/${library_triple}/pkgconfig)
set(libraries ${sysroot}/usr/lib/${library_triple})
string(APPEND CMAKE_C_FLAGS_INIT " -isystem ${sysroot}/usr/include")
string(APPEND CMAKE_CXX_FLAGS_INIT " -isystem ${sysroot}/usr/include")
foreach(kind EXE SHARED MODULE)
  string(APPEND CMAKE_${kind}_LINKER_FLAGS_INIT
         " -L${libraries} -Wl,-rpath-link,${libraries} -Wl,-rpath,${libraries}")
endforeach()
