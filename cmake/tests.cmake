# What `./dev test` runs. tests/run reads tests.list in the build folder, which has
# one line for each test: its kind (gtest, script or command) and what to run, with
# tabs between the words since a path may have blanks. The same tests are known to ctest.

find_package(GTest REQUIRED)
find_package(rapidcheck REQUIRED)

set(VARVE_TEST_LIST ${PROJECT_BINARY_DIR}/tests.list)
file(WRITE ${VARVE_TEST_LIST} "")

# The folder that holds golden/ and worlds/, files written by other programs. They
# are not part of the project; tests that need them say "skipped" without them.
set(VARVE_SHARED_DIR ${PROJECT_SOURCE_DIR}/../shared CACHE PATH "Folder with golden/ and worlds/")

# varve_test(NAME SOURCES a_test.cpp ... LIBRARIES varve_base ...)
# One program per room. It links what it names and nothing else, so that a room
# that reaches into one it may not use does not link here.
function(varve_test name)
  cmake_parse_arguments(test "" "" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(test_${name} ${test_SOURCES})
  target_link_libraries(test_${name} PRIVATE ${test_LIBRARIES} varve_test_support varve_flags)
  add_test(NAME ${name} COMMAND test_${name})
  varve_list_test(gtest ${CMAKE_CURRENT_BINARY_DIR}/test_${name})
endfunction()

# varve_script_test(NAME script.sh): exit 0 passed, 77 skipped (the last line says
# why), anything else failed. It gets the source and the build folder as $1 and $2.
function(varve_script_test name script)
  set(path ${CMAKE_CURRENT_SOURCE_DIR}/${script})
  add_test(NAME ${name} COMMAND bash ${path} ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
  set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77)
  varve_list_test(script ${path})
endfunction()

# varve_command_test(NAME TARGET ARGS...): runs a program that is built here; exit 0
# is passed. For smoke tests of the benchmarks, the fuzz targets and the tool.
function(varve_command_test name target)
  get_target_property(folder ${target} BINARY_DIR)
  get_target_property(set_folder ${target} RUNTIME_OUTPUT_DIRECTORY)
  if(set_folder)
    set(folder ${set_folder})
  endif()
  add_test(NAME ${name} COMMAND ${target} ${ARGN})
  varve_list_test(command ${folder}/${target} ${ARGN})
endfunction()

function(varve_list_test)
  list(JOIN ARGN "\t" line)
  file(APPEND ${VARVE_TEST_LIST} "${line}\n")
endfunction()
