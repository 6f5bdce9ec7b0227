#include "journal/journal_folder.h"

#include <fmt/format.h>

#include <algorithm>

#include "backend/log/log_backend.h"
#include "base/byte_reader.h"
#include "base/byte_writer.h"
#include "base/guarded.h"
#include "base/try.h"
#include "io/durable_folder.h"
#include "io/path.h"

namespace varve::journal {
namespace {

constexpr std::string_view kLogFolder = "log";
constexpr std::string_view kIndexFolder = "index";
constexpr std::uint8_t kVersion = 1;

Bytes meta_key() { return Bytes::copy_of(std::string_view("\x01", 1)); }

// docs/formats/world_journal_v1.md#what-it-is. Keep the field order and that table in step.
Bytes encode_meta(const JournalMeta& meta) {
  ByteWriter out;
  out.u8(kVersion);
  for (const std::uint8_t byte : meta.id) out.u8(byte);
  out.u64_le(meta.stretch_ticks);
  out.u64_le(meta.base_tick);
  out.u8(static_cast<std::uint8_t>(meta.chunk_type.size()));
  out.bytes(as_byte_view(meta.chunk_type));
  return out.take();
}

Result<JournalMeta> decode_meta(ByteView data) {
  ByteReader r(data);
  const std::uint8_t version = r.u8();
  if (r.ok() && version != kVersion) {
    return unsupported(
        fmt::format("journal: version {}; this program reads version {}", version, kVersion));
  }
  JournalMeta meta;
  for (std::uint8_t& byte : meta.id) byte = r.u8();
  meta.stretch_ticks = r.u64_le();
  meta.base_tick = r.u64_le();
  const std::size_t name_size = r.u8();
  if (r.ok() && name_size != r.remaining()) return corruption("journal: the name of a chunk type");
  meta.chunk_type = as_text(r.rest());
  VARVE_TRY(r.finish("journal"));
  if (meta.stretch_ticks == 0 || meta.stretch_ticks > kStretchTicksMax) {
    return corruption(fmt::format("journal: stretches of {} ticks", meta.stretch_ticks));
  }
  return meta;
}

}  // namespace

Result<std::optional<JournalMeta>> JournalFolder::read_meta() const {
  VARVE_ASSIGN(const auto value, backend_->get(meta_key()));
  if (!value) return std::optional<JournalMeta>();
  VARVE_ASSIGN(JournalMeta meta, decode_meta(*value));
  return std::optional(std::move(meta));
}

Status JournalFolder::put_meta(const JournalMeta& meta) {
  VARVE_TRY(check_name(meta.chunk_type));
  WriteBatch batch;
  batch.put(meta_key(), encode_meta(meta));
  VARVE_TRY(backend_->write(batch));  // durable: that is the backend's default
  meta_ = meta;
  return {};
}

Status JournalFolder::open_parts(std::unique_ptr<TickLog> log) {
  log_ = std::move(log);
  const std::vector<Error>& damage = log_->report().problems;
  problems_.insert(problems_.end(), damage.begin(), damage.end());
  VARVE_ASSIGN(index_, HistoryIndex::open(*backend_, *log_, meta_.stretch_ticks));
  return {};
}

Status JournalFolder::open_to_write(const JournalFolderOptions& options) {
  VARVE_TRY(make_durable_folder(vfs_, path_));
  VARVE_ASSIGN(lock_, vfs_.lock_writer(path_join(path_, "lock")));
  // Whoever made the folder may have been killed before its name was durable.
  VARVE_TRY(vfs_.sync_dir(path_parent(path_)));
  log::LogOptions backend{.traits = log::file_backend_traits()};
  backend.background = options.log.background;
  backend.seed = options.seed;
  VARVE_ASSIGN(backend_, log::open_log(vfs_, path_join(path_, kIndexFolder), std::move(backend)));
  problems_ = backend_->open_report().problems;
  VARVE_ASSIGN(const auto meta, read_meta());
  VARVE_ASSIGN(auto log, TickLog::open(vfs_, path_join(path_, kLogFolder), log_options_));
  if (meta) {
    meta_ = *meta;
  } else if (log->latest_tick()) {
    // The log begins behind it. Taken for new, all that is in it would be forgotten.
    return corruption(
        fmt::format("{}: there are ticks in log/, and index/ does not say whose; bring index/ "
                    "back, or move the "
                    "journal away",
                    path_));
  } else {
    VARVE_TRY(put_meta(options.fresh));
  }
  return open_parts(std::move(log));
}

Result<std::unique_ptr<JournalFolder>> JournalFolder::open(Vfs& vfs, std::string_view path,
                                                           const JournalFolderOptions& options) {
  return or_out_of_memory([&]() -> Result<std::unique_ptr<JournalFolder>> {
    std::unique_ptr<JournalFolder> folder(new JournalFolder(vfs, path, options.log));
    VARVE_TRY(folder->open_to_write(options));
    return folder;
  });
}

Result<std::unique_ptr<JournalFolder>> JournalFolder::open_to_read(Vfs& vfs,
                                                                   std::string_view path) {
  return or_out_of_memory([&]() -> Result<std::unique_ptr<JournalFolder>> {
    std::unique_ptr<JournalFolder> folder(new JournalFolder(vfs, path, {}));
    VARVE_ASSIGN(const bool is_there, vfs.exists(path_join(folder->path_, kIndexFolder)));
    if (!is_there) return not_found(fmt::format("there is no journal at {}", path));
    log::LogOptions backend{.traits = log::file_backend_traits()};
    VARVE_ASSIGN(folder->backend_,
                 log::open_log_to_read(vfs, path_join(folder->path_, kIndexFolder), backend));
    VARVE_ASSIGN(const auto meta, folder->read_meta());
    if (!meta) return not_found(fmt::format("{}: the journal was never finished", path));
    folder->meta_ = *meta;
    VARVE_ASSIGN(auto log, TickLog::open_to_read(vfs, path_join(folder->path_, kLogFolder)));
    VARVE_TRY(folder->open_parts(std::move(log)));
    return folder;
  });
}

// What the log has of a stretch that was cut in two says nothing of records that changed in the
// part that is gone: the images were there.
std::uint64_t JournalFolder::oldest_tick() const {
  const auto first = log_->first_tick();
  if (!first || !log_->begins_cut()) return meta_.base_tick;
  const std::uint64_t start = index_->stretch_start(*first);
  if (start == *first) return std::max(meta_.base_tick, start);
  // Where its first ticks changed nothing the log does not have them, and still is whole.
  const Status read =
      log_->read(start, start + 1, [](std::uint64_t, const Bytes&) { return Result<bool>(false); });
  const bool is_cut = !read && read.error().code() == ErrorCode::not_found;
  return std::max(meta_.base_tick, is_cut ? start + meta_.stretch_ticks : start);
}

Status JournalFolder::set_log_aside(std::uint64_t last_good_tick) {
  JournalMeta meta = meta_;
  meta.base_tick = last_good_tick;
  // Before the log goes: what is left must not be taken for the whole.
  VARVE_TRY(put_meta(meta));
  VARVE_TRY(index_->forget_before(~std::uint64_t{0}));
  index_.reset();
  VARVE_TRY(log_->close());
  log_.reset();
  const std::string folder = path_join(path_, kLogFolder);
  VARVE_TRY(rename_aside(vfs_, folder, fmt::format(".damaged-{}", last_good_tick)));
  VARVE_ASSIGN(auto log, TickLog::open(vfs_, folder, log_options_));
  return open_parts(std::move(log));
}

Status JournalFolder::close() {
  Status closed;
  if (log_) closed = log_->close();
  const Status backend_closed = backend_ ? backend_->close() : Status{};
  lock_.reset();
  return closed ? backend_closed : closed;
}

}  // namespace varve::journal
