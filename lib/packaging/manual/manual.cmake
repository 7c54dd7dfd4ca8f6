# Manual pages and completion, made from the help of the command that was just built. They are left
# out where it cannot run here, or where Python is missing.
find_package(Python3 3.9 QUIET COMPONENTS Interpreter)
if(NOT TARGET Python3::Interpreter OR (CMAKE_CROSSCOMPILING AND NOT CMAKE_CROSSCOMPILING_EMULATOR))
  message(STATUS "nestline: without manual pages (Python not found, or built for another processor)")
  return()
endif()

set(manual ${PROJECT_BINARY_DIR}/manual)
set(manual_sources completion.py help_tree.py make_manual.py man_page.py)
list(TRANSFORM manual_sources PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/manual/)
set(manual_examples ${PROJECT_SOURCE_DIR}/tests/documents/examples)
file(GLOB manual_scripts CONFIGURE_DEPENDS ${manual_examples}/*.sh)
add_custom_command(
  OUTPUT ${manual}/made
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${manual}
  COMMAND Python3::Interpreter -B ${CMAKE_CURRENT_SOURCE_DIR}/manual/make_manual.py
          ${PROJECT_VERSION} ${manual} ${manual_examples} ${CMAKE_CROSSCOMPILING_EMULATOR} $<TARGET_FILE:nestline_command>
  COMMAND ${CMAKE_COMMAND} -E touch ${manual}/made
  DEPENDS nestline_command ${manual_sources} ${manual_scripts}
  COMMENT "Making manual pages and completion from the help of the command"
  VERBATIM)
add_custom_target(nestline_manual ALL DEPENDS ${manual}/made)

install(
  DIRECTORY ${manual}/man/
  DESTINATION ${CMAKE_INSTALL_MANDIR}/man1
  COMPONENT tools)
install(
  FILES ${manual}/bash/nestline
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
  COMPONENT tools)
install(
  FILES ${manual}/zsh/_nestline
  DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions
  COMPONENT tools)
