#!/usr/bin/env bash
# Installs the build under test into a scratch folder and builds a game against it:
# once with find_package, once with pkg-config and the bare compiler. A folder may have
# a blank in its name, so this one has.
set -euo pipefail
source_dir=$1 build_dir=$2
here=$source_dir/tests/install
scratch=$build_dir/consumer_test
prefix="$scratch/a prefix"

cached() { sed -n "s/^$1:[A-Z]*=//p" "$build_dir/CMakeCache.txt"; }
compiler=$(cached CMAKE_CXX_COMPILER)

major_minor_patch=$(awk '/define VARVE_VERSION_/ { printf "%s%s", dot, $3; dot = "." }' \
  "$source_dir/include/varve/version.h")
expected="version $major_minor_patch
payload stone
error chunk: shorter than its mark"

check() { # check HOW PROGRAM EXPECTED
  local output
  output=$(LD_LIBRARY_PATH=$prefix/lib "$2")
  if [[ $output != "$3" ]]; then
    printf '%s printed:\n%s\nbut should print:\n%s\n' "$1" "$output" "$3"
    exit 1
  fi
  echo "$1: ok"
}

rm -rf "$scratch"
cmake --install "$build_dir" --prefix "$prefix" >/dev/null
diff -r "$source_dir/include/varve" "$prefix/include/varve"

if [[ $(cached VARVE_TOOL) == ON ]]; then
  [[ $("$prefix/bin/varve" --version) == "varve $major_minor_patch" ]] || { echo "the installed tool does not run"; exit 1; }
fi

# The simulated disk is for tests: its room says NOT_SHIPPED.
simulated=$(nm -C "$prefix"/lib/libvarve.* 2>/dev/null | grep -c "varve::sim::" || true)
if [[ $simulated != 0 ]]; then
  echo "the simulated disk is in the installed library: $simulated symbols"
  exit 1
fi

cmake -S "$here/consumer" -B "$scratch/cmake" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" \
  -DCMAKE_CXX_COMPILER="$compiler" >"$scratch/cmake.log" || { cat "$scratch/cmake.log"; exit 1; }
cmake --build "$scratch/cmake" >"$scratch/build.log" || { cat "$scratch/build.log"; exit 1; }
check find_package "$scratch/cmake/consumer" "$expected"
check "the game loop" "$scratch/cmake/game_loop" "$(<"$source_dir/tests/examples/expected/game_loop.txt")"

# What the README shows compiles.
awk '/^```/ { inside = ($0 == "```cpp"); next } inside' "$source_dir/README.md" >"$scratch/readme.cpp"
[[ -s $scratch/readme.cpp ]]
"$compiler" -std=c++20 -Wall -Wextra -Werror -fsyntax-only -I"$prefix/include" "$scratch/readme.cpp"

# A game that can do without Varve is configured without it if a library is lacking.
# A shared library brings its own, so there nothing can be.
mkdir "$scratch/no_modules"
PKG_CONFIG_LIBDIR=$scratch/no_modules cmake -S "$here/optional" -B "$scratch/optional" -G Ninja \
  -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_CXX_COMPILER="$compiler" >"$scratch/optional.log" 2>&1 ||
  { echo "find_package(varve QUIET) stops a game:"; cat "$scratch/optional.log"; exit 1; }
if [[ $(cached BUILD_SHARED_LIBS) != ON ]]; then
  grep -q "without Varve: pkg-config does not know the module" "$scratch/optional.log" ||
    { echo "a library is lacking, but Varve is found:"; cat "$scratch/optional.log"; exit 1; }
fi

# pkg-config quotes blanks for a shell: ask_pkg_config ARGUMENT... sets `flags`.
ask_pkg_config() {
  local answer
  answer=$(PKG_CONFIG_PATH="$prefix/lib/pkgconfig" pkg-config "$@")
  eval "flags=($answer)"
}

# The second spelling is the one a distributor's recipe uses.
ask_pkg_config --cflags varve
"$compiler" -std=c++20 -c "$here/consumer/main.cpp" -o "$scratch/main.o" "${flags[@]}"
for form in "" --static; do
  ask_pkg_config $form --libs varve
  "$compiler" "$scratch/main.o" -o "$scratch/by_pkg_config" "${flags[@]}"
  check "pkg-config $form" "$scratch/by_pkg_config" "$expected"
done
