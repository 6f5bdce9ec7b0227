# The libraries Varve stands on. All are Debian packages; `./dev` installs them.

# A game that adds this folder to its own build links these through varve::varve.
set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL ON)

find_package(Threads REQUIRED)
find_package(tl-expected REQUIRED)
find_package(fmt REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(lz4 REQUIRED IMPORTED_TARGET GLOBAL liblz4)
pkg_check_modules(zstd REQUIRED IMPORTED_TARGET GLOBAL libzstd)
pkg_check_modules(deflate REQUIRED IMPORTED_TARGET GLOBAL libdeflate)
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET GLOBAL libxxhash)
pkg_check_modules(isal REQUIRED IMPORTED_TARGET GLOBAL libisal)
pkg_check_modules(absl_btree REQUIRED IMPORTED_TARGET GLOBAL absl_btree)

# Without it the LMDB backend is there and says that it is not.
set(VARVE_LMDB AUTO CACHE STRING "The LMDB backend: ON, OFF, or AUTO if LMDB is found")
set_property(CACHE VARVE_LMDB PROPERTY STRINGS AUTO ON OFF)
set(varve_has_lmdb OFF)
if(VARVE_LMDB STREQUAL "AUTO")
  pkg_check_modules(lmdb QUIET IMPORTED_TARGET GLOBAL lmdb)
  set(varve_has_lmdb ${lmdb_FOUND})
elseif(VARVE_LMDB)
  pkg_check_modules(lmdb REQUIRED IMPORTED_TARGET GLOBAL lmdb)
  set(varve_has_lmdb ON)
endif()

# The tool's own; a game that embeds the library needs neither.
if(VARVE_TOOL)
  find_package(CLI11 REQUIRED)
  find_package(nlohmann_json REQUIRED)
endif()
