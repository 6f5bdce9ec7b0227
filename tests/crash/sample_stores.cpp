#include "crash/sample_stores.h"

#include <fmt/format.h>

#include "base/byte_reader.h"
#include "base/byte_writer.h"
#include "base/try.h"
#include "io/atomic_replace.h"
#include "varve/checksum.h"

namespace varve::crash {
namespace {

constexpr std::string_view kPath = "world";
constexpr std::uint64_t kFileSizeMax = 1 << 20;

// u32 crc32c of what follows, then per record: varint key size, key, varint value
// size, value.
Bytes encode(const Records& records) {
  ByteWriter w;
  w.u32_le(0);
  for (const auto& [key, value] : records) {
    w.varint(key.size());
    w.text(key);
    w.varint(value.size());
    w.bytes(value);
  }
  w.patch_u32_le(0, crc32c(w.view().subspan(4)));
  return w.take();
}

Result<Records> decode(const Bytes& in) {
  ByteReader r(in);
  if (r.u32_le() != crc32c(in.slice(4))) return corruption("world: the checksum does not match");
  Records records;
  while (r.ok() && !r.at_end()) {
    const std::string key(as_text(r.bytes(r.varint())));
    const std::uint64_t value_size = r.varint();
    const std::size_t value_offset = r.offset();
    records[key] = in.slice(value_offset, r.bytes(value_size).size());
  }
  VARVE_TRY(r.status("world"));
  return records;
}

class SampleSession final : public Session {
 public:
  SampleSession(Vfs& vfs, SampleKind kind, Records records)
      : vfs_(vfs), kind_(kind), records_(std::move(records)) {}

  Status apply(const Step& step) override {
    Records next = after(records_, step);
    VARVE_TRY(write(encode(next)));
    records_ = std::move(next);
    return {};
  }
  Result<Records> read_all() override { return records_; }
  Status close() override { return {}; }

 private:
  Status write(const Bytes& contents) {
    switch (kind_) {
      case SampleKind::in_place: {
        VARVE_ASSIGN(const auto file, vfs_.open(kPath, OpenMode::create));
        VARVE_TRY(file->write_at(0, contents));
        VARVE_TRY(file->truncate(contents.size()));
        VARVE_TRY(file->sync_data());
        return vfs_.sync_dir(".");
      }
      case SampleKind::rename_without_sync: {
        const std::string temporary = atomic_replace_temporary(kPath);
        VARVE_ASSIGN(const auto file, vfs_.open(temporary, OpenMode::replace));
        VARVE_TRY(file->write_at(0, contents));
        VARVE_TRY(vfs_.rename(temporary, kPath));
        return vfs_.sync_dir(".");
      }
      case SampleKind::atomic:
        return atomic_replace(vfs_, kPath, contents);
    }
    return invalid_argument("no such sample");
  }

  Vfs& vfs_;
  SampleKind kind_;
  Records records_;
};

}  // namespace

Result<std::unique_ptr<Session>> SampleStore::open(Vfs& vfs) {
  Records records;
  const auto file = vfs.open(kPath, OpenMode::read);
  if (file) {
    VARVE_ASSIGN(const Bytes contents, (*file)->read_all(kFileSizeMax));
    VARVE_ASSIGN(records, decode(contents));
  } else if (file.error().code() != ErrorCode::not_found) {
    return file.error();
  }
  return std::make_unique<SampleSession>(vfs, kind_, std::move(records));
}

Workload small_workload(std::size_t commit_count) {
  Workload workload;
  for (std::size_t i = 0; i < commit_count; ++i) {
    Step step;
    // Every commit changes every kind of thing, so that a mix of two shows.
    step.changes["chunk"] = Bytes::copy_of(fmt::format("layer {}: {:*<{}}", i, "", 600 * (i % 3)));
    step.changes[fmt::format("player {}", i % 2)] = Bytes::copy_of(fmt::format("tick {}", i));
    step.changes["empty"] = i % 2 == 0 ? std::optional(Bytes()) : std::nullopt;
    workload.push_back(std::move(step));
  }
  return workload;
}

}  // namespace varve::crash
