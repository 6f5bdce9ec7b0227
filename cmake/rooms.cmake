# How a room is built: one static library per folder of src/, which links the rooms
# it may use and no other, so that a breach of the order does not link.

# varve_room(NAME SOURCES a.cpp ... ROOMS base ... LIBRARIES PkgConfig::lz4 ...)
# The target is varve_NAME. LIBRARIES are third-party and stay inside the room.
# NOT_SHIPPED keeps a room out of the library that is installed: the simulated
# disk is for tests alone.
function(varve_room name)
  cmake_parse_arguments(room "NOT_SHIPPED" "" "SOURCES;ROOMS;LIBRARIES" ${ARGN})
  if(room_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "varve_room(${name}): unknown arguments: ${room_UNPARSED_ARGUMENTS}")
  endif()
  add_library(varve_${name} STATIC ${room_SOURCES})
  list(TRANSFORM room_ROOMS PREPEND varve_ OUTPUT_VARIABLE room_targets)
  target_include_directories(varve_${name} PUBLIC ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(varve_${name} PUBLIC ${room_targets} tl::expected PRIVATE varve_flags ${room_LIBRARIES})
  if(NOT room_NOT_SHIPPED)
    varve_ship(${name})
  endif()
endfunction()

# Adds a room to what cmake/library.cmake makes the library of.
function(varve_ship name)
  get_property(shipped GLOBAL PROPERTY VARVE_SHIPPED_ROOMS)
  foreach(used ${room_ROOMS})
    if(NOT used IN_LIST shipped)
      message(FATAL_ERROR "The room ${name} is shipped, but ${used}, which it uses, is not")
    endif()
  endforeach()
  set_property(GLOBAL APPEND PROPERTY VARVE_SHIPPED_ROOMS ${name})
  set_property(GLOBAL APPEND PROPERTY VARVE_SHIPPED_LIBRARIES ${room_LIBRARIES})
endfunction()
