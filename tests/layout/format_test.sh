#!/usr/bin/env bash
# Every source file is laid out as clang-format lays it out. `./dev format` repairs it.
set -euo pipefail
source_dir=$1
scratch=$2/format_test
command -v clang-format-19 >/dev/null || { echo "clang-format-19 is not installed"; exit 77; }

mkdir -p "$scratch"
cp "$source_dir/.clang-format" "$scratch/"
echo 'int  x ;' >"$scratch/bad.cpp"
if clang-format-19 --dry-run -Werror "$scratch/bad.cpp" 2>/dev/null; then
  echo "self-check: a badly laid out file passed"
  exit 1
fi
"$source_dir/dev" format --check
