# The extension for PostgreSQL: nestline.so, which a server loads, with its control file and its script of SQL. It
# contains what it needs of nestline; the server's functions come from the program that loads it. Included by
# lib/CMakeLists.txt.
add_library(nestline_postgresql MODULE faces/postgresql/aggregates.cc faces/postgresql/filters.cc
                                       faces/postgresql/functions.cc faces/postgresql/keys.cc faces/postgresql/server.cc
                                       faces/postgresql/type.cc)
target_compile_features(nestline_postgresql PRIVATE cxx_std_20)
target_include_directories(nestline_postgresql PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
target_link_libraries(nestline_postgresql PRIVATE postgresql::server)
nestline_warnings(nestline_postgresql)
add_dependencies(nestline_postgresql nestline_inside)
target_link_libraries(nestline_postgresql PRIVATE $<TARGET_FILE:nestline_inside>)
# The server's headers mark what is exported from version 16 on; the list has the names for all.
set_target_properties(nestline_postgresql PROPERTIES CXX_VISIBILITY_PRESET default)
nestline_exports(nestline_postgresql faces/postgresql/nestline_postgresql.map)
set(postgresql_folder ${CMAKE_CURRENT_BINARY_DIR}/postgresql)
set(postgresql_files ${postgresql_folder}/nestline.control ${postgresql_folder}/nestline--${PROJECT_VERSION}.sql)
set_target_properties(nestline_postgresql PROPERTIES PREFIX "" OUTPUT_NAME nestline SUFFIX .so LIBRARY_OUTPUT_DIRECTORY
                                                                                     ${postgresql_folder})
configure_file(faces/postgresql/nestline.control.in ${postgresql_folder}/nestline.control @ONLY)
configure_file(faces/postgresql/nestline.sql ${postgresql_folder}/nestline--${PROJECT_VERSION}.sql COPYONLY)
set(NESTLINE_PG_FILES ${postgresql_files} CACHE INTERNAL "") # for lib/packaging
