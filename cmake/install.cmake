# What `cmake --install` lays down: headers, the library, the tool, a CMake package and a
# pkg-config file. Both packages name the third-party libraries the rooms use.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(find_lines "")
set(pc_requires "")
set(pc_libs ${varve_sanitize_flags})
foreach(library ${varve_libraries})
  if(library MATCHES "^PkgConfig::(.+)$")
    set(prefix ${CMAKE_MATCH_1})
    set(module ${${prefix}_MODULE_NAME})
    list(APPEND find_lines "find_dependency(PkgConfig)" "varve_find_module(${prefix} ${module})")
    list(APPEND pc_requires ${module})
  elseif(library STREQUAL "fmt::fmt")
    list(APPEND find_lines "find_dependency(fmt)")
    list(APPEND pc_requires fmt)
  elseif(library STREQUAL "Threads::Threads")
    list(APPEND find_lines "find_dependency(Threads)")
    list(APPEND pc_libs -pthread)
  else()
    message(FATAL_ERROR "Say in cmake/install.cmake how a game finds ${library}")
  endif()
endforeach()
list(REMOVE_DUPLICATES find_lines)
list(JOIN pc_requires " " pc_requires)
list(JOIN pc_libs " " pc_libs)

# A shared library brings what it uses. A static one leaves it to the program, and
# since there is no other library here, even to one that does not say
# `pkg-config --static`: so these are not ".private" then.
set(pc_private "")
if(BUILD_SHARED_LIBS)
  set(find_lines "")
  set(pc_private "\nRequires.private: ${pc_requires}\nLibs.private: ${pc_libs}")
  set(pc_requires "")
  set(pc_libs "")
endif()
list(PREPEND find_lines "find_dependency(tl-expected)")
list(JOIN find_lines "\n" find_lines)

# The prefix is known at install time only (`cmake --install --prefix`), so the
# pkg-config file finds it from where it lies.
file(RELATIVE_PATH pc_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" pc_prefix "${pc_prefix}")
configure_file(cmake/varve.pc.in varve.pc @ONLY)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/varve)
configure_package_config_file(cmake/varve-config.cmake.in varve-config.cmake
  INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
write_basic_package_version_file(varve-config-version.cmake COMPATIBILITY SameMinorVersion)

install(DIRECTORY include/varve DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(TARGETS varve EXPORT varve INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT varve NAMESPACE varve:: FILE varve-targets.cmake DESTINATION ${package_dir})
install(FILES ${PROJECT_BINARY_DIR}/varve-config.cmake ${PROJECT_BINARY_DIR}/varve-config-version.cmake
  DESTINATION ${package_dir})
install(FILES ${PROJECT_BINARY_DIR}/varve.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
if(VARVE_TOOL)
  install(TARGETS varve_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
