# How a room is built: one static library per folder of src/, with warnings as
# errors and links that say which rooms it may use.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

option(VARVE_WERROR "Treat warnings as errors" ${PROJECT_IS_TOP_LEVEL})
set(VARVE_SANITIZE "" CACHE STRING "Sanitizers for everything, e.g. address,undefined or thread")

add_library(varve_flags INTERFACE)
target_compile_options(varve_flags INTERFACE -Wall -Wextra)
if(VARVE_WERROR)
  target_compile_options(varve_flags INTERFACE -Werror)
endif()
if(VARVE_SANITIZE)
  set(sanitize_flags -fsanitize=${VARVE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_compile_options(varve_flags INTERFACE ${sanitize_flags})
  target_link_options(varve_flags INTERFACE ${sanitize_flags})
endif()

# varve_room(NAME SOURCES a.cpp ... ROOMS base ... LIBRARIES PkgConfig::lz4 ...)
# The target is varve_NAME. LIBRARIES are third-party and stay inside the room.
function(varve_room name)
  cmake_parse_arguments(room "" "" "SOURCES;ROOMS;LIBRARIES" ${ARGN})
  add_library(varve_${name} STATIC ${room_SOURCES})
  list(TRANSFORM room_ROOMS PREPEND varve_)
  target_include_directories(varve_${name} PUBLIC ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(varve_${name} PUBLIC ${room_ROOMS} tl::expected PRIVATE varve_flags ${room_LIBRARIES})
endfunction()
