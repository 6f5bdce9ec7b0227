// Short words for what tests of the log of ticks write, read and damage.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "io/vfs.h"
#include "journal/tick_log.h"
#include "journal/wal_format.h"

namespace varve::test {

using Ticks = std::map<std::uint64_t, std::string>;
inline constexpr std::uint64_t kForEver = ~std::uint64_t{0};
inline const std::string kLogDir = "log";

// What a read shows, and how it ended.
struct Shown {
  Ticks ticks;
  Status status;
};
inline Shown show(const journal::TickLog& log, std::uint64_t from = 0,
                  std::uint64_t to = kForEver) {
  Shown shown;
  shown.status = log.read(from, to, [&](std::uint64_t tick, const Bytes& payload) -> Result<bool> {
    EXPECT_TRUE(shown.ticks.empty() || tick > shown.ticks.rbegin()->first);
    shown.ticks.emplace(tick, payload.text());
    return true;
  });
  return shown;
}
// All of it, which must be readable.
inline Ticks ticks_in(const journal::TickLog& log, std::uint64_t from = 0,
                      std::uint64_t to = kForEver) {
  Shown shown = show(log, from, to);
  EXPECT_TRUE(shown.status) << shown.status.error().message();
  return std::move(shown.ticks);
}

inline Bytes contents_of(Vfs& vfs, const std::string& path) {
  return vfs.open(path, OpenMode::read).value()->read_all(std::uint64_t{1} << 30).value();
}
inline void replace_contents(Vfs& vfs, const std::string& path, ByteView contents) {
  ASSERT_TRUE(vfs.open(path, OpenMode::replace).value()->write_at(0, contents));
}
inline void flip_bit(Vfs& vfs, const std::string& path, std::uint64_t offset) {
  Buffer contents = contents_of(vfs, path).clone();
  contents.span()[static_cast<std::size_t>(offset)] ^= std::byte{0x10};
  replace_contents(vfs, path, contents.view());
}

inline std::vector<std::string> segments_in(Vfs& vfs, const std::string& dir = kLogDir) {
  std::vector<std::string> paths;
  const std::vector<DirEntry> entries = vfs.list(dir).value();
  for (const DirEntry& entry : entries) {
    if (journal::parse_segment_name(entry.name)) paths.push_back(dir + "/" + entry.name);
  }
  return paths;
}

}  // namespace varve::test
