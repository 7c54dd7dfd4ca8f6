# The extension for DuckDB, nestline.duckdb_extension: DuckDB calls what is named after the file. It contains what it
# needs of nestline; DuckDB's functions come from the program that loads it. Included by lib/CMakeLists.txt.
add_library(nestline_duckdb MODULE faces/duckdb/aggregates.cc faces/duckdb/extension.cc faces/duckdb/filters.cc faces/duckdb/lookups.cc
                                   faces/duckdb/one_state.cc faces/duckdb/vectors.cc)
target_compile_features(nestline_duckdb PRIVATE cxx_std_20)
target_include_directories(nestline_duckdb PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
nestline_warnings(nestline_duckdb)
nestline_unity(nestline_duckdb faces/duckdb/extension.cc)
set_source_files_properties(faces/duckdb/extension.cc PROPERTIES COMPILE_OPTIONS -Wno-missing-field-initializers)
add_dependencies(nestline_duckdb nestline_inside)
target_link_libraries(nestline_duckdb PRIVATE duckdb::extension $<TARGET_FILE:nestline_inside>)
nestline_exports(nestline_duckdb faces/duckdb/nestline_duckdb.map)
set_target_properties(nestline_duckdb PROPERTIES PREFIX "" OUTPUT_NAME nestline SUFFIX .duckdb_extension)
set(platform linux_amd64)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  set(platform linux_arm64)
endif()
add_custom_command(
  TARGET nestline_duckdb POST_BUILD
  COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/packaging/duckdb_footer.py $<TARGET_FILE:nestline_duckdb> ${platform}
          v1.2.0 v${PROJECT_VERSION})
