# The completion, which asks the command for its help, and manual pages, which are made from the help of the
# command that was just built. The pages are left out where it cannot run here, or where Python is missing.
install(
  FILES ${CMAKE_CURRENT_SOURCE_DIR}/manual/nestline.bash
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
  RENAME nestline
  COMPONENT tools)
install(
  FILES ${CMAKE_CURRENT_SOURCE_DIR}/manual/_nestline
  DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions
  COMPONENT tools)
find_package(Python3 3.9 QUIET COMPONENTS Interpreter)
if(NOT TARGET Python3::Interpreter OR (CMAKE_CROSSCOMPILING AND NOT CMAKE_CROSSCOMPILING_EMULATOR))
  message(STATUS "nestline: without manual pages (Python not found, or built for another processor)")
  return()
endif()

set(manual ${PROJECT_BINARY_DIR}/manual)
set(manual_sources help_tree.py man_page.py)
list(TRANSFORM manual_sources PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/manual/)
set(manual_examples ${PROJECT_SOURCE_DIR}/tests/documents/examples)
file(GLOB manual_scripts CONFIGURE_DEPENDS ${manual_examples}/*.sh)
add_custom_command(
  OUTPUT ${manual}/made
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${manual}
  COMMAND Python3::Interpreter -B ${CMAKE_CURRENT_SOURCE_DIR}/manual/man_page.py
          ${PROJECT_VERSION} ${manual}/man ${manual_examples} ${CMAKE_CROSSCOMPILING_EMULATOR} $<TARGET_FILE:nestline_command>
  COMMAND ${CMAKE_COMMAND} -E touch ${manual}/made
  DEPENDS nestline_command ${manual_sources} ${manual_scripts}
  COMMENT "Making manual pages from the help of the command"
  VERBATIM)
add_custom_target(nestline_manual ALL DEPENDS ${manual}/made)

install(
  DIRECTORY ${manual}/man/
  DESTINATION ${CMAKE_INSTALL_MANDIR}/man1
  COMPONENT tools)
