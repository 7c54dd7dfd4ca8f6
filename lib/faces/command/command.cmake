# The command nestline. It replaces files as the library does; a shared library does not export how, so the command
# has these files too.
add_executable(
  nestline_command
  faces/command/filter/build.cc
  faces/command/filter/commands.cc
  faces/command/filter/edit.cc
  faces/command/filter/info.cc
  faces/command/filter/inserter.cc
  faces/command/filter/line_hashes.cc
  faces/command/filter/merge.cc
  faces/command/io/command.cc
  faces/command/io/file_lock.cc
  faces/command/io/input_file.cc
  faces/command/io/line_reader.cc
  faces/command/io/output.cc
  faces/command/io/parser.cc
  faces/command/io/progress.cc
  faces/command/io/query_lines.cc
  faces/command/io/report.cc
  faces/command/main.cc
  ${system_sources})
target_include_directories(nestline_command PRIVATE ${PROJECT_SOURCE_DIR})
target_link_libraries(nestline_command PRIVATE CLI11::CLI11 nlohmann_json::nlohmann_json)
# The commands about what is built.
target_compile_definitions(
  nestline_command PRIVATE NESTLINE_WITH_PARALLEL=$<TARGET_EXISTS:nestline_parallel>
                           NESTLINE_WITH_STORE=$<TARGET_EXISTS:nestline_store_files>
                           NESTLINE_WITH_CLUSTER=$<TARGET_EXISTS:nestline_cluster>)
if(TARGET nestline_parallel)
  target_sources(
    nestline_command
    PRIVATE faces/command/uniq/seen_lines.cc
            faces/command/uniq/seen_plan.cc
            faces/command/uniq/seen_recently.cc
            faces/command/uniq/state.cc
            faces/command/uniq/state_text.cc
            faces/command/uniq/uniq.cc
            faces/command/uniq/wake_pipe.cc
            faces/command/which/change.cc
            faces/command/which/named_lines.cc
            faces/command/which/which.cc)
  target_link_libraries(nestline_command PRIVATE nestline::parallel TBB::tbb)
else()
  target_link_libraries(nestline_command PRIVATE nestline::filter)
endif()
if(TARGET nestline_store_files)
  target_sources(nestline_command PRIVATE faces/command/store/care.cc faces/command/store/dump.cc faces/command/store/files.cc
                                          faces/command/store/load.cc faces/command/store/record_text.cc
                                          faces/command/store/records.cc faces/command/store/store.cc)
  target_link_libraries(nestline_command PRIVATE nestline::store_files)
endif()
if(TARGET nestline_cluster)
  target_sources(nestline_command PRIVATE faces/command/cluster/cluster.cc faces/command/cluster/info.cc faces/command/cluster/keys.cc
                                          faces/command/cluster/whole.cc)
  target_link_libraries(nestline_command PRIVATE nestline::cluster)
endif()
nestline_warnings(nestline_command)
nestline_precompile(nestline_command)
# The parser and the report include large headers that nobody else needs; what these do, they do once.
set(outside faces/command/io/parser.cc faces/command/io/report.cc)
nestline_unity(nestline_command ${outside} ${system_alone})
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  set_source_files_properties(${outside} PROPERTIES COMPILE_OPTIONS -O1)
endif()
set_target_properties(nestline_command PROPERTIES OUTPUT_NAME nestline)
# Lets an installed command find a shared library in the same tree, wherever that tree is.
if(library_type STREQUAL "SHARED_LIBRARY")
  file(RELATIVE_PATH bin_to_lib "${CMAKE_INSTALL_FULL_BINDIR}" "${CMAKE_INSTALL_FULL_LIBDIR}")
  set_property(TARGET nestline_command PROPERTY INSTALL_RPATH "$ORIGIN/${bin_to_lib}")
endif()
