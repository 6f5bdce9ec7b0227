// How entries become durable: syncs, and what is done when one fails.
#include <algorithm>
#include <bit>
#include <utility>

#include "base/endian.h"
#include "base/guarded.h"
#include "base/try.h"
#include "journal/wal_writer.h"

namespace varve::journal {

bool WalWriter::sync_is_due() const {
  const Durability& durability = options_.durability;
  switch (durability.kind) {
    case Durability::Kind::every_commit:
      return true;
    case Durability::Kind::every_n:
      return syncing_.count() + pending_.count() >= durability.count;
    case Durability::Kind::every_ms:
      // Upkeep sees to it, off the thread of whoever appends.
      if (options_.background) return false;
      return Clock::now() - unsure_since_ >= std::chrono::milliseconds(durability.interval_ms);
    case Durability::Kind::none:
      return false;
  }
  return true;
}

bool WalWriter::sync_is_urgent() const { return pending_.size() >= options_.unsynced_size_max; }

std::optional<WalWriter::Clock::time_point> WalWriter::sync_deadline() const {
  const Durability& durability = options_.durability;
  if (durability.kind != Durability::Kind::every_ms || pending_.empty() || is_latched_) {
    return std::nullopt;
  }
  return unsure_since_ + std::chrono::milliseconds(durability.interval_ms);
}

void WalWriter::note_durable(std::uint64_t tick) {
  durable_at_ = Link{segment_id_, tick};
  segments_.set_durable(tick);
}

Status WalWriter::write_padding() {
  const std::uint64_t offset = entry_position(end_, options_.alignment);
  end_ = round_up(offset, options_.alignment);
  if (offset == end_) return {};
  std::byte word[sizeof kPadding];
  store_le<std::uint32_t>(word, kPadding);
  VARVE_TRY(file_->write_at(offset, word));
  file_size_ = std::max(file_size_, offset + sizeof word);
  return {};
}

void WalWriter::wait_for_sync(Lock& lock) {
  sync_done_.wait(lock, [this] { return !is_syncing_; });
}

Status WalWriter::sync_all(Lock& lock) {
  wait_for_sync(lock);
  VARVE_TRY(check_latch());
  if (pending_.empty()) return {};
  // Without padding nothing more may follow in this file: the sector is about to be durable.
  if (!is_spoiled_ && !write_padding()) is_spoiled_ = true;
  if (file_->sync_data()) {
    note_durable(pending_.last_tick());
    pending_.clear();
    group_begins_ = true;
    return {};
  }
  if (Status again = begin_segment(); !again) return latch(again.error());
  return {};
}

Status WalWriter::sync() {
  Lock lock(mutex_);
  return sync_all(lock);
}

std::optional<WalWriter::SyncTicket> WalWriter::begin_sync(Lock&, bool even_if_durable) {
  if (is_syncing_ || is_latched_ || sync_file_ == nullptr) return std::nullopt;
  if (pending_.empty() && !even_if_durable) return std::nullopt;
  if (!pending_.empty()) {
    if (!is_spoiled_ && !write_padding()) is_spoiled_ = true;
    std::swap(pending_, syncing_);
    group_begins_ = true;
  }
  is_syncing_ = true;
  return SyncTicket{sync_file_};
}

void WalWriter::finish_sync(Lock&, const SyncTicket&, const Status& synced) {
  is_syncing_ = false;
  if (synced) {
    if (!syncing_.empty()) note_durable(syncing_.last_tick());
    syncing_.clear();
  } else if (syncing_.empty() && pending_.empty()) {
    seal();  // Nothing is lost, but the file is not to be relied on.
  } else if (Status again = begin_segment(); !again) {
    (void)latch(again.error());
  }
  sync_done_.notify_all();
}

// --- Segments ------------------------------------------------------------------------

SegmentRef WalWriter::encode_newborn() {
  const PendingEntries& first = syncing_.empty() ? pending_ : syncing_;
  const PendingEntries& last = pending_.empty() ? syncing_ : pending_;
  auto segment = std::make_shared<Segment>();
  // A number is used once, whatever comes of it: bytes of a failed attempt must not pass.
  segment->header = {.segment_id = next_segment_id_++,
                     .start_tick = first.entries().front().header.tick,
                     .codec = codec_,
                     .alignment = options_.alignment,
                     .previous = durable_at_,
                     .after_damage = follows_damage_};
  segment->path = files_.segment_path(segment->header.segment_id);
  segment->last_tick = last.last_tick();
  segment->index.emplace();
  if (follows_damage_) note_break_by_damage(*segment);
  newborn_.clear();
  newborn_.bytes(encode_segment_header(segment->header));
  append_padding(newborn_, options_.alignment);
  for (const PendingEntries* entries : {&syncing_, &pending_}) {
    entries->append_to(newborn_, segment->header.segment_id, options_.alignment, *segment->index);
  }
  segment->end = newborn_.size();
  append_padding(newborn_, options_.alignment);
  return segment;
}

Status WalWriter::write_newborn(std::uint64_t* file_size) {
  std::unique_ptr<File> file;
  if (spare_ != nullptr) {
    file = std::move(spare_);
  } else {
    VARVE_ASSIGN(file, files_.make_newborn());
  }
  VARVE_TRY(file->write_at(0, newborn_.view()));
  // For speed alone: on a disk that is nearly full the entries may still have room.
  const std::uint64_t size =
      std::min<std::uint64_t>(options_.segment_size, newborn_.size() + ahead_size());
  (void)file->extend_written(size);
  VARVE_TRY(file->sync_data());
  VARVE_ASSIGN(*file_size, file->size());
  return file->close();
}

void WalWriter::adopt(const SegmentRef& segment) {
  segments_.begin(segment);
  segment_id_ = segment->header.segment_id;
  end_ = newborn_.size();
  file_size_ = segment->file_size;
  is_spoiled_ = follows_damage_ = false;
  note_durable(segment->last_tick);
  syncing_.clear();
  pending_.clear();
  group_begins_ = true;
  // By its name, which is the one messages should have. Without them the next entry begins another.
  sync_file_.reset();
  auto file = files_.vfs().open(segment->path, OpenMode::write);
  auto sync_file = files_.vfs().open(segment->path, OpenMode::write);
  file_ = file && sync_file ? std::move(*file) : nullptr;
  if (file_ != nullptr) sync_file_ = std::move(*sync_file);
}

Status WalWriter::begin_segment() {
  try {
    return try_begin_segment();
  } catch (const std::bad_alloc&) {
    is_latched_ = true;  // How far it came cannot be told.
    return out_of_space("out of memory");
  }
}

Status WalWriter::try_begin_segment() {
  const SegmentRef segment = encode_newborn();
  const std::string path = spare_ != nullptr ? files_.spare_path() : files_.newborn_path();
  if (Status written = write_newborn(&segment->file_size); !written) {
    (void)files_.vfs().remove(path);
    return written;
  }
  // From here on a failure leaves open whether it is there.
  if (Status named = files_.vfs().rename(path, segment->path); !named) return latch(named.error());
  if (Status synced = files_.vfs().sync_dir(files_.dir()); !synced) return latch(synced.error());
  adopt(segment);
  return {};
}

void WalWriter::seal() {
  // The zeros behind the last entry are of no use any more. If that fails they stay.
  if (file_ != nullptr && file_size_ > end_ && file_->truncate(end_)) {
    file_size_ = end_;
    segments_.note_file_size(file_size_);
  }
  file_.reset();
  sync_file_.reset();
  is_spoiled_ = false;
}

// --- Making ready --------------------------------------------------------------------

bool WalWriter::waits_for_syncs() const {
  return options_.durability.kind == Durability::Kind::every_commit ||
         options_.durability.kind == Durability::Kind::every_n;
}

std::uint64_t WalWriter::ahead_size() const {
  // Zeros double what is written. They pay where somebody waits for each sync.
  if (!waits_for_syncs()) return 0;
  constexpr std::uint64_t kSizeMin = 64 << 10;
  return std::clamp(std::bit_floor(end_), std::min(kSizeMin, options_.prepared_size),
                    options_.prepared_size);
}

bool WalWriter::needs_spare() const {
  return waits_for_syncs() && file_ != nullptr && spare_ == nullptr && !is_making_spare_ &&
         end_ > options_.segment_size / 2;
}

bool WalWriter::needs_zeros() const {
  return waits_for_syncs() && file_ != nullptr && !is_spoiled_ &&
         file_size_ < options_.segment_size && file_size_ < end_ + ahead_size() / 2;
}

bool WalWriter::write_zeros() {
  // A little at a time, since appends wait for it.
  constexpr std::uint64_t kStep = 256 << 10;
  const std::uint64_t size =
      std::min(options_.segment_size, std::max(end_, file_size_) + std::min(ahead_size(), kStep));
  if (!file_->extend_written(size)) return false;
  file_size_ = std::max(file_size_, size);
  segments_.note_file_size(file_size_);
  return true;
}

void WalWriter::wake_upkeep() {
  if (!options_.background) return;
  const bool has_deadline =
      options_.durability.kind == Durability::Kind::every_ms && pending_.count() == 1;
  if (has_deadline || sync_is_urgent() || needs_zeros() || needs_spare()) work_.notify_one();
}

// --- Ends ----------------------------------------------------------------------------

// Appends go on meanwhile: they add segments behind those that go, and never touch the mark.
Status WalWriter::truncate_before(std::uint64_t tick) {
  std::vector<SegmentRef> victims = segments_.before(tick);
  if (victims.empty()) return {};
  Mark mark = mark_;
  mark.oldest_segment_id = *segments_.id_behind(victims.size());
  // Before any of them goes: a crash may bring back some and not others.
  VARVE_TRY(files_.write_mark(mark));
  mark_ = mark;
  segments_.drop(victims.size());
  for (SegmentRef& victim : victims) {
    const std::uint64_t id = victim->header.segment_id;
    // Who still reads one must find it as it was; without its name it stays for them.
    const bool is_unused = victim.use_count() == 1;
    if (is_unused) recycle(id);
    // If it is gone that does nothing; if it stays, it is below the mark.
    (void)files_.vfs().remove(victim->path);
  }
  return {};
}

void WalWriter::recycle(std::uint64_t id) {
  {
    const Lock lock(mutex_);
    if (spare_ != nullptr || is_making_spare_) return;
    is_making_spare_ = true;
  }
  auto spare = or_out_of_memory([&] { return files_.recycle(id, options_.segment_size); });
  const Lock lock(mutex_);
  is_making_spare_ = false;
  if (spare) spare_ = std::move(*spare);
}

Status WalWriter::close() {
  Lock lock(mutex_);
  VARVE_TRY(sync_all(lock));
  if (file_ != nullptr) seal();
  spare_.reset();
  files_.remove_temporaries();
  // What is known of the damage stays known as long as nobody went on from there.
  if (follows_damage_ || !durable_at_) return {};
  Mark mark = mark_;
  mark.closed_at = durable_at_;
  if (mark == mark_) return {};
  VARVE_TRY(files_.write_mark(mark));
  mark_ = mark;
  return {};
}

}  // namespace varve::journal
