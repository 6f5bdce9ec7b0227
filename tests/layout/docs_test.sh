#!/usr/bin/env bash
# The documents stay true: relative links lead to files, commands in ```sh blocks that start
# with ./dev use words ./dev has, and the code the README shows is that of the game loop.
set -euo pipefail
source_dir=$1
scratch=$2/docs_test

documents() {
  git ls-files -co --exclude-standard -- '*.md' 2>/dev/null || find . -path ./build -prune -o -name '*.md' -print
}

# breaches ROOT WORD...: prints one line for each.
breaches() {
  local file link words
  cd "$1"
  shift
  words=" $* "
  while IFS= read -r file; do
    [[ -f $file ]] || continue
    { grep -oE '\]\([^)[:space:]]+\)' "$file" || true; } | sed 's/^](//; s/)$//; s/#.*//' |
      while IFS= read -r link; do
        [[ -z $link || $link =~ ^[a-z]+: || -e $(dirname "$file")/$link ]] || echo "$file: no such file: $link"
      done
    awk -v file="$file" -v words="$words" '
      /^```/ { inside = ($0 == "```sh"); next }
      inside && $1 == "./dev" && index(words, " " $2 " ") == 0 { print file ":" FNR ": ./dev has no word: " $0 }' "$file"
  done
}

# strange_lines DOCUMENT SOURCE: prints the lines of its ```cpp blocks that are not in the source,
# or not in this order. The document may leave lines out.
strange_lines() {
  awk '
    FILENAME == ARGV[1] { source[++count] = $0; next }
    /^```/ { inside = ($0 == "```cpp"); blocks += inside; next }
    !inside || /^$/ { next }
    {
      for (i = at + 1; i <= count && source[i] != $0; i++) {}
      if (i <= count) at = i; else print FILENAME ":" FNR ": not in the example, or not in this order: " $0
    }
    END { if (!blocks) print "no code is shown" }' "$2" "$1"
}

self_check() {
  local made=$scratch/made
  rm -rf "$scratch"
  mkdir -p "$made"
  printf '%s\n' '[a](b.md#part) [c](https://example.org) [d](#here)' '```sh' './dev test --asan' '```' './dev prose' >"$made/a.md"
  echo '[up](a.md)' >"$made/b.md"
  [[ -z $(printf 'a.md\nb.md\n' | breaches "$made" test) ]] || { echo "self-check: good documents are blamed"; exit 1; }
  printf '%s\n' '[a](missing.md)' '```sh' './dev dance' '```' >"$made/a.md"
  [[ $(echo a.md | breaches "$made" test | wc -l) == 2 ]] || { echo "self-check: bad documents are not blamed"; exit 1; }

  printf '%s\n' 'a;' '' 'b;' '  c;' >"$made/a.cpp"
  printf '%s\n' 'x' '```cpp' 'a;' '' '  c;' '```' 'y' >"$made/a.md"
  [[ -z $(strange_lines "$made/a.md" "$made/a.cpp") ]] || { echo "self-check: code of the example is blamed"; exit 1; }
  for lines in 'b;\na;' 'a;\nc;' 'a;\nd;' 'a;\na;'; do
    printf '```cpp\n%b\n```\n' "$lines" >"$made/a.md"
    [[ $(strange_lines "$made/a.md" "$made/a.cpp" | wc -l) == 1 ]] || { echo "self-check: not blamed: $lines"; exit 1; }
  done
  echo 'no code' >"$made/a.md"
  [[ -n $(strange_lines "$made/a.md" "$made/a.cpp") ]] || { echo "self-check: a document without code is not blamed"; exit 1; }
}

self_check
read -ra words <<<"$("$source_dir/dev" help | awk '/^  [a-z]+ / { printf "%s ", $1 }')"
((${#words[@]} >= 6)) || { echo "could not read the words of ./dev"; exit 1; }
found=$(cd "$source_dir" && documents | breaches "$source_dir" "${words[@]}"
  strange_lines README.md examples/game_loop.cpp)
[[ -z $found ]] || { echo "$found"; exit 1; }
