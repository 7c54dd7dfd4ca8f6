# The loadable extension for SQLite, nestline_sqlite.so. It contains all of nestline that it needs. Of
# the system it needs the C and C++ run time; SQLite's functions come from the program that loads it.
# Included by lib/CMakeLists.txt.
add_library(
  nestline_sqlite MODULE
  faces/sqlite/aggregates.cc
  faces/sqlite/extension.cc
  faces/sqlite/filter_argument.cc
  faces/sqlite/lookups.cc)
target_compile_features(nestline_sqlite PRIVATE cxx_std_20)
target_include_directories(nestline_sqlite PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
target_include_directories(
  nestline_sqlite SYSTEM PRIVATE $<TARGET_PROPERTY:SQLite::SQLite3,INTERFACE_INCLUDE_DIRECTORIES>)
nestline_warnings(nestline_sqlite)
nestline_precompile(nestline_sqlite)
nestline_unity(nestline_sqlite)
add_dependencies(nestline_sqlite nestline_inside)
target_link_libraries(nestline_sqlite PRIVATE $<TARGET_FILE:nestline_inside>)
nestline_exports(nestline_sqlite faces/sqlite/nestline_sqlite.map)
set_target_properties(nestline_sqlite PROPERTIES PREFIX "")
