# Adds what Debian wants to each package's files before cpack makes the packages, and finds the
# libraries that it depends on. CPack's own call of dpkg-shlibdeps would write scripts for ldconfig,
# which Debian does by a trigger.
cmake_policy(VERSION 3.21)
if(NOT CPACK_NESTLINE_SHARED OR NOT CPACK_PACKAGING_INSTALL_PREFIX STREQUAL "/usr")
  message(FATAL_ERROR "Debian packages need BUILD_SHARED_LIBS=ON and CMAKE_INSTALL_PREFIX=/usr. Run "
                      "scripts/package, or configure with both.")
endif()
set(stage ${CPACK_TEMPORARY_DIRECTORY})
set(debian ${CPACK_NESTLINE_DEBIAN})

# run(FOLDER OUTPUT COMMAND...): ends cpack if the command fails.
function(run folder output)
  execute_process(
    COMMAND ${ARGN}
    WORKING_DIRECTORY ${folder}
    OUTPUT_VARIABLE text
    OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  set(${output} "${text}" PARENT_SCOPE)
endfunction()

# The shared libraries: their shlibs files tell dpkg-shlibdeps which package has which.
set(work ${CPACK_TOPLEVEL_DIRECTORY}/shlibdeps)
set(shlibs "")
set(folders "")
foreach(component ${CPACK_NESTLINE_LIBRARIES})
  string(TOUPPER ${component} upper)
  set(package ${CPACK_DEBIAN_${upper}_PACKAGE_NAME})
  string(REGEX REPLACE "${CPACK_NESTLINE_ABI}$" "" library ${package})
  set(line "${library} ${CPACK_NESTLINE_ABI} ${package} (>= ${CPACK_PACKAGE_VERSION})\n")
  file(WRITE ${work}/${component}/shlibs "${line}")
  string(APPEND shlibs "${line}")
  list(APPEND folders -l${stage}/${component}/usr/${CPACK_NESTLINE_LIBDIR})
  set(CPACK_DEBIAN_${upper}_PACKAGE_CONTROL_EXTRA ${work}/${component}/shlibs ${debian}/triggers)
endforeach()
file(WRITE ${work}/debian/shlibs.local "${shlibs}")
file(WRITE ${work}/debian/control "Source: nestline\n\nPackage: nestline\nArchitecture: any\n")

# The static libraries, without debug symbols.
file(GLOB archives ${CPACK_NESTLINE_STATIC}/lib/*.a)
foreach(archive ${archives})
  set(folder ${stage}/dev/usr/${CPACK_NESTLINE_LIBDIR})
  if(archive MATCHES "libnestline-filter[.]a$")
    set(folder ${stage}/filter_dev/usr/${CPACK_NESTLINE_LIBDIR})
  endif()
  file(COPY ${archive} DESTINATION ${folder} FILE_PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
  get_filename_component(name ${archive} NAME)
  run(${folder} nothing strip --strip-debug --remove-section=.comment --enable-deterministic-archives ${name})
endforeach()

foreach(component ${CPACK_COMPONENTS_ALL})
  string(TOUPPER ${component} upper)
  set(package ${CPACK_DEBIAN_${upper}_PACKAGE_NAME})
  set(root ${stage}/${component})
  set(documents ${root}/usr/share/doc/${package})

  file(COPY ${debian}/copyright DESTINATION ${documents} FILE_PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ
                                                                          WORLD_READ)
  configure_file(${debian}/changelog ${documents}/changelog.Debian COPYONLY)
  set(kind ${component})
  if(component IN_LIST CPACK_NESTLINE_LIBRARIES)
    set(kind runtime)
    if(component STREQUAL "store") # alone calls no function that has a fortified form
      set(kind store)
    endif()
  endif()
  if(EXISTS ${debian}/overrides/${kind})
    file(READ ${debian}/overrides/${kind} overrides)
    file(WRITE ${root}/usr/share/lintian/overrides/${package} "${overrides}")
  endif()
  # The licence is in Debian's folder of licences.
  file(REMOVE ${root}/usr/share/doc/nestline/LICENSE)

  file(GLOB_RECURSE files ${root}/usr/bin/* ${root}/usr/lib/*)
  set(binaries "")
  foreach(file ${files})
    if(NOT IS_SYMLINK ${file})
      file(READ ${file} magic LIMIT 4 HEX)
      if(magic STREQUAL "7f454c46")
        list(APPEND binaries ${file})
      endif()
    endif()
  endforeach()
  if(binaries)
    foreach(binary ${binaries})
      run(${root} nothing objcopy --remove-section=.comment --remove-section=.note ${binary})
    endforeach()
    run(${work} found dpkg-shlibdeps --warnings=0 -O -x${package} ${folders} ${binaries})
    string(REGEX REPLACE "^shlibs:Depends=" "" depends "${found}")
    if(component IN_LIST CPACK_NESTLINE_LIBRARIES) # our libraries may use what is not in the headers of each other
      string(REGEX REPLACE "(libnestline[^ ]*) [(]>= [^)]*[)]" "\\1 ${CPACK_NESTLINE_SAME_VERSION}" depends
                           "${depends}")
    endif()
    set(CPACK_DEBIAN_${upper}_PACKAGE_DEPENDS "${depends}")
    file(WRITE ${documents}/notices "Notices of the packages of Debian whose headers were compiled in.\n")
    foreach(headers ${CPACK_NESTLINE_HEADERS})
      if(EXISTS /usr/share/doc/${headers}/copyright)
        file(READ /usr/share/doc/${headers}/copyright notice)
        file(APPEND ${documents}/notices "\n----- ${headers}\n\n${notice}")
      endif()
    endforeach()
  endif()

  file(GLOB texts ${documents}/changelog.Debian ${documents}/notices ${root}/usr/share/man/man*/*)
  run(${root} nothing gzip -9n ${texts})
  run(${root} nothing chmod -R u+rwX,go+rX,go-w ${root})
endforeach()
if(CPACK_NESTLINE_PYTHON)
  string(APPEND CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS ", ${CPACK_NESTLINE_PYTHON}")
endif()
if(CPACK_NESTLINE_POSTGRESQL)
  string(APPEND CPACK_DEBIAN_POSTGRESQL_PACKAGE_DEPENDS ", ${CPACK_NESTLINE_POSTGRESQL}")
endif()
