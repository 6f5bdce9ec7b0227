#!/usr/bin/env bash
# ./dev is what newcomers meet first: in a made-up tree, with a made-up cmake and apt-get,
# it has to configure what is lacking, install what is lacking, and say what it cannot do.
set -euo pipefail
source_dir=$1
scratch="$2/dev_test"
tree="$scratch/a tree"
log=$scratch/log
export log

stub() { # stub NAME: a program found before the real one, from standard input
  { echo '#!/usr/bin/env bash'; echo "echo ${1##*/} \"\$@\" >>\"\$log\""; cat; } >"$1"
  chmod +x "$1"
}

rm -rf "$scratch"
mkdir -p "$scratch/bin" "$tree/tests" "$scratch/elsewhere/a tree"
cp "$source_dir/dev" "$tree/"
: >"$tree/CMakePresets.json"
# Keeps what it is told in its cache, as CMake does.
stub "$scratch/bin/cmake" <<'E2'
[[ $1 == --preset ]] || exit 0
[[ -f CMakePresets.json ]] || { echo "not in the tree: $PWD"; exit 1; }
mkdir -p "build/$2"
printf '%s\n' "${@:3}" | sed 's/^-D//; s/=/:BOOL=/' >"build/$2/CMakeCache.txt"
touch "build/$2/build.ninja"
E2
stub "$tree/tests/run" <<<'exit 0'
# Without packages to install unless a test says so.
stub "$scratch/bin/dpkg-query" <<'E2'
for name in "$@"; do [[ " ${lacking:-} " == *" $name "* ]] || printf 'installed=%s ' "$name"; done
E2
stub "$scratch/bin/apt-get" <<<'[[ " ${failing:-} " != *" $1 "* ]]'
stub "$scratch/bin/sudo" <<<'while [[ $1 == -* ]]; do shift; done; "$@"'
export PATH=$scratch/bin:$PATH

# expect CODE TEXT COMMAND...: TEXT is in what it prints or in what it runs.
expect() {
  local code=$1 text=$2 rc=0 output
  shift 2
  : >"$log"
  output=$("$@" 2>&1) || rc=$?
  output+=$'\n'$(cat "$log")
  if [[ $rc != "$code" || $output != *"$text"* ]]; then
    printf 'for: %s\nexpected exit %s and "%s"; got exit %s and\n%s\n' "$*" "$code" "$text" "$rc" "$output"
    exit 1
  fi
}
expect_no() { # expect_no TEXT: the last command ran nothing like it
  ! grep -qe "$1" "$log" || { echo "should not have run:"; grep -e "$1" "$log"; exit 1; }
}

# A build folder has the parts that were asked for, and CMake's cache says which it has.
expect 0 "-DVARVE_TOOL=ON -DVARVE_TESTS=OFF -DVARVE_BENCH=OFF -DVARVE_FUZZ=OFF -DVARVE_EXAMPLES=OFF" "$tree/dev" build
expect 0 "-DVARVE_TOOL=ON -DVARVE_TESTS=ON -DVARVE_BENCH=ON -DVARVE_FUZZ=ON -DVARVE_EXAMPLES=ON" "$tree/dev" test
expect 0 "run build/release" "$tree/dev" test
expect_no "cmake --preset"
(cd "$tree" && cmake --preset release -DVARVE_TESTS=OFF -DVARVE_BENCH=ON -DVARVE_FUZZ=OFF)
expect 0 "-DVARVE_TOOL=ON -DVARVE_TESTS=ON -DVARVE_BENCH=ON -DVARVE_FUZZ=ON -DVARVE_EXAMPLES=ON" "$tree/dev" test
expect 0 "cmake --build build/release" "$tree/dev" build
expect_no "cmake --preset"
touch "$tree/CMakePresets.json"
expect 0 "-DVARVE_TOOL=ON -DVARVE_TESTS=ON -DVARVE_BENCH=ON -DVARVE_FUZZ=ON -DVARVE_EXAMPLES=ON" "$tree/dev" build
expect 0 "-DVARVE_TOOL=OFF -DVARVE_TESTS=OFF -DVARVE_BENCH=OFF -DVARVE_FUZZ=ON -DVARVE_EXAMPLES=OFF" "$tree/dev" build --preset fuzz

# The demo needs the library and the examples, and runs where it was called.
stub_folder=$tree/build/release/examples
mkdir -p "$stub_folder"
stub "$stub_folder/game_loop" <<<'echo "in $PWD"'
rm "$tree/build/release/build.ninja"
expect 0 "-DVARVE_TOOL=OFF -DVARVE_TESTS=OFF -DVARVE_BENCH=OFF -DVARVE_FUZZ=OFF -DVARVE_EXAMPLES=ON" "$tree/dev" demo
lacking="librocksdb-dev libgtest-dev" expect 0 "game_loop memory:here" "$tree/dev" demo memory:here
expect_no "cmake --preset"
expect_no "apt-get"
(cd "$scratch/elsewhere" && expect 0 "in $scratch/elsewhere" "$tree/dev" demo)

# Packages: what is not built needs none; an archive out of reach is not the end.
lacking=librocksdb-dev expect 0 "-DVARVE_TOOL=ON -DVARVE_TESTS=ON -DVARVE_BENCH=OFF -DVARVE_FUZZ=ON -DVARVE_EXAMPLES=ON" "$tree/dev" test --asan
expect_no "apt-get"
lacking=librocksdb-dev failing=update expect 0 "Warning: apt-get update failed" "$tree/dev" test
lacking=librocksdb-dev failing=update expect 0 "apt-get install --no-install-recommends -y librocksdb-dev" "$tree/dev" test
lacking=librocksdb-dev failing="update install" expect 3 \
  $'Run as root:\napt-get install --no-install-recommends -y librocksdb-dev\n' "$tree/dev" test

# Wrong usage is found before anything is built.
expect 2 "there is no preset 'bogus'" "$tree/dev" build --preset bogus
expect 2 "demo takes one PATH" "$tree/dev" demo memory:a memory:b
for filter in 'a-b' 'a:b' 'Good*' 'Goo?'; do
  expect 2 "none of - : * ? in it: $filter" "$tree/dev" test "$filter"
  expect_no cmake
done

# It may be called from anywhere, by any name.
ln -s "$tree/dev" "$scratch/elsewhere/varve"
expect 0 "cmake --build build/release" "$scratch/elsewhere/varve" build
cd "$scratch"
expect 0 "cmake --build build/release" env CDPATH="$scratch/elsewhere" "a tree/dev" build
