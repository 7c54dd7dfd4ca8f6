# The package for Python: the extension module nestline/_nestline.*.so beside a few files of Python.
# The extension has the libraries' objects in it, so that a wheel is whole in itself, and exports
# its entry point only. Not pybind11's CMake functions: they choose an interpreter of their own.
if(NOT Python_EXECUTABLE AND EXISTS /usr/bin/python3)
  # The system's, which has the packages of the system, and not one that happens to be on the PATH.
  set(Python_EXECUTABLE /usr/bin/python3)
endif()
find_package(Python 3.10 QUIET COMPONENTS Interpreter Development.Module)
nestline_find_header(NESTLINE_PYBIND11_INCLUDE_DIR pybind11/pybind11.h "pybind11, version 2.10 or later"
                     pybind11::headers)
nestline_need("build python" "the headers of Python 3.10 for ${Python_EXECUTABLE}" Python_FOUND
              pybind11/pybind11.h NESTLINE_PYBIND11_INCLUDE_DIR)

add_library(
  nestline_python MODULE
  faces/python/arguments.cc
  faces/python/copies.cc
  faces/python/expiring.cc
  faces/python/filters.cc
  faces/python/key_batch.cc
  faces/python/keys.cc
  faces/python/maplet.cc
  faces/python/module.cc
  faces/python/signatures.cc
  ${all_objects})
target_compile_features(nestline_python PRIVATE cxx_std_20)
target_include_directories(nestline_python PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
target_include_directories(nestline_python SYSTEM PRIVATE ${NESTLINE_PYBIND11_INCLUDE_DIR}
                                                          ${NESTLINE_HIGHWAY_INCLUDE_DIR})
# pybind11's classes of this module alone, so that guard_base may change their base.
target_compile_definitions(nestline_python PRIVATE PYBIND11_BUILD_TYPE="_nestline")
nestline_leave_out(nestline_python PRIVATE)
target_link_libraries(nestline_python PRIVATE Python::Module ${libraries})
if(TARGET nestline_store)
  target_sources(nestline_python PRIVATE faces/python/store.cc $<TARGET_OBJECTS:nestline_store>)
  target_compile_definitions(nestline_python PRIVATE NESTLINE_PYTHON_STORE)
endif()
if(TARGET nestline_cluster)
  target_sources(nestline_python PRIVATE faces/python/cluster.cc $<TARGET_OBJECTS:nestline_cluster>
                                         $<TARGET_OBJECTS:nestline_redis_value>)
  target_compile_definitions(nestline_python PRIVATE NESTLINE_PYTHON_CLUSTER)
  target_link_libraries(nestline_python PRIVATE ${cluster_libraries})
endif()
nestline_warnings(nestline_python)
# Most of it is what pybind11 makes of each member, where -O3 would only cost time. Parsing pybind11 takes
# most of the time of a file.
target_compile_options(nestline_python PRIVATE -O2)
nestline_unity(nestline_python)
if(NOT NESTLINE_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_precompile_headers(nestline_python PRIVATE <pybind11/pybind11.h> <pybind11/numpy.h>
                            <pybind11/stl.h>)
endif()
nestline_exports(nestline_python packaging/nestline-python.map)
set(python_folder ${PROJECT_BINARY_DIR}/python)
set_target_properties(
  nestline_python
  PROPERTIES PREFIX ""
             OUTPUT_NAME _nestline
             SUFFIX .${Python_SOABI}.so
             LIBRARY_OUTPUT_DIRECTORY ${python_folder}/nestline$<0:>) # so that no folder of a configuration is added

# The whole package in the build folder, so that tests import it from there.
set(python_sources __init__.py __main__.py _copies.py _renamed.py _nestline.pyi py.typed)
set(python_sources ${python_sources} PARENT_SCOPE) # these for lib/packaging
set(NESTLINE_PYTHON ${Python_EXECUTABLE} PARENT_SCOPE) # for tests/faces/python
set(Python_SITEARCH ${Python_SITEARCH} PARENT_SCOPE)
set(Python_VERSION_MAJOR ${Python_VERSION_MAJOR} PARENT_SCOPE)
set(Python_VERSION_MINOR ${Python_VERSION_MINOR} PARENT_SCOPE)
foreach(file ${python_sources})
  configure_file(faces/python/nestline/${file} ${python_folder}/nestline/${file} COPYONLY)
endforeach()
