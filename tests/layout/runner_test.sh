#!/usr/bin/env bash
# The runner of the tests is believed by everyone, so it is tested too: a sample program
# and made-up scripts pass, fail, skip, crash and hang, and the count has to be right.
# All of it happens in a folder that has a blank in its name.
set -euo pipefail
source_dir=$1
scratch="$2/runner_test/a build"

program() { # program NAME: a shell script from standard input
  { echo '#!/usr/bin/env bash'; cat; } >"$scratch/$1"
  chmod +x "$scratch/$1"
}

# run_as KIND PROGRAM [ARGUMENT]...: a line of tests.list
run_as() {
  local kind=$1 program=$2
  shift 2
  printf '%s\t' "$kind" >>"$scratch/tests.list"
  printf '%s' "$scratch/$program" "${@/#/$'\t'}" >>"$scratch/tests.list"
  echo >>"$scratch/tests.list"
}

# expect CODE LAST_LINE TEXT [FILTER]: runs what run_as asked for since the last time and
# compares. The output has TEXT in it.
expect() {
  local code=$1 last=$2 text=$3 rc=0 output
  output=$("$source_dir/tests/run" "$scratch" "${@:4}" 2>&1) || rc=$?
  if [[ $rc != "$code" || $(tail -n 1 <<<"$output") != "$last" || $output != *"$text"* ]]; then
    printf 'for: %s\n%s\nexpected exit %s, "%s" and "%s"; got exit %s and\n%s\n' \
      "${*:4}" "$(cat "$scratch/tests.list")" "$code" "$text" "$last" "$rc" "$output"
    exit 1
  fi
  : >"$scratch/tests.list"
}

# A suite of runner_sample.cpp: expect_suite SUITE CODE LAST_LINE TEXT
expect_suite() {
  run_as gtest runner_sample
  expect "$2" "$3" "$4" "$1."
}

rm -rf "$2/runner_test"
mkdir -p "$scratch"
: >"$scratch/CMakeCache.txt"
: >"$scratch/tests.list"
ln -s "$2/tests/layout/runner_sample" "$scratch/runner_sample"

expect_suite Good 0 "1 passed, 0 failed, 1 skipped" "skipped: Good.Skips: golden/<x> is absent"$'\n'
expect_suite Bad 1 "1 passed, 1 failed, 0 skipped" "one is not two"
expect_suite Parameter 1 "0 passed, 1 failed, 0 skipped" 'the parameter is a "b" > c'
expect_suite Killed 1 "1 passed, 1 failed, 0 skipped" "signal 9 in Killed.Second"
expect_suite Killed 1 "1 passed, 1 failed, 0 skipped" "last words"
expect_suite EndsBadly 1 "1 passed, 1 failed, 0 skipped" "detected memory leaks"
expect_suite SuiteFails 1 "0 passed, 2 failed, 0 skipped" "the suite has no ground"

# What a test prints does not count, even if it looks like GoogleTest's.
expect_suite Leaves 1 "0 passed, 1 failed, 0 skipped" "exited with 0 in Leaves.InTheMiddle"
expect_suite Echo 0 "1 passed, 0 failed, 0 skipped" ""
expect_suite EchoOfFailure 1 "0 passed, 1 failed, 0 skipped" "after the echo"
program says_it_is_done <<'E2'
echo "[==========] Running 2 tests from 1 test suite."
echo "[ RUN      ] A.One"; echo "[       OK ] A.One (0 ms)"
echo "[==========] 2 tests from 1 test suite ran. (0 ms total)"
[[ $GTEST_SHARD_INDEX == 0 ]] || exec "$(dirname "$0")/runner_sample" --gtest_filter=None "${@:2}"
E2
run_as gtest says_it_is_done
expect 1 "1 passed, 1 failed, 0 skipped" "1 cases did not run"

program passes <<<'exit 0'
program skips <<<'echo "no such tool"; exit 77'
program breaks <<<'echo "it broke"; exit 5'
program hangs <<<'sleep 60'
program compares <<<'[[ $# == 2 && $1 == "one word" && $2 == two ]]'
run_as script passes && run_as script skips && expect 0 "1 passed, 0 failed, 1 skipped" "no such tool"
run_as script breaks && run_as command passes --quick && expect 1 "1 passed, 1 failed, 0 skipped" "it broke"
run_as command skips && expect 1 "0 passed, 1 failed, 0 skipped" "exit 77"
# Only here: on a busy machine the others may take longer than this.
run_as command hangs && VARVE_TEST_TIME_LIMIT_S=1 expect 1 "0 passed, 1 failed, 0 skipped" "hangs"
run_as command compares "one word" two && expect 0 "1 passed, 0 failed, 0 skipped" ""

# Nothing is left out silently.
program skips_silently <<<'echo; exit 77'
run_as script skips_silently && expect 1 "0 passed, 1 failed, 0 skipped" "skips_silently was skipped without a reason"
expect_suite Unreasoned 1 "0 passed, 1 failed, 0 skipped" "Unreasoned.Skips was skipped without a reason"
expect_suite Off 1 "0 passed, 1 failed, 0 skipped" "Off.DISABLED_Case is disabled"
expect 3 "tests/run: there are no tests in $scratch/tests.list" ""

# A filter is a part of a name, of a program's name without test_ in front.
ln -s runner_sample "$scratch/test_sample"
run_as script passes && run_as script breaks && expect 0 "1 passed, 0 failed, 0 skipped" "" passe
run_as gtest test_sample && expect 1 "0 passed, 0 failed, 0 skipped" "no test has 'test_'" test_
for filter in 'a-b' 'a:b' 'Good*' 'Goo?'; do
  run_as script passes && expect 2 "tests/run: FILTER is a part of a name, so it has none of - : * ? in it: $filter" "" "$filter"
done

# `cd` with a CDPATH goes elsewhere, and says where.
run_as script passes
mkdir -p "$scratch/elsewhere/a build"
(cd "$scratch/.." && CDPATH=$scratch/elsewhere "$source_dir/tests/run" "a build" >/dev/null) ||
  { echo "CDPATH leads the runner astray"; exit 1; }
