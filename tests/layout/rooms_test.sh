#!/usr/bin/env bash
# Who may include whom (docs/ARCHITECTURE.md, "Rooms"):
# 1. A room of src/ includes itself, rooms before it, and public headers, by full path.
# 2. Public headers include public headers alone.
# 3. The tool, the demo and the examples include no room.
# 4. Third-party headers stay in .cpp files, tl/expected.hpp aside.
# 5. The simulated disk is for tests: nothing in src/ outside it includes it.
set -euo pipefail
source_dir=$1
scratch=$2/rooms_test

breaches() { # breaches ROOT: prints one line for each
  (
    cd "$1"
    { find include src tool demo examples fuzz -name '*.h' -o -name '*.cpp' 2>/dev/null || true; } | sort | xargs -r awk '
      BEGIN {
        count = split("base io codec backend store journal world", order, " ")
        for (i = 1; i <= count; i++) rank[order[i]] = i
        split("dirent errno fcntl limits poll pthread sched signal stdint stddef stdio stdlib string strings time unistd", list, " ")
        for (i in list) system_header[list[i] ".h"] = 1
      }
      function breach(why) { print FILENAME ":" FNR ": " why ": " $0 }
      function is_system(header) {
        return header !~ /[.\/]/ || header ~ /^(sys|linux|asm)\// || header in system_header || header == "tl/expected.hpp"
      }
      FNR == 1 { split(FILENAME, part, "/"); place = part[1]; room = part[2] }
      /^[ \t]*#[ \t]*include[ \t]*["<]/ {
        quoted = $0 ~ /include[ \t]*"/
        header = $0
        sub(/^[^"<]*["<]/, "", header); sub(/[">].*/, "", header)
        split(header, step, "/"); first = step[1]
        if (place == "src") {
          if (!(room in rank)) breach("src/" room " is not a room")
          else if (first in rank) { if (rank[first] > rank[room]) breach(room " comes before " first) }
          else if (quoted && first != "varve") breach("not by its full path")
          if (header ~ /^io\/sim\// && FILENAME !~ /^src\/io\/sim\//) breach("the simulated disk is for tests")
        } else if (place == "include") {
          if (first in rank || (quoted && first != "varve")) breach("a public header includes an internal one")
        } else if (place != "fuzz") {
          if (first in rank) breach(place " may include public headers only")
        }
        if (!quoted && FILENAME ~ /\.h$/ && first != "varve" && !(first in rank) && !is_system(header)) breach("third-party header in a .h")
      }'
  )
}

self_check() {
  local made=$scratch/made file line
  rm -rf "$scratch"
  # A tree that keeps every rule ...
  while read -r file line; do
    mkdir -p "$made/$(dirname "$file")"
    echo "#include $line" >>"$made/$file"
  done <<'EOF'
include/varve/bytes.h <tl/expected.hpp>
include/varve/bytes.h "varve/result.h"
src/base/a.h <string_view>
src/io/a.h <sys/stat.h>
src/io/a.cpp "base/a.h"
src/io/a.cpp "io/b.h"
src/io/sim/disk.cpp "io/sim/disk.h"
src/io/a.cpp <fmt/format.h>
src/codec/a.cpp "io/a.h"
src/world/a.cpp "store/anvil/a.h"
tool/a.cpp "varve/bytes.h"
tool/a.cpp <CLI/CLI.hpp>
EOF
  [[ -z $(breaches "$made") ]] || { echo "self-check: a good tree is blamed:"; breaches "$made"; exit 1; }
  # ... and one breach at a time.
  while read -r file line; do
    rm -rf "$made"
    mkdir -p "$made/$(dirname "$file")"
    echo "#include $line" >"$made/$file"
    [[ $(breaches "$made" | wc -l) == 1 ]] || { echo "self-check: not blamed: $file includes $line"; exit 1; }
  done <<'EOF'
src/base/a.cpp "io/vfs.h"
src/io/a.cpp <codec/lz4.h>
src/store/anvil/a.h "journal/log.h"
src/util/a.h <string>
src/base/a.cpp "a.h"
src/store/a.cpp "io/sim/disk.h"
src/codec/a.h <zstd.h>
src/codec/a.h <fmt/format.h>
include/varve/a.h "base/endian.h"
include/varve/a.h <fmt/format.h>
tool/a.cpp "io/vfs.h"
demo/a.cpp "world/world.h"
examples/a.cpp "base/endian.h"
EOF
}

self_check
found=$(breaches "$source_dir")
[[ -z $found ]] || { echo "$found"; exit 1; }
