#include "journal/wal_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "base/try.h"

namespace varve::journal {
namespace {

// A try costs as much as everything else append() computes, and noise stays noise: at the worst a
// game that begins to send what compresses has it noticed a few seconds later.
constexpr std::uint32_t kUntriedCountMax = 63;
// Less hardly ever becomes smaller, and says nothing about the rest.
constexpr std::size_t kCompressedSizeMin = 32;

}  // namespace

Status WalWriter::check_latch() const {
  if (!is_latched_) return {};
  if (!latch_) return io_error("out of memory");  // There was none for more words, either.
  return io_error(fmt::format("{}: takes no more ticks, since {}; close it and open it again",
                              files_.dir(), latch_->message()));
}

Error WalWriter::latch(Error error) {
  // First, since keeping the message may take memory that is not there.
  is_latched_ = true;
  if (!latch_) latch_ = error;
  return error;
}

Status WalWriter::start(const Recovered& recovered) {
  Lock lock(mutex_);
  next_segment_id_ = recovered.next_segment_id;
  durable_at_ = recovered.durable_at;
  mark_ = recovered.mark;
  follows_damage_ = recovered.is_end_damaged;
  latest_ = segments_.latest_tick();
  // A log that lost everything still knows where it was.
  if (!latest_ && durable_at_) latest_ = durable_at_->tick;
  if (recovered.unsure.empty()) return {};
  // As they are, so that the segment has the codec of the one they come from.
  codec_ = recovered.unsure_codec;
  for (const UnsureEntry& entry : recovered.unsure) {
    EntryHeader header = next_header(entry.tick);
    header.is_stored = entry.is_stored;
    pending_.add_encoded(header, entry.payload);
  }
  return begin_segment();
}

// --- Appending -----------------------------------------------------------------------

Status WalWriter::append(std::uint64_t tick, ByteView payload) {
  Lock lock(mutex_);
  VARVE_TRY(check_latch());
  if (latest_ && tick <= *latest_) {
    return invalid_argument(
        fmt::format("{}: tick {} does not follow tick {}", files_.dir(), tick, *latest_));
  }
  // Nothing could come behind it, nor be asked for up to and with it.
  if (tick == ~std::uint64_t{0}) {
    return invalid_argument(fmt::format("{}: there is no tick {}", files_.dir(), tick));
  }
  if (payload.size() > kPayloadSizeMax) {
    return invalid_argument(fmt::format("a tick of {} bytes is larger than the {} a log takes",
                                        payload.size(), kPayloadSizeMax));
  }
  try {
    return do_append(lock, tick, payload);
  } catch (const std::bad_alloc&) {
    is_latched_ = true;  // What was being done may be half done.
    return out_of_space("out of memory");
  }
}

EntryHeader WalWriter::next_header(std::uint64_t tick) const {
  return {.begins_group = group_begins_,
          .is_behind_durable = group_begins_ && !is_syncing_,
          .tick = tick};
}

void WalWriter::add_pending(std::uint64_t tick, ByteView payload) {
  const bool may_help = codec_ != CompressionId::none && payload.size() >= kCompressedSizeMin;
  const bool tries = may_help && untried_left_ == 0;
  pending_.add(next_header(tick), payload, compression(codec_), tries);
  if (!may_help) return;
  if (!tries) {
    --untried_left_;
    return;
  }
  const bool helped = !pending_.entries().back().header.is_stored;
  untried_count_ = helped ? 0 : std::min(2 * untried_count_ + 1, kUntriedCountMax);
  untried_left_ = untried_count_;
}

Status WalWriter::make_room(Lock& lock, std::size_t payload_size) {
  const std::uint64_t size = kEntryHeaderSize + payload_size + options_.alignment;
  const bool fits = file_ != nullptr && !is_spoiled_ && end_ <= options_.segment_size &&
                    size <= options_.segment_size - end_;
  if (fits) return {};
  VARVE_TRY(sync_all(lock));
  if (file_ != nullptr) seal();
  codec_ = options_.compression;
  return {};
}

Status WalWriter::do_append(Lock& lock, std::uint64_t tick, ByteView payload) {
  if (syncing_.size() + pending_.size() >= 2 * options_.unsynced_size_max) {
    VARVE_TRY(sync_all(lock));  // Upkeep does not keep up.
  }
  VARVE_TRY(make_room(lock, payload.size()));
  if (pending_.empty()) unsure_since_ = Clock::now();
  add_pending(tick, payload);
  const bool is_due = sync_is_due();
  if (file_ == nullptr) {
    if (Status begun = begin_segment(); !begun) {
      pending_.clear();  // It was alone.
      return begun;
    }
    latest_ = tick;
    wake_upkeep();
    return {};
  }
  if (Status written = write_last(is_due); !written) {
    pending_.drop_last();
    is_spoiled_ = true;
    return written;
  }
  const std::uint64_t offset = end_ - pending_.entries().back().size();
  const std::uint64_t entry_end = end_;
  const std::uint64_t segment_id = segment_id_;
  group_begins_ = false;
  if (is_due) {
    end_ = round_up(end_, options_.alignment);
    VARVE_TRY(sync_all(lock));
  }
  // If the sync failed, it is in a new segment by now, and known there.
  if (segment_id == segment_id_) segments_.note_entry(tick, offset, entry_end, file_size_);
  latest_ = tick;
  wake_upkeep();
  return {};
}

Status WalWriter::write_last(bool is_due) {
  const std::uint64_t offset = entry_position(end_, options_.alignment);
  const std::uint64_t end = offset + pending_.entries().back().size();
  const std::uint64_t padded_end = is_due ? round_up(end, options_.alignment) : end;
  const ByteView bytes =
      pending_.seal_last(segment_id_, static_cast<std::size_t>(padded_end - end));
  VARVE_TRY(file_->write_at(offset, bytes));
  end_ = end;
  file_size_ = std::max(file_size_, padded_end);
  return {};
}

}  // namespace varve::journal
