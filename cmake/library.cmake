# The one library a game links: the objects of every shipped room.

get_property(varve_rooms GLOBAL PROPERTY VARVE_SHIPPED_ROOMS)
get_property(varve_libraries GLOBAL PROPERTY VARVE_SHIPPED_LIBRARIES)
list(REMOVE_DUPLICATES varve_libraries)

list(TRANSFORM varve_rooms REPLACE "(.+)" "$<TARGET_OBJECTS:varve_\\1>" OUTPUT_VARIABLE varve_objects)
add_library(varve ${varve_objects})
add_library(varve::varve ALIAS varve)
set_target_properties(varve PROPERTIES
  LINKER_LANGUAGE CXX
  VERSION ${PROJECT_VERSION}
  # Before 1.0 a minor version may change the ABI.
  SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
target_compile_features(varve INTERFACE cxx_std_20)
target_include_directories(varve INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
# tl::expected is the base of Result, so games see it; the rest stays inside.
target_link_libraries(varve PUBLIC tl::expected PRIVATE ${varve_libraries} $<BUILD_INTERFACE:varve_flags>)
# A program that links a sanitized library needs the sanitizer's runtime.
target_link_options(varve INTERFACE ${varve_sanitize_flags})
