# What a program needs to have the engine inside: one archive of all modules, the public headers, and
# the files by which CMake and pkg-config find both.
set(archives)
foreach(module base expr plan journal kernel wire store engine actions effects runtime embed)
  list(APPEND archives $<TARGET_FILE:pawl_${module}>)
  list(APPEND modules pawl_${module})
endforeach()
set(PAWL_ARCHIVE ${CMAKE_BINARY_DIR}/libpawl.a)
add_custom_command(OUTPUT ${PAWL_ARCHIVE}
  COMMAND ${CMAKE_COMMAND} -DAR=${CMAKE_AR} -DSTRIP=${CMAKE_STRIP} -DOUT=${PAWL_ARCHIVE}
    "-DARCHIVES=${archives}" -P ${CMAKE_CURRENT_SOURCE_DIR}/merge_archives.cmake
  DEPENDS ${modules} ${CMAKE_CURRENT_SOURCE_DIR}/merge_archives.cmake
  VERBATIM)
add_custom_target(pawl_archive ALL DEPENDS ${PAWL_ARCHIVE})

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/pawl)
configure_file(pawl.pc.in ${CMAKE_BINARY_DIR}/pawl.pc @ONLY)
configure_package_config_file(pawlConfig.cmake.in ${CMAKE_BINARY_DIR}/pawlConfig.cmake
  INSTALL_DESTINATION ${package} PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/pawlConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PAWL_ARCHIVE} DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/pawl DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT library)
install(FILES ${CMAKE_BINARY_DIR}/pawl.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT library)
install(FILES ${CMAKE_BINARY_DIR}/pawlConfig.cmake ${CMAKE_BINARY_DIR}/pawlConfigVersion.cmake
  DESTINATION ${package} COMPONENT library)
