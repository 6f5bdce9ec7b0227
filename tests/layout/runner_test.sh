#!/usr/bin/env bash
# The runner of the tests is believed by everyone, so it is tested too: made-up test
# programs pass, fail, skip, crash and hang, and the count has to be right.
set -euo pipefail
source_dir=$1
scratch=$2/runner_test
export VARVE_TEST_TIME_LIMIT_S=2

program() { # program NAME: a shell script from standard input
  { echo '#!/usr/bin/env bash'; cat; } >"$scratch/$1"
  chmod +x "$scratch/$1"
}

# A program that prints what GoogleTest prints. The runner asks for shards; all but the
# first have nothing to do.
gtest_program() {
  { echo 'if ((GTEST_SHARD_INDEX > 0)); then echo "[==========] 0 tests from 0 test suites ran. (0 ms total)"; exit 0; fi'
    echo 'echo "[==========] Running 2 tests from 1 test suite."'
    cat
  } | program "$1"
}

# expect CODE LAST_LINE TEXT TEST...: runs the tests and compares.
expect() {
  local code=$1 last=$2 text=$3 rc=0 output
  shift 3
  printf '%s\n' "$@" >"$scratch/tests.list"
  output=$("$source_dir/tests/run" "$scratch" ${filter:-} 2>&1) || rc=$?
  if [[ $rc != "$code" || $(tail -n 1 <<<"$output") != "$last" || $output != *"$text"* ]]; then
    printf 'for: %s\nexpected exit %s, "%s" and "%s"; got exit %s and\n%s\n' "$*" "$code" "$text" "$last" "$rc" "$output"
    exit 1
  fi
}

rm -rf "$scratch"
mkdir -p "$scratch"
: >"$scratch/CMakeCache.txt"

gtest_program good <<'E2'
echo "[ RUN      ] A.One"; echo "[       OK ] A.One (0 ms)"
echo "[ RUN      ] A.Two"; echo "a.cpp:7: Skipped"; echo "golden/x is absent"; echo "Google Test trace:"; echo "a.cpp:3: x"; echo "[  SKIPPED ] A.Two (0 ms)"
echo "[==========] 2 tests from 1 test suite ran. (0 ms total)"
E2
gtest_program bad <<'E2'
echo "[ RUN      ] A.One"; echo "one is not two"; echo "[  FAILED  ] A.One (0 ms)"
echo "[ RUN      ] A.Two"; printf "no newline"; echo "[       OK ] A.Two (0 ms)"
echo "[==========] 2 tests from 1 test suite ran. (0 ms total)"
echo "[  FAILED  ] A.One"
exit 1
E2
gtest_program crashes <<'E2'
echo "[ RUN      ] A.One"; echo "[       OK ] A.One (0 ms)"
echo "[ RUN      ] A.Two"; echo "last words"
kill -SEGV $$
E2
gtest_program leaks <<'E2'
echo "[ RUN      ] A.One"; echo "[       OK ] A.One (0 ms)"
echo "[==========] 1 test from 1 test suite ran. (0 ms total)"
echo "LeakSanitizer: detected memory leaks"
exit 23
E2
gtest_program stops_early <<'E2'
exit 0
E2
program script_good <<<'exit 0'
program script_skips <<<'echo "no such tool"; exit 77'
program script_bad <<<'echo "it broke"; exit 5'
program hangs <<<'sleep 60'

expect 0 "1 passed, 0 failed, 1 skipped" "skipped: A.Two: golden/x is absent"$'\n' "gtest $scratch/good"
expect 1 "1 passed, 1 failed, 0 skipped" "one is not two" "gtest $scratch/bad"
expect 1 "1 passed, 1 failed, 0 skipped" "signal 11 in A.Two" "gtest $scratch/crashes"
expect 1 "1 passed, 1 failed, 0 skipped" "detected memory leaks" "gtest $scratch/leaks"
expect 1 "0 passed, 1 failed, 0 skipped" "2 cases did not run" "gtest $scratch/stops_early"
expect 0 "1 passed, 0 failed, 1 skipped" "no such tool" "script $scratch/script_good" "script $scratch/script_skips"
expect 1 "1 passed, 1 failed, 0 skipped" "it broke" "script $scratch/script_bad" "command $scratch/script_good --quick"
expect 1 "0 passed, 1 failed, 0 skipped" "exit 77" "command $scratch/script_skips"
expect 1 "0 passed, 1 failed, 0 skipped" "hangs" "command $scratch/hangs"
expect 1 "0 passed, 0 failed, 0 skipped" ""
filter=script_g expect 0 "1 passed, 0 failed, 0 skipped" "" "script $scratch/script_good" "script $scratch/script_bad"
