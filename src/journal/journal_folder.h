// The journal of a World as it lies on the disk, beside its save:
//
//   arena.journal/log/      the log of ticks, docs/formats/rgb_wal_v1.md
//   arena.journal/index/    a file backend: what this is (key 01), and the index of history (06)
//
// docs/formats/world_journal_v1.md has the bytes.
//
// Thread safety: that of its parts.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/vfs.h"
#include "journal/history_index.h"
#include "journal/tick_log.h"
#include "varve/backend.h"
#include "varve/journal.h"

namespace varve::journal {

inline constexpr std::uint64_t kStretchTicksMax = std::uint64_t{1} << 31;

struct JournalMeta {
  // Which world it belongs to: the save has the same as a global, kJournalGlobal.
  std::array<std::uint8_t, 16> id = {};
  // A record's first change in a stretch is logged with what was there before.
  std::uint64_t stretch_ticks = 1'200;
  // History begins here: what was before this tick, the journal does not know.
  std::uint64_t base_tick = 0;
  std::string chunk_type = {};  // whose edits these are
  friend bool operator==(const JournalMeta&, const JournalMeta&) = default;
};

inline constexpr std::string_view kJournalSuffix = ".journal";

struct JournalFolderOptions {
  TickLogOptions log = {};
  JournalMeta fresh = {};  // for one that is made
  std::uint64_t seed = 0;  // of the index's salts; 0: from the system
};

class JournalFolder {
 public:
  // Opens it, or makes it. `busy` if another process has it.
  static Result<std::unique_ptr<JournalFolder>> open(Vfs& vfs, std::string_view path,
                                                     const JournalFolderOptions& options);
  // As it is now, while a game writes it or not. not_found if there is none.
  static Result<std::unique_ptr<JournalFolder>> open_to_read(Vfs& vfs, std::string_view path);

  const JournalMeta& meta() const noexcept { return meta_; }
  Status put_meta(const JournalMeta& meta);
  TickLog& log() noexcept { return *log_; }
  const TickLog& log() const noexcept { return *log_; }
  HistoryIndex& index() noexcept { return *index_; }
  const HistoryIndex& index() const noexcept { return *index_; }
  // What the log and the index found when they were opened.
  const std::vector<Error>& problems() const noexcept { return problems_; }
  // The state after this tick, and after every later one, can be told.
  std::uint64_t oldest_tick() const;
  // The log is damaged, and what it can tell ends here: it is kept beside a new one, and history
  // begins anew.
  Status set_log_aside(std::uint64_t last_good_tick);
  Status close();

 private:
  JournalFolder(Vfs& vfs, std::string_view path, TickLogOptions log_options)
      : vfs_(vfs), path_(path), log_options_(log_options) {}
  Status open_to_write(const JournalFolderOptions& options);
  Status open_parts(std::unique_ptr<TickLog> log);
  Result<std::optional<JournalMeta>> read_meta() const;

  Vfs& vfs_;
  const std::string path_;
  const TickLogOptions log_options_;
  std::unique_ptr<WriterLock> lock_;
  std::vector<Error> problems_;
  JournalMeta meta_;
  std::unique_ptr<TickLog> log_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<HistoryIndex> index_;
};

}  // namespace varve::journal
