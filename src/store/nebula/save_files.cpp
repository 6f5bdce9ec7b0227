#include "store/nebula/save_files.h"
#include "store/save_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "base/byte_reader.h"
#include "base/guarded.h"
#include "base/try.h"
#include "codec/compression.h"
#include "io/path.h"
#include "varve/checksum.h"

namespace varve::nebula {
namespace {

std::uint64_t payload_limit(RecordKind kind) {
  return kind == RecordKind::entity ? kSceneSizeMax : kPayloadSizeMax;
}

// What LZ4 makes of bytes it cannot compress.
std::uint64_t file_limit(RecordKind kind) {
  const std::uint64_t limit = payload_limit(kind);
  return limit + limit / 255 + 64;
}

bool is_not_found(const Error& error) { return error.code() == ErrorCode::not_found; }
// A folder, for example.
bool is_no_file(const Error& error) { return error.code() == ErrorCode::invalid_argument; }

std::string what(const RecordKey& key) {
  return key.kind == RecordKind::entity ? "entities" : to_string(key);
}

Result<Bytes> decode_file(RecordKind kind, Bytes contents) {
  if (kind != RecordKind::chunk) return contents;
  return compression(CompressionId::lz4).decompress(contents, payload_limit(kind));
}

Status check(const FileEntry& entry, const Bytes& payload) {
  if (!entry.checked) return {};
  if (payload.size() != entry.payload_size) {
    return corruption(
        fmt::format("{} bytes, but {} were saved", payload.size(), entry.payload_size));
  }
  const std::uint64_t found = xxh3(payload);
  if (found != entry.checksum) {
    return corruption(fmt::format("it is not what was saved: checksum {:016x}, not {:016x}", found,
                                  entry.checksum));
  }
  return {};
}

Result<Bytes> read_checked(Vfs& vfs, const std::string& path, RecordKind kind,
                           const FileEntry& entry) {
  const auto file = vfs.open(path, OpenMode::read);
  // A folder or a pipe in the place of a file is no failure of the disk.
  if (!file && file.error().code() == ErrorCode::invalid_argument) {
    return corruption(file.error().message());
  }
  if (!file) return file.error();
  VARVE_ASSIGN(Bytes contents, (*file)->read_all(file_limit(kind)));
  auto payload = decode_file(kind, std::move(contents));
  if (!payload) return payload.error().with_context(path);
  if (Status good = check(entry, *payload); !good) return good.error().with_context(path);
  return payload;
}

Status copy_into(const File& in, File& out) {
  constexpr std::size_t kBlockSize = 1 << 20;
  Buffer block(kBlockSize);
  for (std::uint64_t offset = 0;;) {
    VARVE_ASSIGN(const std::size_t size, in.read_at(offset, block.span()));
    if (size == 0) break;
    VARVE_TRY(out.write_at(offset, block.view().first(size)));
    offset += size;
  }
  VARVE_TRY(out.sync_data());
  return out.close();
}

Status copy_file(Vfs& vfs, const std::string& from, const std::string& to) {
  VARVE_ASSIGN(const auto in, vfs.open(from, OpenMode::read));
  VARVE_ASSIGN(const auto out, vfs.open(to, OpenMode::create_new));
  Status copied = or_out_of_memory([&] { return copy_into(*in, *out); });
  // Half a copy would be taken for a whole one.
  if (!copied) (void)vfs.remove(to);
  return copied;
}

}  // namespace

Result<Bytes> encode_file(RecordKind kind, const Bytes& payload) {
  if (kind != RecordKind::chunk) return payload;
  ByteWriter out(file_limit(kind));
  VARVE_TRY(compression(CompressionId::lz4).compress(payload, out));
  return out.take();
}

Result<Bytes> read_payload(Vfs& vfs, const SaveLayout& layout, const RecordKey& key,
                           const FileEntry& entry) {
  // Commits move files while we look: from staged into place, from there to held. So these two
  // are looked at again at the end, in this order.
  const std::array places = {layout.file(key), layout.staged(entry.id), layout.held(entry.id),
                             layout.file(key), layout.held(entry.id)};
  std::optional<Error> failure;
  for (const std::string& place : places) {
    auto payload = read_checked(vfs, place, key.kind, entry);
    if (payload && !entry.checked && place != layout.held(entry.id)) {
      // Without a checksum only this tells that it was not replaced while we read: the old
      // contents are held before the new ones are put in place.
      VARVE_ASSIGN(const bool is_held, vfs.exists(layout.held(entry.id)));
      if (is_held) continue;
    }
    if (payload) return payload;
    if (is_not_found(payload.error())) continue;
    if (payload.error().code() != ErrorCode::corruption) return payload.error();
    failure = payload.error();
  }
  if (failure) return failure->with_context(what(key));
  return corruption(fmt::format("{}: its file {} is gone", what(key), layout.file(key)));
}

Result<std::uint64_t> payload_size(Vfs& vfs, const SaveLayout& layout, const RecordKey& key,
                                   const FileEntry& entry) {
  if (entry.checked) return entry.payload_size;
  auto file = vfs.open(layout.held(entry.id), OpenMode::read);
  if (!file && is_not_found(file.error())) file = vfs.open(layout.file(key), OpenMode::read);
  // A damaged record is listed all the same; whoever reads it is told.
  if (!file && (is_not_found(file.error()) || is_no_file(file.error()))) return std::uint64_t{0};
  if (!file) return file.error();
  if (key.kind != RecordKind::chunk) return (*file)->size();
  std::array<std::byte, 4> prefix{};
  VARVE_ASSIGN(const std::size_t size, (*file)->read_at(0, prefix));
  ByteReader in(ByteView(prefix).first(size));
  const std::uint32_t claimed = in.u32_le();
  return std::uint64_t{in.ok() ? claimed : 0};
}

Status share_file(Vfs& vfs, const std::string& from, const std::string& to) {
  Status linked = vfs.link(from, to);
  if (linked) return linked;
  if (is_not_found(linked.error())) return linked;
  const auto info = vfs.info(from);
  if (info && info->kind != FileKind::file) {
    return not_found(fmt::format("{} is no file", from));
  }
  // Something is there already, or there are no links (or no more) here.
  VARVE_TRY(remove_if_there(vfs, to));
  if (vfs.link(from, to)) return {};
  VARVE_TRY(remove_if_there(vfs, to));
  return copy_file(vfs, from, to);
}

Result<std::unique_ptr<WriterLock>> lock_save(Vfs& vfs, const SaveLayout& layout) {
  // Another program's save has no such folder yet.
  VARVE_TRY(vfs.create_dir(layout.in("varve")));
  return vfs.lock_writer(layout.lock());
}

Result<std::vector<DirEntry>> list_if_there(Vfs& vfs, const std::string& folder) {
  auto entries = vfs.list(folder);
  if (!entries && is_not_found(entries.error())) return std::vector<DirEntry>();
  return entries;
}

namespace {

// A name in the quarantine that is not taken, for what is at `path`.
Result<std::string> free_quarantine_path(Vfs& vfs, const SaveLayout& layout,
                                         const std::string& path) {
  for (std::uint32_t number = 1;; ++number) {
    std::string kept =
        layout.in(fmt::format("{}/{}.{}", kQuarantineFolder, path_name(path), number));
    VARVE_ASSIGN(const bool is_taken, vfs.exists(kept));
    if (!is_taken) return kept;
  }
}

// Whether a folder was in the way and is in the quarantine now.
Result<bool> move_folder_aside(Vfs& vfs, const SaveLayout& layout, const std::string& path) {
  VARVE_ASSIGN(const FileInfo there, vfs.info(path));
  if (there.kind != FileKind::directory) return false;
  VARVE_TRY(vfs.create_dir(layout.in(kQuarantineFolder)));
  VARVE_ASSIGN(const std::string kept, free_quarantine_path(vfs, layout, path));
  VARVE_TRY(vfs.rename(path, kept));
  return true;
}

}  // namespace

Status put_in_place(Vfs& vfs, const SaveLayout& layout, const std::string& staged,
                    const RecordKey& key) {
  const std::string file = layout.file(key);
  Status renamed = vfs.rename(staged, file);
  if (renamed || is_not_found(renamed.error())) return renamed;
  const auto moved = move_folder_aside(vfs, layout, file);
  return moved && *moved ? vfs.rename(staged, file) : renamed;
}

Status remove_from_place(Vfs& vfs, const SaveLayout& layout, const RecordKey& key) {
  const std::string file = layout.file(key);
  Status removed = remove_if_there(vfs, file);
  if (removed) return removed;
  const auto moved = move_folder_aside(vfs, layout, file);
  return moved && *moved ? Status() : removed;
}

Status make_folders(Vfs& vfs, const SaveLayout& layout) {
  for (const std::string_view folder : kFolders) {
    VARVE_TRY(vfs.create_dir(layout.in(folder)));
  }
  return {};
}

Status make_folders_durably(Vfs& vfs, const SaveLayout& layout) {
  std::vector<std::string> lacking;
  for (const std::string_view folder : kFolders) {
    VARVE_ASSIGN(const bool is_there, vfs.exists(layout.in(folder)));
    if (!is_there) lacking.push_back(layout.in(folder));
  }
  Status made = make_folders(vfs, layout);
  // Those that were there too: whoever made them may have died before this.
  if (made) made = vfs.sync_dir(layout.in("varve"));
  if (made) made = vfs.sync_dir(layout.root());
  if (made) return made;
  // No later sync would tell that they are durable. Made again, they will be.
  for (auto folder = lacking.rbegin(); folder != lacking.rend(); ++folder) {
    (void)vfs.remove_dir(*folder);
  }
  return made;
}

// False also if that cannot be told.
bool is_same_contents(Vfs& vfs, const std::string& a, const std::string& b) {
  const auto read = [&](const std::string& path) -> Result<Bytes> {
    VARVE_ASSIGN(const auto file, vfs.open(path, OpenMode::read));
    return file->read_all(file_limit(RecordKind::entity));
  };
  const auto in_a = read(a);
  const auto in_b = read(b);
  return in_a && in_b && *in_a == *in_b;
}

namespace {

// Makes a file that is there already, and its name, durable.
Status sync_again(Vfs& vfs, const std::string& path) {
  VARVE_ASSIGN(const auto file, vfs.open(path, OpenMode::write));
  VARVE_TRY(file->sync_data());
  VARVE_TRY(file->close());
  return vfs.sync_dir(path_parent(path));
}

}  // namespace

Status keep_aside(Vfs& vfs, const SaveLayout& layout, const std::string& file) {
  const auto info = vfs.info(file);
  if (!info && is_not_found(info.error())) return {};
  if (!info) return info.error();
  // A folder is moved when something takes its place.
  if (info->kind != FileKind::file) return {};
  const std::string folder = layout.in(kQuarantineFolder);
  VARVE_ASSIGN(const bool has_folder, vfs.exists(folder));
  VARVE_TRY(vfs.create_dir(folder));
  if (Status synced = vfs.sync_dir(layout.root()); !synced) {
    // No later sync would tell that it is durable. Made again, it will be.
    if (!has_folder) (void)vfs.remove_dir(folder);
    return synced;
  }
  std::string newest;
  for (std::uint32_t number = 1;; ++number) {
    const std::string kept = fmt::format("{}/{}.{}", folder, path_name(file), number);
    VARVE_ASSIGN(const bool is_taken, vfs.exists(kept));
    if (is_taken) {
      newest = kept;
      continue;
    }
    // A save that fails and is tried again must not fill the disk.
    if (!newest.empty() && is_same_contents(vfs, file, newest)) return sync_again(vfs, newest);
    // A copy of its own, which nobody who writes into the file changes; of what the disk cannot
    // read, a link is all there can be.
    if (!copy_file(vfs, file, kept)) VARVE_TRY(share_file(vfs, file, kept));
    Status synced = vfs.sync_dir(folder);
    if (!synced) (void)vfs.remove(kept);
    return synced;
  }
}

Status clear_folder(Vfs& vfs, const std::string& folder) {
  VARVE_ASSIGN(const auto entries, vfs.list(folder));
  for (const DirEntry& entry : entries) {
    if (entry.kind == FileKind::directory) continue;
    VARVE_TRY(remove_if_there(vfs, path_join(folder, entry.name)));
  }
  return {};
}

Status remove_leftover(Vfs& vfs, const SaveLayout& leftover) {
  return varve::remove_leftover(vfs, leftover.root(), leftover.lock());
}

Status remove_whole_save(Vfs& vfs, const SaveLayout& layout) {
  const SaveLayout going(layout.root() + std::string(kRemovingSuffix));
  return remove_folder_save(vfs, layout.root(), going.lock());
}

}  // namespace varve::nebula
