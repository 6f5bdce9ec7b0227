#!/usr/bin/env bash
# What must be right in one place is in one place: byte order, syncing, renaming,
# locking, and the way to the disk itself. Comments do not count, nor do methods of
# ours that bear the same name (`vfs.rename(`, `PosixVfs::rename(`).
set -euo pipefail
source_dir=$1
scratch=$2/one_place_test

# A rule: its name, where it is looked for, the only files it may be in, and a pattern.
# LIBC is the start of a call that is not a method: "::f(", "f(", never "x.f(" or "X::f(".
libc='(^|[^A-Za-z0-9_.>:])(::)?'
global='(^|[^A-Za-z0-9_])(::|std::|std::filesystem::|fs::)'
everywhere='src tool demo bench fuzz include'
rules=(
  "byte order|$everywhere|^src/base/endian\.h$|(bswap_?(16|32|64)|std::byteswap|std::endian|__BYTE_ORDER__|<<[ ]*(24|40|48|56)([^0-9]|$))|$libc(hton[sl]|ntoh[sl]|hto[bl]e(16|32|64)|[bl]e(16|32|64)toh)[ ]*\\("
  "syncing|$everywhere|^src/io/posix_file\.cpp$|$libc(fsync|fdatasync|syncfs|sync_file_range|msync)[ ]*\\("
  "renaming|$everywhere|^src/io/posix_vfs\.cpp$|${global}rename[ ]*\\(|${libc}renameat2?[ ]*\\("
  "locking|$everywhere|^src/io/posix_lock\.cpp$|${libc}(flock|lockf)[ ]*\\(|F_(OFD_)?(SETLKW?|GETLK)([^A-Z]|$)|LOCK_EX"
  "the disk|src include|^src/io/posix_[a-z_]*\.cpp$|${global}(open|openat|creat|pread|pwrite|mmap|unlink|ftruncate|fallocate)[ ]*\\(|(^|[^A-Za-z0-9_])(fopen|[io]?fstream)([^A-Za-z0-9_]|$)"
)

# breaches ROOT: prints one line for each. A power of two (1 << 24) is not byte order.
breaches() {
  local rule name places allowed pattern
  for rule in "${rules[@]}"; do
    IFS='|' read -r name places allowed pattern <<<"$rule"
    (
      cd "$1"
      # shellcheck disable=SC2086 # the places are words
      { find $places -name '*.h' -o -name '*.cpp' 2>/dev/null || true; } | { grep -vE "$allowed" || true; } | sort |
        PATTERN=$pattern xargs -r awk -v name="$name" '
          {
            text = $0
            sub(/\/\/.*/, "", text)
            if (text ~ /^[ \t]*#/) next
            gsub(/((^|[^0-9A-Za-z_])1[uUlL]*|[{]1[}])[ ]*<</, "", text)
            if (text ~ ENVIRON["PATTERN"]) print FILENAME ":" FNR ": " name " does not belong here: " $0
          }'
    )
  done
}

self_check() {
  local made=$scratch/made file line
  rm -rf "$scratch"
  while read -r file line; do
    mkdir -p "$made/$(dirname "$file")"
    echo "$line" >>"$made/$file"
  done <<'EOF'
src/base/endian.h return __builtin_bswap32(value);
src/io/posix_file.cpp if (::fdatasync(descriptor) != 0) return;
src/io/posix_vfs.cpp ::rename(from, to);
src/io/posix_lock.cpp ::fcntl(descriptor, F_OFD_SETLK, &all);
src/io/posix_lock.cpp ::fcntl(descriptor, F_OFD_GETLK, &all);
src/io/posix_file.cpp const int descriptor = ::open(path, flags);
src/io/a.cpp vfs.rename(a, b); vfs->rename(a, b); return vfs.open(path);
src/io/a.cpp Status PosixVfs::rename(std::string_view from)
src/io/a.cpp struct flock whole_file; // ::fsync( is not called here
src/io/a.cpp constexpr auto kMax = std::size_t{1} << 24; int b = 1u << 24;
src/io/a.cpp #include <fstream>
EOF
  [[ -z $(breaches "$made") ]] || { echo "self-check: a good tree is blamed:"; breaches "$made"; exit 1; }
  while read -r file line; do
    rm -rf "$made"
    mkdir -p "$made/$(dirname "$file")"
    echo "$line" >"$made/$file"
    [[ $(breaches "$made" | wc -l) == 1 ]] || { echo "self-check: not blamed: $file: $line"; exit 1; }
  done <<'EOF'
src/io/a.cpp x = __builtin_bswap64(x);
src/codec/a.cpp v = b[3] << 24 | b[2] << 16;
bench/a.cpp v = htobe32(v);
tool/a.cpp if (std::endian::native == std::endian::little) f();
src/io/posix_vfs.cpp ::fsync(descriptor);
fuzz/a.cpp return fdatasync(1);
src/io/posix_file.cpp ::rename(a, b);
tool/a.cpp std::filesystem::rename(a, b);
src/store/a.cpp renameat2(AT_FDCWD, a, AT_FDCWD, b, 0);
src/io/posix_vfs.cpp flock(descriptor, 2);
src/journal/a.cpp fcntl(descriptor, F_SETLK, &all);
src/io/posix_vfs.cpp ::fcntl(descriptor, F_OFD_GETLK, &all);
src/store/a.cpp std::ofstream out(path);
src/backend/a.cpp const int descriptor = ::open(path, flags);
EOF
}

self_check
found=$(breaches "$source_dir")
[[ -z $found ]] || { echo "$found"; exit 1; }
