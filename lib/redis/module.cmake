# The module for servers, nestline_redis.so. It holds all of nestline that it needs and asks the
# system for the C and C++ run time only: neither oneTBB nor liburcu, whose files are not part of
# it, nor Highway's library, of which targets.cc takes the place.
#
# nestline comes from an archive: of an archive the linker takes the files that something asks for,
# and nobody asks for lib/storage.cc, since redis/storage.cc has what it would bring. A name that is
# defined twice, or nowhere, is an error.
add_library(
  nestline_redis MODULE
  redis/add.cc
  redis/arguments.cc
  redis/ask.cc
  redis/change.cc
  redis/chunks.cc
  redis/command_table.cc
  redis/configuration.cc
  redis/create.cc
  redis/data_type.cc
  redis/module.cc
  redis/module_api.cc
  redis/opened_key.cc
  redis/rdb.cc
  redis/storage.cc
  redis/targets.cc
  $<TARGET_OBJECTS:nestline_redis_value>)
target_compile_features(nestline_redis PRIVATE cxx_std_20)
target_include_directories(nestline_redis PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/redis
                                                  ${CMAKE_CURRENT_SOURCE_DIR}
                                                  ${PROJECT_SOURCE_DIR}/include)
target_include_directories(nestline_redis SYSTEM PRIVATE
                           $<TARGET_PROPERTY:hwy::hwy,INTERFACE_INCLUDE_DIRECTORIES>)
math(EXPR module_version "${PROJECT_VERSION_MAJOR} * 10000 + ${PROJECT_VERSION_MINOR} * 100 + \
${PROJECT_VERSION_PATCH}")
target_compile_definitions(nestline_redis PRIVATE NESTLINE_MODULE_VERSION=${module_version})
add_dependencies(nestline_redis nestline_inside)
set(module_exports ${CMAKE_CURRENT_SOURCE_DIR}/redis/nestline_redis.map)
target_link_libraries(nestline_redis PRIVATE $<TARGET_FILE:nestline_inside>)
target_link_options(nestline_redis PRIVATE LINKER:--version-script=${module_exports})
if(NOT NESTLINE_SANITIZE AND NOT NESTLINE_FUZZ)
  target_link_options(nestline_redis PRIVATE LINKER:--no-undefined)
endif()
set_target_properties(nestline_redis PROPERTIES PREFIX "" LINK_DEPENDS ${module_exports})
nestline_warnings(nestline_redis)
