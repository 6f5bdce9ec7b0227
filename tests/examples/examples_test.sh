#!/usr/bin/env bash
# The examples print what is expected of them, in every run the same, and a failure is said and
# is their exit code. expected/NAME.txt is what examples/NAME.cpp prints.
set -euo pipefail
source_dir=$1 build_dir=$2
expected_dir=$source_dir/tests/examples/expected
scratch=$build_dir/examples_test
mkdir -p "$scratch"

count=0
for source in "$source_dir"/examples/*.cpp; do
  name=$(basename "$source" .cpp)
  for run in 1 2 3; do
    rc=0
    "$build_dir/examples/$name" >"$scratch/$name.txt" || rc=$?
    diff -u "$expected_dir/$name.txt" "$scratch/$name.txt" || { echo "$name: run $run printed something else"; exit 1; }
    ((rc == 0)) || { echo "$name exited with $rc"; exit 1; }
  done
  count=$((count + 1))
done
((count == $(ls "$expected_dir"/*.txt | wc -l))) || { echo "an expected output belongs to no example"; exit 1; }

# There is no format on disk yet.
rc=0
said=$("$build_dir/examples/game_loop" "$scratch/no such world" 2>&1) || rc=$?
[[ $rc == 1 && $said == "game_loop: '$scratch/no such world': a new world needs a format"* ]] ||
  { printf 'a path without a format: exit %s and\n%s\n' "$rc" "$said"; exit 1; }
