# Debian packages by cpack, one for each install component. scripts/package runs it; stage.cmake
# adds what Debian wants.
set(debian ${CMAKE_CURRENT_SOURCE_DIR}/debian)

# The changelog has the version of the packages, and its last change their date.
file(STRINGS ${debian}/changelog line REGEX "^nestline \\(" LIMIT_COUNT 1)
string(REGEX REPLACE "^nestline \\((.*)-([0-9]+)\\).*" "\\1;\\2" changelog_version "${line}")
list(GET changelog_version 0 changelog_upstream)
if(NOT changelog_upstream VERSION_EQUAL PROJECT_VERSION)
  message(FATAL_ERROR "lib/packaging/debian/changelog begins with version ${changelog_upstream}, but version.h "
                      "has ${PROJECT_VERSION}: write an entry for it.")
endif()
list(GET changelog_version 1 CPACK_DEBIAN_PACKAGE_RELEASE)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${debian}/changelog)
set(NESTLINE_MAINTAINER "nestline maintainers <maintainers@nestline.invalid>"
    CACHE STRING "Name and address in the Debian packages")

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "") # Each package has its own.
set(CPACK_PACKAGE_CONTACT "${NESTLINE_MAINTAINER}")
set(CPACK_PACKAGING_INSTALL_PREFIX ${CMAKE_INSTALL_PREFIX})
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_STRIP_FILES OFF) # the packages of debug symbols get them
set(CPACK_DEBIAN_DEBUGINFO_PACKAGE ON)
set(CPACK_THREADS 0)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_SOURCE nestline)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

# nestline_package(COMPONENT PACKAGE SECTION SUMMARY TEXT [NAME VALUE]...): the package of a component.
# Each NAME with its VALUE, which is not a list, is a variable of cpack for this package.
set(CPACK_COMPONENTS_ALL "")
macro(nestline_package component package section summary text)
  list(APPEND CPACK_COMPONENTS_ALL ${component})
  string(TOUPPER ${component} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${package})
  set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION ${section})
  # Debian's form of a description: its first line is the summary.
  set(CPACK_DEBIAN_${upper}_DESCRIPTION "${summary}\n${text}")
  set(options ${ARGN})
  while(options)
    list(POP_FRONT options name value)
    set(CPACK_DEBIAN_${upper}_${name} "${value}")
  endwhile()
endmacro()

set(abi ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
set(same_version "(= ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})")
# The texts have the line breaks that they have in the packages.
set(about
    "\
Nestline is a cuckoo filter: a compact set of keys that answers certainly
not or maybe. It can delete keys, count copies, grow in place and merge.
")
set(has_filter "filters for one thread, and in files")
set(has_nestline "all filters, and maplets")
set(has_parallel "batches on all cores")
set(has_store "the store")
set(has_store_files "files in the store")
set(has_cluster "the client of Redis clusters")
set(has_c "filters for C")
set(has_c_store "filters and the store for C")
set(dev_depends "libnestline-filter-dev ${same_version}")
foreach(name ${libraries})
  string(REGEX REPLACE "^-nestline$" "" file -${name})
  string(REPLACE _ - package libnestline${file}${abi})
  nestline_package(
    ${name}
    ${package}
    libs
    "cuckoo filter that deletes and grows - ${has_${name}}"
    "${about}
This package has a shared library: ${has_${name}}.")
  if(name STREQUAL filter)
    set(filter_depends "${package} ${same_version}")
  else()
    string(APPEND dev_depends ", ${package} ${same_version}")
  endif()
endforeach()
nestline_package(
  filter_dev
  libnestline-filter-dev
  libdevel
  "cuckoo filter that deletes and grows - headers, and filters for one thread"
  "${about}
This package has all headers, and links programs with filters for one
thread, and in files: by CMake, by pkg-config, or by a static library."
  PACKAGE_DEPENDS
  "${filter_depends}")
nestline_package(
  dev
  libnestline-dev
  libdevel
  "cuckoo filter that deletes and grows - development files"
  "${about}
This package links programs with all libraries: by CMake, by pkg-config, or
by static libraries."
  PACKAGE_DEPENDS
  "${dev_depends}"
  PACKAGE_RECOMMENDS
  "liburcu-dev, libtbb-dev, libssl-dev, libhiredis-dev")
if(TARGET nestline_command)
  nestline_package(
    tools
    nestline
    utils
    "cuckoo filters in files, and an exact store, on the command line"
    "${about}
This package has the command nestline. It builds filters of the lines of
files, and prints which lines of other files may be in them. It also
stores exact keys and values in a folder, and handles filters on Redis
servers.")
endif()
if(TARGET nestline_redis)
  nestline_package(
    redis
    nestline-redis
    database
    "cuckoo filters in Redis and Valkey servers"
    "${about}
This package has a module for servers of Redis or Valkey. It adds the
commands CF.* and opens data that RedisBloom saved."
    PACKAGE_ENHANCES
    "redis-server"
    PACKAGE_SUGGESTS
    "redis-server")
endif()
if(TARGET nestline_python)
  nestline_package(
    python
    python3-nestline
    python
    "cuckoo filter that deletes and grows - Python 3"
    "${about}
This package has the module nestline for Python 3. It takes NumPy arrays.")
  set(CPACK_DEBIAN_PYTHON_PACKAGE_CONTROL_EXTRA ${debian}/python/postinst ${debian}/python/prerm)
  # Debian's package for one version of Python ends before the next version.
  math(EXPR next "${Python_VERSION_MINOR} + 1")
  set(CPACK_NESTLINE_PYTHON "python3 (>= ${Python_VERSION_MAJOR}.${Python_VERSION_MINOR}~), \
python3 (<< ${Python_VERSION_MAJOR}.${next}~), python3-numpy")
endif()
if(TARGET nestline_sqlite)
  nestline_package(
    sqlite
    libsqlite3-mod-nestline
    database
    "cuckoo filters in SQLite"
    "${about}
This package has an extension that SQLite loads. It makes filters of
columns and asks them in queries."
    PACKAGE_ENHANCES
    "sqlite3"
    PACKAGE_SUGGESTS
    "sqlite3")
endif()
if(TARGET nestline_postgresql)
  string(REGEX REPLACE "^PostgreSQL ([0-9]+).*" "\\1" server "${NESTLINE_PG_version}")
  nestline_package(
    postgresql
    postgresql-${server}-nestline
    database
    "cuckoo filters in PostgreSQL ${server}"
    "${about}
This package has an extension for PostgreSQL ${server}: a type that holds a
filter, aggregates that build filters of columns, and functions that ask
them before joins.")
  set(CPACK_NESTLINE_POSTGRESQL "postgresql-${server}")
endif()
nestline_package(
  docs
  nestline-doc
  doc
  "cuckoo filter that deletes and grows - documents"
  "${about}
This package has the documents: sizing, performance, the formats of files,
the store, clusters, and the interfaces for other languages and servers."
  PACKAGE_ARCHITECTURE
  all)

set(CPACK_PRE_BUILD_SCRIPTS ${debian}/stage.cmake)
set(CPACK_NESTLINE_DEBIAN ${debian})
set(CPACK_NESTLINE_SHARED ${BUILD_SHARED_LIBS})
set(CPACK_NESTLINE_ABI ${abi})
set(CPACK_NESTLINE_LIBRARIES ${libraries})
set(CPACK_NESTLINE_SAME_VERSION "${same_version}")
set(CPACK_NESTLINE_LIBDIR ${CMAKE_INSTALL_LIBDIR})
# The packages of Debian whose headers bring code into ours.
set(CPACK_NESTLINE_HEADERS libhwy-dev liburcu-dev libxxhash-dev libcli11-dev nlohmann-json3-dev pybind11-dev)
include(CPack)
