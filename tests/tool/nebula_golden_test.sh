#!/usr/bin/env bash
# A save the nebula engine itself wrote: the tool reads it without leaving a trace, and a
# converted copy holds the same world.
set -euo pipefail
source_dir=$1 build_dir=$2
varve=$build_dir/varve
golden=${VARVE_SHARED_DIR:-$source_dir/../shared}/golden/nebula
scratch=$build_dir/nebula_golden_test
[[ -d $golden ]] || { echo "there is no $golden"; exit 77; }
rm -rf "$scratch"
mkdir -p "$scratch/world/chunks"
cd "$scratch"
cp "$golden/world.ron" world/
cp "$golden/nscd_sample.bin" world/entities.bin
cp "$golden/nvck_air.chunk" world/chunks/0_1_2_0.chunk
cp "$golden/nvck_300types.chunk" world/chunks/3_-1_2_1.chunk
cp -r world before

fail() { echo "$1"; exit 1; }
"$varve" get world chunk:0,1,2,0 | cmp - "$golden/nvck_air.bin"
"$varve" get world chunk:3,-1,2,1 | cmp - "$golden/nvck_300types_raw16.bin"
"$varve" get world global:file:world.ron | cmp - "$golden/world.ron"
[[ $("$varve" ls world | cut -f 1 | tr '\n' ' ') == "chunk:0,1,2,0 chunk:3,-1,2,1 entity:1 entity:1002 global:file:world.ron " ]] ||
  fail "ls: $("$varve" ls world)"
[[ $("$varve" verify world) == "5 records read, no problems" ]] || fail "verify"
"$varve" info world >/dev/null
"$varve" digest world >digest
[[ $("$varve" convert world copy --to nebula) == "2 chunks, 2 entities, 0 players and 1 global converted"* ]] || fail "convert"
"$varve" digest copy | diff digest - || fail "the copy holds another world"
diff -r before world || fail "looking at the save changed it"
