# The module for servers, nestline_redis.so. It contains all of nestline that it needs, and needs
# only the C and C++ run time of the system. It does not need oneTBB or liburcu, because the linker
# leaves the code that uses them in the archive.
add_library(
  nestline_redis MODULE
  redis/server/add.cc
  redis/server/arguments.cc
  redis/server/query.cc
  redis/server/change.cc
  redis/server/chunks.cc
  redis/server/command_table.cc
  redis/server/configuration.cc
  redis/server/create.cc
  redis/server/data_type.cc
  redis/server/hashes.cc
  redis/server/info_section.cc
  redis/server/module.cc
  redis/server/module_api.cc
  redis/server/opened_key.cc
  redis/server/rdb.cc
  redis/server/server_memory.cc
  $<TARGET_OBJECTS:nestline_redis_value>)
target_compile_features(nestline_redis PRIVATE cxx_std_20)
target_include_directories(nestline_redis PRIVATE ${PROJECT_SOURCE_DIR}
                                                  ${PROJECT_SOURCE_DIR}/include)
math(EXPR module_version "${PROJECT_VERSION_MAJOR} * 10000 + ${PROJECT_VERSION_MINOR} * 100 + \
${PROJECT_VERSION_PATCH}")
target_compile_definitions(nestline_redis PRIVATE NESTLINE_MODULE_VERSION=${module_version})
add_dependencies(nestline_redis nestline_inside)
set(module_exports ${CMAKE_CURRENT_SOURCE_DIR}/redis/server/nestline_redis.map)
target_link_libraries(nestline_redis PRIVATE $<TARGET_FILE:nestline_inside>)
target_link_options(nestline_redis PRIVATE LINKER:--version-script=${module_exports})
if(NOT NESTLINE_SANITIZE AND NOT NESTLINE_FUZZ)
  target_link_options(nestline_redis PRIVATE LINKER:--no-undefined)
endif()
set_target_properties(nestline_redis PROPERTIES PREFIX "" LINK_DEPENDS ${module_exports})
nestline_warnings(nestline_redis)
