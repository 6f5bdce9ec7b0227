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

# A path without a format gets the default one, on disk, with the backup the example asks for.
rm -rf "$scratch/world" "$scratch/world.backup"
rc=0
"$build_dir/examples/game_loop" "$scratch/world" >"$scratch/on_disk.txt" 2>&1 || rc=$?
[[ $rc == 0 && $(tail -n 1 "$scratch/on_disk.txt") == 'ann at cell 29' && -f $scratch/world/varve.save &&
  -f $scratch/world.backup/varve.save ]] || { printf 'a world on disk: exit %s and\n' "$rc"; cat "$scratch/on_disk.txt"; exit 1; }

rc=0
said=$("$build_dir/examples/game_loop" "$scratch/no such folder/world" 2>&1) || rc=$?
[[ $rc == 1 && $said == "game_loop: $scratch/no such folder/world"* ]] ||
  { printf 'a folder that is not there: exit %s and\n%s\n' "$rc" "$said"; exit 1; }
