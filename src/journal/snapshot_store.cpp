#include "journal/snapshot_store.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/byte_reader.h"
#include "base/byte_writer.h"
#include "base/endian.h"
#include "base/try.h"

namespace varve::journal {
namespace {

constexpr std::uint8_t kVersion = 1;
// What is written at a time: batches a game's log syncs beside are small ones.
constexpr std::size_t kPieceSize = std::size_t{1} << 20;
constexpr std::uint64_t kSnapshotSizeMax = std::uint64_t{1} << 40;

enum class Tag : std::uint8_t { what = 1, names = 2, snapshot = 3, piece = 4, log_base = 5 };

Bytes key_of(Tag tag) {
  ByteWriter out;
  out.u8(static_cast<std::uint8_t>(tag));
  return out.take();
}

Bytes key_of(Tag tag, std::uint64_t tick) {
  std::byte bytes[9];
  bytes[0] = static_cast<std::byte>(tag);
  store_be<std::uint64_t>(bytes + 1, tick);
  return Bytes::copy_of(ByteView(bytes));
}

Bytes piece_key(std::uint64_t tick, std::uint32_t number) {
  std::byte bytes[13];
  bytes[0] = static_cast<std::byte>(Tag::piece);
  store_be<std::uint64_t>(bytes + 1, tick);
  store_be<std::uint32_t>(bytes + 9, number);
  return Bytes::copy_of(ByteView(bytes));
}

struct Entry {
  std::uint64_t size = 0;
  std::uint64_t created_ms = 0;
  std::uint32_t piece_count = 0;
};

Bytes encode_entry(const Entry& entry) {
  ByteWriter out;
  out.u64_le(entry.size);
  out.u64_le(entry.created_ms);
  out.u32_le(entry.piece_count);
  return out.take();
}

Result<Entry> decode_entry(ByteView bytes) {
  ByteReader r(bytes);
  Entry entry;
  entry.size = r.u64_le();
  entry.created_ms = r.u64_le();
  entry.piece_count = r.u32_le();
  VARVE_TRY(r.finish("snapshot entry"));
  if (entry.size > kSnapshotSizeMax ||
      entry.piece_count != (entry.size + kPieceSize - 1) / kPieceSize) {
    return corruption(
        fmt::format("snapshot entry: {} bytes in {} pieces", entry.size, entry.piece_count));
  }
  return entry;
}

std::chrono::system_clock::time_point time_of(std::uint64_t ms) {
  // A clock that was set to nonsense is no damage.
  constexpr std::uint64_t kMsMax = std::uint64_t{1} << 52;
  return std::chrono::system_clock::time_point(
      std::chrono::duration_cast<std::chrono::system_clock::duration>(
          std::chrono::milliseconds(std::min(ms, kMsMax))));
}

std::uint64_t ms_of(std::chrono::system_clock::time_point time) {
  const auto since = std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch());
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, since.count()));
}

// Every entry with this tag, by rising key. Values are not read.
template <class Use>
Status for_each_key(const Backend& backend, Tag tag, std::size_t key_size, const Use& use) {
  RangeQuery query{.prefix = key_of(tag), .values = false};
  for (;;) {
    VARVE_ASSIGN(const RangePage page, backend.range(query));
    for (const RangeEntry& entry : page.entries) {
      if (entry.key.size() != key_size)
        return corruption("a key of a journal's tables has the wrong size");
      VARVE_TRY(use(entry.key));
    }
    if (!page.next) return {};
    query.from = *page.next;
  }
}

std::uint64_t tick_in(const Bytes& key) { return load_be<std::uint64_t>(key.data() + 1); }

}  // namespace

Result<std::unique_ptr<SnapshotStore>> SnapshotStore::open(std::unique_ptr<Backend> backend) {
  std::unique_ptr<SnapshotStore> store(new SnapshotStore(std::move(backend)));
  VARVE_ASSIGN(const auto what, store->backend_->get(key_of(Tag::what)));
  if (!what) {
    WriteBatch batch;
    ByteWriter version;
    version.u8(kVersion);
    batch.put(key_of(Tag::what), version.take());
    VARVE_TRY(store->write(batch));
    return store;
  }
  if (what->size() != 1) return corruption("the tables of a journal do not say what they are");
  const auto version = std::to_integer<std::uint8_t>(what->data()[0]);
  if (version != kVersion) {
    return unsupported(fmt::format(
        "the tables of a journal have version {}, and this program knows {}", version, kVersion));
  }
  VARVE_TRY(store->remove_orphans());
  return store;
}

Status SnapshotStore::write(const WriteBatch& batch) {
  WriteResult written = backend_->write(batch);
  if (!written) return std::move(written).error();
  return {};
}

Result<ComponentNames> SnapshotStore::names() const {
  VARVE_ASSIGN(const auto table, backend_->get(key_of(Tag::names)));
  if (!table) return ComponentNames();
  return ComponentNames::decode(*table);
}

Status SnapshotStore::put_names(const ComponentNames& names) {
  WriteBatch batch;
  batch.put(key_of(Tag::names), names.encode());
  VARVE_TRY(write(batch));
  return backend_->sync();
}

Result<std::optional<std::uint64_t>> SnapshotStore::log_base() const {
  VARVE_ASSIGN(const auto value, backend_->get(key_of(Tag::log_base)));
  if (!value) return std::optional<std::uint64_t>();
  ByteReader r(*value);
  const std::uint64_t tick = r.u64_le();
  VARVE_TRY(r.finish("the tick a journal was cut at"));
  return std::optional(tick);
}

Status SnapshotStore::set_log_base(std::uint64_t tick) {
  WriteBatch batch;
  ByteWriter value;
  value.u64_le(tick);
  batch.put(key_of(Tag::log_base), value.take());
  VARVE_TRY(write(batch));
  return backend_->sync();
}

Result<std::vector<SnapshotMeta>> SnapshotStore::list() const {
  std::vector<SnapshotMeta> found;
  VARVE_TRY(for_each_key(*backend_, Tag::snapshot, 9, [&](const Bytes& key) -> Status {
    const auto value = backend_->get(key);
    if (!value && value.error().code() != ErrorCode::corruption) return value.error();
    if (value && !*value) return {};
    // What is wrong with a damaged one is told by whoever wants it.
    const Result<Entry> entry = value ? decode_entry(**value) : value.error();
    const std::uint64_t tick = tick_in(key);
    SnapshotMeta meta{.id = tick, .tick = tick};
    if (entry) {
      meta.created_at = time_of(entry->created_ms);
      meta.size = entry->size;
    }
    found.push_back(meta);
    return {};
  }));
  return found;
}

Result<SnapshotMeta> SnapshotStore::put(std::uint64_t tick, const Bytes& snapshot,
                                        std::chrono::system_clock::time_point created_at) {
  const Entry entry{
      .size = snapshot.size(),
      .created_ms = ms_of(created_at),
      .piece_count = static_cast<std::uint32_t>((snapshot.size() + kPieceSize - 1) / kPieceSize)};
  // One that is replaced must not be taken for whole while it is half of each.
  const auto before = backend_->get(key_of(Tag::snapshot, tick));
  if (!before && before.error().code() != ErrorCode::corruption) return before.error();
  if (!before || *before) VARVE_TRY(erase(tick));
  for (std::uint32_t i = 0; i < entry.piece_count; ++i) {
    const std::size_t offset = i * kPieceSize;
    WriteBatch batch;
    batch.put(piece_key(tick, i),
              snapshot.slice(offset, std::min(kPieceSize, snapshot.size() - offset)));
    if (i + 1 == entry.piece_count) batch.put(key_of(Tag::snapshot, tick), encode_entry(entry));
    VARVE_TRY(write(batch));
  }
  VARVE_TRY(backend_->sync());
  return SnapshotMeta{
      .id = tick, .tick = tick, .created_at = time_of(entry.created_ms), .size = entry.size};
}

Result<Snapshot> SnapshotStore::get(std::uint64_t tick) const {
  VARVE_ASSIGN(const auto value, backend_->get(key_of(Tag::snapshot, tick)));
  if (!value) return not_found(fmt::format("there is no snapshot of tick {}", tick));
  VARVE_ASSIGN(const Entry entry, decode_entry(*value));
  ByteWriter whole;
  for (std::uint32_t i = 0; i < entry.piece_count; ++i) {
    VARVE_ASSIGN(const auto piece, backend_->get(piece_key(tick, i)));
    if (!piece)
      return corruption(fmt::format("the snapshot of tick {}: piece {} of {} is missing", tick, i,
                                    entry.piece_count));
    if (piece->size() > entry.size - whole.size()) {
      return corruption(fmt::format("the snapshot of tick {}: piece {} is too large", tick, i));
    }
    whole.bytes(*piece);
  }
  auto snapshot = decode_snapshot(whole.take());
  if (!snapshot) return snapshot.error().with_context(fmt::format("the snapshot of tick {}", tick));
  if (snapshot->tick != tick) {
    return corruption(
        fmt::format("the snapshot of tick {} is one of tick {}", tick, snapshot->tick));
  }
  return snapshot;
}

Status SnapshotStore::erase(std::uint64_t tick) {
  WriteBatch batch;
  batch.erase(key_of(Tag::snapshot, tick));
  RangeQuery pieces{.prefix = key_of(Tag::piece, tick), .values = false};
  for (;;) {
    VARVE_ASSIGN(const RangePage page, backend_->range(pieces));
    for (const RangeEntry& entry : page.entries) batch.erase(entry.key);
    if (!page.next) break;
    pieces.from = *page.next;
  }
  return write(batch);
}

Status SnapshotStore::remove_orphans() {
  WriteBatch batch;
  std::optional<std::uint64_t> tick;
  bool has_entry = false;
  VARVE_TRY(for_each_key(*backend_, Tag::piece, 13, [&](const Bytes& key) -> Status {
    if (tick != tick_in(key)) {
      tick = tick_in(key);
      const auto entry = backend_->get(key_of(Tag::snapshot, *tick));
      if (!entry && entry.error().code() != ErrorCode::corruption) return entry.error();
      has_entry = !entry || *entry;
    }
    if (!has_entry) batch.erase(key);
    return {};
  }));
  if (batch.changes().empty()) return {};
  return write(batch);
}

}  // namespace varve::journal
