#!/usr/bin/env bash
# The program `varve` as a person or a script meets it: exit codes, streams, pipes and full disks,
# and every command on saves of a format that ships, with good and with bad input.
set -euo pipefail
source_dir=$1 build_dir=$2
varve=$build_dir/varve
scratch=$build_dir/tool_test
rm -rf "$scratch"
mkdir -p "$scratch"
cd "$scratch"

# expect CODE OUT ERR COMMAND...: OUT is all of standard output, or with * around it a part;
# ERR is a part of standard error, which is one sentence or, if ERR is empty, empty.
expect() {
  local code=$1 out=$2 err=$3 rc=0 what=
  shift 3
  "$@" >out 2>err || rc=$?
  [[ $rc == "$code" ]] || what="exit $rc, not $code"
  if [[ $out == \** ]]; then
    [[ $(<out) == *"${out:1:-1}"* ]] || what="standard output has no '${out:1:-1}'"
  else
    [[ $(<out) == "$out" ]] || what="standard output is not '$out'"
  fi
  if [[ -z $err ]]; then
    [[ ! -s err ]] || what="standard error is not empty"
  else
    [[ $(<err) == "varve: "*"$err"* && $(wc -l <err) == 1 ]] || what="standard error is not one sentence with '$err'"
  fi
  [[ -z $what ]] || { printf '%s: %s\n--- stdout\n' "$*" "$what"; head -c 2000 out; echo "--- stderr"; head -c 2000 err; exit 1; }
}

# --- Without a save ---------------------------------------------------------------------

version=$(awk '/define VARVE_VERSION_/ { printf "%s%s", dot, $3; dot = "." }' "$source_dir/include/varve/version.h")
expect 0 "varve $version" "" "$varve" --version
expect 0 "*usage: varve COMMAND*" "" "$varve" --help
cp out help
commands=$(awk '/^Commands:/ { on = 1; next } /^$/ { on = 0 } on { print $1 }' help)
[[ $(wc -w <<<"$commands") -ge 8 ]] || { echo "could not read the commands from --help"; exit 1; }
for command in $commands; do
  expect 0 "*Examples:*" "" "$varve" "$command" --help
  expect 2 "" "varve $command --help" "$varve" "$command"
  expect 2 "" "varve $command --help" "$varve" "$command" --nonsense
done
expect 2 "" "there is no command 'dance'" "$varve" dance
rc=0; "$varve" >out 2>err || rc=$?
[[ $rc == 2 && ! -s out ]] || { echo "without a command: exit $rc"; exit 1; }

for command in info ls verify digest; do
  expect 3 "" "there is no save at absent" "$varve" $command absent
  expect 3 "" "is no save of a format this program knows" "$varve" $command /dev/null
done
expect 3 "" "there is no save at absent" "$varve" get absent entity:1
expect 3 "" "there is no save at absent" "$varve" rm absent entity:1
expect 3 "" "there is no save at absent" "$varve" put absent entity:1 /dev/null
expect 2 "" "there is no format dust" "$varve" put absent entity:1 /dev/null --format dust
expect 2 "" "there is no format dust" "$varve" convert absent copy --to dust
expect 3 "" "ends with the program" "$varve" put memory:new chunk:1,2 /dev/null --format memory
[[ ! -e absent ]] || { echo "something was made at 'absent'"; exit 1; }

# The manual has a part for every command.
for command in $commands; do
  grep -qx "## $command" "$source_dir/docs/tool.md" || { echo "docs/tool.md has no part about $command"; exit 1; }
done

# --- Streams ----------------------------------------------------------------------------

# A full disk is said; a reader that went away is not, but both are failures.
rc=0; "$varve" --help >/dev/full 2>err || rc=$?
[[ $rc == 3 && $(<err) == *"No space left on device"* ]] || { echo "a full disk: exit $rc, $(<err)"; exit 1; }
rc=0; "$varve" --help >&- 2>err || rc=$?
[[ $rc == 3 && $(<err) == *"could not write to standard output"* ]] || { echo "closed: exit $rc, $(<err)"; exit 1; }
mkfifo pipe
{ exec 3<pipe; exec 3<&-; } &
exec 4>pipe
wait
rc=0; "$varve" --help >&4 2>err || rc=$?
exec 4>&-
[[ $rc == 3 && ! -s err ]] || { echo "a closed pipe: exit $rc, $(<err)"; exit 1; }

# --- nebula -----------------------------------------------------------------------------

if ! grep -q '^Formats:.* nebula' help; then
  echo "this build has no format nebula; what needs no save was tested"
  exit 77
fi

key=chunk:0,3,-2,0
printf 'sto\0ne' >stone
expect 0 "" "" "$varve" put world $key stone --format nebula
expect 0 "" "" "$varve" put world chunk:5,-1,7,2 - --format nebula <<<"more stone"
expect 0 "" "" "$varve" put world "player:Ann Lee" - <<<hungry
expect 0 "" "" "$varve" put world global:100% - <<<all
expect 0 "" "" "$varve" get world $key -o got
cmp stone got
expect 0 hungry "" "$varve" get world "player:Ann Lee"

expect 0 $'chunk:0,3,-2,0\t6\nchunk:5,-1,7,2\t11\nplayer:Ann Lee\t7\nglobal:100%\t4' "" "$varve" ls world
expect 0 $'chunk:5,-1,7,2\t11' "" "$varve" ls world chunk:5
expect 0 $'chunk:0,3,-2,0\t6' "" "$varve" ls world --box 0,-9,-9,0:0,9,9,0
expect 0 '{"key":"global:100%","kind":"global","size":4}' "" "$varve" ls world global --json
expect 2 "" "is no box" "$varve" ls world --box 0,0
expect 2 "" "is no pattern" "$varve" ls world stones

expect 0 "*format      nebula*" "" "$varve" info world
expect 0 "*           2  0,-1,-2,0:5,3,7,2 in the default space*" "" "$varve" info world
expect 0 '*"format": "nebula"*' "" "$varve" info --json world
expect 0 "4 records read, no problems" "" "$varve" verify world
expect 0 '*"problems": []*' "" "$varve" verify world --json

expect 0 "*player player:Ann%20Lee 7 *" "" "$varve" digest world
LC_ALL=C sort -c out
cp out digest
[[ $(awk '{ print NF }' digest | sort -u) == 5 ]] || { echo "a digest line has not five words:"; cat digest; exit 1; }
# crc32 of other programs: gzip keeps it, little-endian, eight bytes before its end.
crc=$(gzip -c stone | tail -c 8 | od -An -tx4 -N4 --endian=little | tr -d ' ')
grep -q "^chunk $key 6 $crc [0-9a-f]\{16\}\$" digest || { echo "the crc32 of $key is not $crc:"; cat digest; exit 1; }
expect 0 '*"key":"player:Ann Lee"*' "" "$varve" digest world --json

expect 0 "2 chunks, 0 entities, 1 player and 1 global converted, 28 bytes" "" "$varve" convert world copy --to nebula
expect 0 "$(<digest)" "" "$varve" digest copy
expect 3 "" "copy exists already" "$varve" convert world copy --to nebula
expect 0 '*"converted": true*' "" "$varve" convert world copy2 --to nebula --json
expect 3 "" "does not outlive this program" "$varve" convert world memory:copy --to memory
ls -A | { ! grep unfinished; } || { echo "an unfinished convert was left behind"; exit 1; }

# An entity without a name, components, parents and prefabs, which stands in a chunk.
head -c 4 /dev/zero >entity
expect 0 "" "" "$varve" put copy2 entity:17 entity --owner 0,3,-2,0
expect 0 "" "" "$varve" put copy2 entity:17 entity
expect 0 $'entity:17\t4\tchunk:0,3,-2,0' "" "$varve" ls copy2 entity
crc=$({ echo chunk:0,3,-2,0; cat entity; } | gzip -c | tail -c 8 | od -An -tx4 -N4 --endian=little | tr -d ' ')
expect 0 "*entity entity:17 4 $crc *" "" "$varve" digest copy2
expect 0 "*1 entity,*" "" "$varve" convert copy2 copy4 --to nebula
expect 0 "$("$varve" digest copy2)" "" "$varve" digest copy4
expect 0 "" "" "$varve" put copy2 entity:17 entity --owner none
expect 0 $'entity:17\t4' "" "$varve" ls copy2 entity

# What the format does not take.
expect 3 "" "chunk:1,2" "$varve" put world chunk:1,2 stone
expect 3 "" "chunk:6,0,0,0" "$varve" put world chunk:6,0,0,0 stone
expect 3 "" "chunk:end/1,0,0,0" "$varve" put world chunk:end/1,0,0,0 stone
expect 3 "" "chunk:1,2" "$varve" put new chunk:1,2 stone --format nebula
[[ ! -e new ]] || { echo "a save was made for a record it does not take"; exit 1; }
expect 3 "" "no entity of the nebula format" "$varve" put world entity:1 stone
expect 2 "" "is no entity" "$varve" put world $key stone --owner 0,0,0,0
expect 3 "" "No such file" "$varve" put world $key absent
expect 3 "" "has no chunk:0,0,0,0" "$varve" get world chunk:0,0,0,0
expect 2 "" "whole numbers" "$varve" get world chunk:x
expect 3 "" "No such file" "$varve" get world $key -o no/such/folder
rc=0; "$varve" get world $key >/dev/full 2>err || rc=$?
[[ $rc == 3 && $(<err) == *"No space left"* ]] || { echo "get to a full disk: exit $rc, $(<err)"; exit 1; }

expect 1 "" "world has no entity:9" "$varve" rm world chunk:5,-1,7,2 entity:9
expect 3 "" "has no chunk:5,-1,7,2" "$varve" get world chunk:5,-1,7,2
expect 0 "" "" "$varve" rm world "player:Ann Lee" global:100%
expect 0 $'chunk:0,3,-2,0\t6' "" "$varve" ls world

# A damaged chunk: everything says so, nothing else suffers.
file=copy/chunks/0_3_-2_0.chunk
[[ -f $file ]] || { echo "$file is not there"; exit 1; }
printf 'junk' >"$file"
expect 1 "*$key: *" "1 problem in 4 records" "$varve" verify copy
expect 1 '*"key": "chunk:0,3,-2,0"*' "" "$varve" verify copy --json
expect 3 "" "$key" "$varve" get copy $key
expect 1 "$(grep -v "^chunk $key" digest)" "$key" "$varve" digest copy
expect 3 "*$key: *" "so nothing was written" "$varve" convert copy copy3 --to nebula
[[ ! -e copy3 ]] || { echo "a refused convert left something"; exit 1; }
expect 1 "*1 chunk, 0 entities, 1 player and 1 global converted*" "left out" "$varve" convert copy copy3 --to nebula --lossy
expect 0 "$(grep -v "^chunk $key" digest)" "" "$varve" digest copy3
expect 0 "" "" "$varve" put copy $key stone
expect 0 "$(<digest)" "" "$varve" digest copy

# A put that waits for its input keeps nobody out meanwhile.
mkfifo held
"$varve" put copy global:long held &
exec 5>held
expect 0 "" "" "$varve" put copy global:short stone
exec 5>&-
wait
expect 0 "" "" "$varve" get copy global:long

# Whatever moment a convert is killed at, there is a whole copy or none.
mkdir payloads
for i in {1..40}; do
  head -c 20000 /dev/urandom >payloads/$i
  "$varve" put large "chunk:1,$i,0,0" payloads/$i --format nebula
done
"$varve" digest large >digest
for delay_s in 0.005 0.01 0.02 0.04 0.08 0.16 0.32 0.64; do
  # The shell would report each death.
  { timeout --signal=KILL $delay_s "$varve" convert large large_copy --to nebula >/dev/null || true; } 2>/dev/null
  if [[ -e large_copy ]]; then
    expect 0 "$(<digest)" "" "$varve" digest large_copy
    rm -r large_copy
  fi
done
expect 0 "*40 chunks*" "" "$varve" convert large large_copy --to nebula
expect 0 "$(<digest)" "" "$varve" digest large_copy
[[ ! -e large_copy.unfinished-convert ]] || { echo "an unfinished convert was left behind"; exit 1; }

# --- The past -----------------------------------------------------------------------------

"$build_dir/tests/tool/make_arena" arena
expect 3 "" "there is no save at absent" "$varve" log absent
expect 3 "" "has no journal" "$varve" log copy
expect 3 "" "has no journal" "$varve" rollback copy --to 0
expect 3 "" "the latest is 5" "$varve" diff arena --from 1 --to 6
expect 1 $'entity:17\t3\tnone' "" "$varve" diff arena --from 4 --to 5
expect 0 "" "" "$varve" rollback arena --to 5
mv arena.journal moved
expect 3 "" "there is no journal at arena.journal" "$varve" log arena
mv moved arena.journal
"$build_dir/tests/tool/make_arena" other
mv arena.journal moved
cp -r other.journal arena.journal
expect 3 "" "belongs to another save" "$varve" log arena
rm -r arena.journal
mv moved arena.journal
expect 0 "*5	1 entity	bo*" "" "$varve" log arena

# What a journal knows comes back with the next opening, whatever was restored.
expect 0 "*copied*" "" "$varve" backup arena arena_backup
expect 0 "*copied*" "move arena.journal away" "$varve" backup --restore arena_backup arena
rm -r arena.before-restore

# A save in a save would go with it.
ln -s arena link
for inner in arena/inner ./arena/../arena/inner link/inner; do
  expect 3 "" "lies in" "$varve" backup arena "$inner"
  expect 3 "" "lies in" "$varve" convert arena "$inner" --to nebula
  expect 3 "" "lies in" "$varve" convert varve:arena "$inner" --to nebula
done
[[ ! -e arena/inner ]] || { echo "a save was made in a save"; exit 1; }
rm link

# --- The manual -------------------------------------------------------------------------

# Every command in a ```console block of docs/tool.md prints what stands below it.
mkdir manual
cd manual
"$build_dir/tests/tool/make_arena" arena
PATH=$build_dir:$PATH
command= expected= count=0
check_command() {
  local printed
  [[ -n $command ]] || return 0
  printed=$(bash -c "$command" 2>&1) || true
  [[ $printed == "${expected%$'\n'}" ]] || { printf 'docs/tool.md: %s prints\n%s\nnot\n%s\n' "$command" "$printed" "$expected"; exit 1; }
  count=$((count + 1)) command= expected=
}
while IFS= read -r line; do
  if [[ $line == '$ '* ]]; then
    check_command
    command=${line#'$ '}
  else
    expected+=$line$'\n'
  fi
done < <(awk '/^```/ { inside = ($0 == "```console"); next } inside' "$source_dir/docs/tool.md")
check_command
((count >= 15)) || { echo "docs/tool.md: only $count commands were found"; exit 1; }
