# Installs the package for Python. NESTLINE_PYTHON_DESTINATION is its folder below the prefix:
# Debian's own interpreter looks into dist-packages, others into site-packages.
cmake_path(GET Python_SITEARCH FILENAME python_packages)
set(NESTLINE_PYTHON_DESTINATION
    lib/python${Python_VERSION_MAJOR}.${Python_VERSION_MINOR}/${python_packages}
    CACHE STRING "Where the package for Python is installed, below the prefix")
mark_as_advanced(NESTLINE_PYTHON_DESTINATION)
install(
  TARGETS nestline_python
  LIBRARY DESTINATION ${NESTLINE_PYTHON_DESTINATION}/nestline
  COMPONENT python)
list(TRANSFORM python_sources PREPEND ${PROJECT_SOURCE_DIR}/lib/faces/python/nestline/ OUTPUT_VARIABLE python_files)
install(
  FILES ${python_files}
  DESTINATION ${NESTLINE_PYTHON_DESTINATION}/nestline
  COMPONENT python)
configure_file(${PROJECT_SOURCE_DIR}/lib/faces/python/METADATA.in METADATA @ONLY)
install(
  FILES ${CMAKE_CURRENT_BINARY_DIR}/METADATA
  DESTINATION ${NESTLINE_PYTHON_DESTINATION}/nestline-${PROJECT_VERSION}.dist-info
  COMPONENT python)
