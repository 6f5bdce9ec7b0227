#include "crash/log_sample.h"

#include <algorithm>

#include "base/byte_reader.h"
#include "base/byte_writer.h"
#include "base/try.h"
#include "io/atomic_replace.h"
#include "varve/checksum.h"

namespace varve::crash {
namespace {

constexpr std::string_view kPath = "log";
constexpr std::uint64_t kFileSizeMax = 1 << 20;
constexpr std::size_t kPageSize = 4096;
constexpr std::uint32_t kEndMark = 0x0dd0adde;
constexpr std::uint32_t kFirstSalt = 1;

// A block is valid if and only if its size fits, its checksum over size, payload and
// the checksum before it matches, and (without a checksum) its end mark is there. The
// chain keeps a block of an abandoned tail from following a new one.
// Layout: u32 size, u32 checksum, payload, u32 end mark, zeros to the next page.
Bytes encode_block(const Step& step, std::uint32_t salt, bool has_no_checksum) {
  ByteWriter w;
  w.u32_le(0);
  w.u32_le(0);
  for (const auto& [key, value] : step.changes) {
    w.varint(key.size());
    w.text(key);
    w.u8(value.has_value() ? 1 : 0);
    w.varint(value ? value->size() : 0);
    if (value) w.bytes(*value);
  }
  w.patch_u32_le(0, static_cast<std::uint32_t>(w.size() - 8));
  if (!has_no_checksum) {
    w.patch_u32_le(4, crc32c(w.view().subspan(8), crc32c(w.view().first(4), salt)));
  }
  w.u32_le(kEndMark);
  w.align(kPageSize);
  return w.take();
}

Result<Step> decode_changes(ByteView in) {
  ByteReader r(in);
  Step step;
  while (r.ok() && !r.at_end()) {
    const std::string key(as_text(r.bytes(r.varint())));
    const bool put = r.u8() != 0;
    const ByteView value = r.bytes(r.varint());
    step.changes[key] = put ? std::optional(Bytes::copy_of(value)) : std::nullopt;
  }
  VARVE_TRY(r.status("log"));
  return step;
}

// What a log holds, up to the first block that is not valid.
struct Recovered {
  Records records;
  std::uint64_t end = 0;
  std::uint32_t salt = kFirstSalt;
};

Result<Recovered> recover(const Bytes& all, const LogSampleOptions& options) {
  Recovered found;
  for (;;) {
    ByteReader r(all.slice(found.end));
    const std::uint32_t size = r.u32_le();
    const std::uint32_t checksum = r.u32_le();
    const ByteView payload = r.bytes(size);
    const bool ends_well = r.u32_le() == kEndMark;
    if (!r.ok() && options.refuses_short_tail && found.end < all.size()) return r.error("log");
    if (!r.ok() || size == 0 || !ends_well) return found;
    const std::uint32_t expected = crc32c(payload, crc32c(all.slice(found.end, 4), found.salt));
    if (!options.has_no_checksum && checksum != expected) return found;
    VARVE_ASSIGN(const Step step, decode_changes(payload));
    found.records = after(std::move(found.records), step);
    found.salt = checksum;
    found.end += (8 + size + 4 + kPageSize - 1) / kPageSize * kPageSize;
  }
}

class LogSession final : public Session {
 public:
  LogSession(std::unique_ptr<File> file, LogSampleOptions options, Recovered recovered)
      : file_(std::move(file)),
        options_(options),
        records_(std::move(recovered.records)),
        end_(recovered.end),
        salt_(recovered.salt) {}

  Status apply(const Step& step) override {
    const Bytes block = encode_block(step, salt_, options_.has_no_checksum);
    VARVE_TRY(file_->write_at(end_, block));
    ++unsynced_count_;
    if (unsynced_count_ >= options_.sync_every) VARVE_TRY(sync());
    end_ += block.size();
    ByteReader r(block.view().subspan(4));
    salt_ = r.u32_le();
    records_ = after(std::move(records_), step);
    return {};
  }
  std::size_t unsynced_count() const override {
    return options_.hides_unsynced ? 0 : unsynced_count_;
  }
  Result<Records> read_all() override { return records_; }
  Status close() override {
    if (unsynced_count_ != 0) VARVE_TRY(sync());
    return file_->close();
  }

 private:
  Status sync() {
    VARVE_TRY(file_->sync_data());
    unsynced_count_ = 0;
    return {};
  }

  std::unique_ptr<File> file_;
  LogSampleOptions options_;
  Records records_;
  std::uint64_t end_;
  std::uint32_t salt_;
  std::uint32_t unsynced_count_ = 0;
};

}  // namespace

Result<std::unique_ptr<Session>> LogSample::open(Vfs& vfs) {
  Recovered recovered;
  if (const auto old = vfs.open(kPath, OpenMode::read)) {
    VARVE_ASSIGN(const Bytes all, (*old)->read_all(kFileSizeMax));
    VARVE_ASSIGN(recovered, recover(all, options_));
    // What can be read may be the memory of a write whose sync failed. Only what is
    // written again, into a new file, is durable for certain.
    const std::size_t kept_size = std::min<std::size_t>(all.size(), recovered.end);
    VARVE_TRY(atomic_replace(vfs, kPath, all.slice(0, kept_size)));
  } else if (old.error().code() != ErrorCode::not_found) {
    return old.error();
  }
  VARVE_ASSIGN(auto file, vfs.open(kPath, OpenMode::create));
  VARVE_TRY(vfs.sync_dir("."));
  return std::make_unique<LogSession>(std::move(file), options_, std::move(recovered));
}

}  // namespace varve::crash
