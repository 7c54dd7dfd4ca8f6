# The module for servers, nestline_redis.so. It contains all of nestline that it needs. Of the system
# it needs the C and C++ run time, and liburcu-bp for its worker threads. It does not need oneTBB,
# because the linker leaves the code that uses it in the archive.
#
# All but its entry point are objects, which tests link too, with an interface of their own in place
# of a server's.
add_library(
  nestline_redis_server OBJECT
  faces/redis/server/insert.cc
  faces/redis/server/batch.cc
  faces/redis/server/query.cc
  faces/redis/server/change.cc
  faces/redis/server/command_table.cc
  faces/redis/server/commands.cc
  faces/redis/server/configuration.cc
  faces/redis/server/create.cc
  faces/redis/server/data_type.cc
  faces/redis/server/hashes.cc
  faces/redis/server/server_memory.cc
  faces/redis/server/ticker.cc
  faces/redis/server/windowed.cc
  faces/redis/server/workers.cc)
add_library(nestline_redis MODULE faces/redis/server/module.cc $<TARGET_OBJECTS:nestline_redis_server>
                                  $<TARGET_OBJECTS:nestline_redis_value>)
foreach(target nestline_redis_server nestline_redis)
  target_compile_features(${target} PRIVATE cxx_std_20)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
  nestline_warnings(${target})
  nestline_precompile(${target})
endforeach()
nestline_unity(nestline_redis_server)
set_target_properties(nestline_redis_server PROPERTIES POSITION_INDEPENDENT_CODE ON)
math(EXPR module_version "${PROJECT_VERSION_MAJOR} * 10000 + ${PROJECT_VERSION_MINOR} * 100 + \
${PROJECT_VERSION_PATCH}")
target_compile_definitions(nestline_redis PRIVATE NESTLINE_MODULE_VERSION=${module_version})
add_dependencies(nestline_redis nestline_inside)
target_link_libraries(nestline_redis PRIVATE $<TARGET_FILE:nestline_inside>
                                             PkgConfig::NESTLINE_URCU)
nestline_exports(nestline_redis faces/redis/server/nestline_redis.map)
set_target_properties(nestline_redis PROPERTIES PREFIX "")
