# How everything here is compiled: the language, warnings, sanitizers, ccache.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

option(VARVE_WERROR "Treat warnings as errors" ${PROJECT_IS_TOP_LEVEL})
set(VARVE_SANITIZE "" CACHE STRING "Sanitizers for everything, e.g. address,undefined or thread")

if(PROJECT_IS_TOP_LEVEL)
  # An empty build type means no optimization, which nobody wants by accident.
  if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Release or Debug" FORCE)
  endif()
  # A convenience, not a need: without ccache the compiler runs by itself.
  find_program(VARVE_CCACHE ccache)
  if(VARVE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    set(CMAKE_CXX_COMPILER_LAUNCHER ${VARVE_CCACHE})
  endif()
endif()

add_library(varve_flags INTERFACE)
target_compile_options(varve_flags INTERFACE -Wall -Wextra)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC 12 takes the inlined operator+ of two strings for an overlapping copy.
  target_compile_options(varve_flags INTERFACE -Wno-restrict)
endif()
if(VARVE_WERROR)
  target_compile_options(varve_flags INTERFACE -Werror)
endif()
if(VARVE_SANITIZE)
  set(varve_sanitize_flags -fsanitize=${VARVE_SANITIZE})
  target_compile_options(varve_flags INTERFACE ${varve_sanitize_flags} -fno-omit-frame-pointer
    -fno-sanitize-recover=all)
  target_link_options(varve_flags INTERFACE ${varve_sanitize_flags})
endif()
