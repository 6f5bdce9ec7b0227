#include "store/varve/backup_copy.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "base/try.h"
#include "io/thread_rank.h"
#include "store/varve/header_records.h"
#include "store/varve/payload_frame.h"
#include "store/varve/shared_payload.h"

namespace varve {
namespace {

// The checksum of a frame covers all of it and its key, so two frames under one key that agree in
// it and in their size are the same.
constexpr std::uint64_t kHeadSize = 8;
// For each change beside its bytes, so that a million erasures do not count as nothing.
constexpr std::uint64_t kChangeOverhead = 64;
constexpr std::size_t kNamedDamageMax = 8;
constexpr std::chrono::milliseconds kNapMax{50};

// Neither of the two records is copied: they are written anew, so that one that is damaged does not
// keep a save from being backed up.
bool is_header(ByteView key) { return equal(key, header_key()) || equal(key, header_copy_key()); }

// The keys of a view, rising, each with the beginning of its value.
class Heads {
 public:
  explicit Heads(const ReadView& view) : view_(view) {}

  // The one that is looked at; null behind the last.
  Result<const RangeEntry*> current() {
    while (index_ == page_.entries.size() && next_) {
      VARVE_ASSIGN(page_, view_.range({.from = *next_, .raw_size_max = kHeadSize}));
      next_ = std::move(page_.next);
      index_ = 0;
    }
    return index_ == page_.entries.size() ? nullptr : &page_.entries[index_];
  }
  void advance() noexcept { ++index_; }

 private:
  const ReadView& view_;
  std::optional<Bytes> next_ = Bytes();
  RangePage page_;
  std::size_t index_ = 0;
};

// What cannot be read is not the same as anything.
bool are_same(const RangeEntry& a, const RangeEntry& b) {
  return a.value_size == b.value_size && a.value && b.value && *a.value == *b.value;
}

}  // namespace

BackupCopy::BackupCopy(const BackupSource& source, const BackupOptions& options,
                       const BackupDisk::Limits& limits, Progress& progress)
    : source_(source),
      snapshot_(source.view->snapshot()),
      options_(options),
      limits_(limits),
      progress_(progress) {
  report_.generation = source.view->generation();
  report_.tick = source.view->tick();
}

// --- Everything ----------------------------------------------------------------------

Status BackupCopy::copy_all(Backend& target) {
  RangeQuery query{.size_max = limits_.page_size};
  for (std::optional<Bytes> from = Bytes(); from;) {
    query.from = *from;
    VARVE_ASSIGN(RangePage page, snapshot_.range(query));
    WriteBatch batch;
    for (RangeEntry& entry : page.entries) {
      if (is_header(entry.key)) continue;
      VARVE_ASSIGN(auto value, checked(entry.key, std::move(entry.value)));
      if (!value) continue;
      ++report_.copied_count;
      report_.copied_size += value->size();
      batch.add({std::move(entry.key), std::move(value)});
    }
    // Once something is damaged the rest is only read, to name all of it.
    if (damaged_count_ == 0 && !batch.empty()) {
      const WriteResult written = target.write(batch);
      if (!written) return written.error();
    }
    VARVE_TRY(pace(batch.size()));
    progress_.report(static_cast<double>(paced_size_) /
                     static_cast<double>(std::max(source_.live_size, paced_size_) + 1));
    from = std::move(page.next);
  }
  VARVE_TRY(whole());
  // Last, so that what is called this generation is all of it.
  WriteBatch last;
  put_header(last, source_.view->header());
  const WriteResult written = target.write(last);
  if (!written) return written.error();
  return target.sync();
}

// --- What changed --------------------------------------------------------------------

Result<BackupCopy::Changes> BackupCopy::find_changes(const ReadView& target) {
  Changes changes;
  Heads here(snapshot_);
  Heads there(target);
  std::uint64_t size = 0;
  std::uint64_t seen_count = 0;
  for (;;) {
    VARVE_ASSIGN(const RangeEntry* ours, here.current());
    VARVE_ASSIGN(const RangeEntry* theirs, there.current());
    if (ours == nullptr && theirs == nullptr) return changes;
    if (ours != nullptr && is_header(ours->key)) {
      here.advance();
      continue;
    }
    if (theirs != nullptr && is_header(theirs->key)) {
      there.advance();
      continue;
    }
    const bool only_theirs =
        ours == nullptr || (theirs != nullptr && theirs->key.text() < ours->key.text());
    const bool both = !only_theirs && theirs != nullptr && theirs->key == ours->key;
    if (only_theirs) {
      changes.erased.push_back(theirs->key);
      size += theirs->key.size() + kChangeOverhead;
    } else if (both && are_same(*ours, *theirs)) {
      ++report_.unchanged_count;
    } else {
      changes.put.push_back(ours->key);
      size += ours->key.size() + ours->value_size + kChangeOverhead;
    }
    if (size > limits_.change_size_max) {
      changes.is_too_much = true;
      return changes;
    }
    if (only_theirs || both) there.advance();
    if (!only_theirs) here.advance();
    if (++seen_count % 1024 != 0) continue;
    if (progress_.is_cancelled()) return cancelled("the backup was cancelled");
    progress_.report(0.5 * static_cast<double>(seen_count) /
                     static_cast<double>(std::max(source_.entry_count, seen_count)));
  }
}

Result<bool> BackupCopy::is_same(const ReadView& target) {
  VARVE_ASSIGN(const Changes changes, find_changes(target));
  return changes.put.empty() && changes.erased.empty();
}

Result<bool> BackupCopy::copy_changes(Backend& target) {
  VARVE_ASSIGN(const Changes changes, find_changes(target));
  if (changes.is_too_much) {
    report_.unchanged_count = 0;
    return false;
  }
  WriteBatch batch;
  for (const Bytes& key : changes.put) {
    auto found = snapshot_.get(key);
    // A snapshot lists what it has.
    if (found && !*found) found = corruption("it was listed and is not there");
    Result<Bytes> read = found ? Result<Bytes>(**std::move(found)) : found.error();
    VARVE_ASSIGN(auto value, checked(key, std::move(read)));
    if (!value) continue;
    ++report_.copied_count;
    report_.copied_size += value->size();
    VARVE_TRY(pace(value->size()));
    batch.add({key, std::move(value)});
  }
  VARVE_TRY(whole());
  for (const Bytes& key : changes.erased) batch.add({key, std::nullopt});
  report_.erased_count = changes.erased.size();
  report_.incremental = true;
  const SaveHeader& header = source_.view->header();
  VARVE_ASSIGN(const FoundHeader theirs, find_header(target));
  if (batch.empty() && theirs.has_both() && is_same_state(theirs.header, header)) return true;
  put_header(batch, header);
  const WriteResult written = target.write(batch);
  if (!written) return written.error();
  VARVE_TRY(target.sync());
  return true;
}

// --- On the way ----------------------------------------------------------------------

Result<std::optional<Bytes>> BackupCopy::checked(const Bytes& key, Result<Bytes> value) {
  // Whatever the backend has compared: what goes into a backup is looked at once more.
  const Status good = value ? check_seal(key, *value) : Status(value.error());
  if (value) give_way(value->size());
  if (good) return std::optional<Bytes>(*std::move(value));
  if (good.error().code() != ErrorCode::corruption) return good.error();
  ++damaged_count_;
  if (damaged_.size() < kNamedDamageMax) damaged_.push_back(name_of(key));
  return std::optional<Bytes>();
}

Status BackupCopy::pace(std::uint64_t size) {
  paced_size_ += size;
  for (;;) {
    if (progress_.is_cancelled()) return cancelled("the backup was cancelled");
    if (options_.size_per_second == 0) return {};
    const std::chrono::duration<double> due(static_cast<double>(paced_size_) /
                                            static_cast<double>(options_.size_per_second));
    const auto left = due - (std::chrono::steady_clock::now() - begun_at_);
    if (left.count() <= 0) return {};
    // In short naps, so that it can be cancelled.
    std::this_thread::sleep_for(std::min<std::chrono::duration<double>>(left, kNapMax));
  }
}

Status BackupCopy::whole() const {
  if (damaged_count_ == 0) return {};
  std::string names;
  for (const std::string& name : damaged_) names += (names.empty() ? "" : ", ") + name;
  if (damaged_count_ > damaged_.size()) {
    names += fmt::format(" and {} more", damaged_count_ - damaged_.size());
  }
  return corruption(
      fmt::format("{}: damaged, so that nothing was copied: {}; put or erase what is damaged and "
                  "try again, or convert what can still be read with --lossy",
                  source_.path, names));
}

std::string BackupCopy::name_of(ByteView key) const {
  const std::string rest(as_text(key).substr(1));
  switch (static_cast<KeyTag>(key[0])) {
    case KeyTag::chunk: {
      const auto placed = decode_chunk_key(key);
      if (!placed) return "a chunk";
      const auto space = source_.view->tables().space(placed->space);
      return space ? to_string(placed->pos.in(*space)) : "a chunk of a space without a name";
    }
    case KeyTag::owned_entity: {
      const auto owned = decode_owned_entity_key(key);
      return owned ? entity_key(owned->id) : "an entity";
    }
    case KeyTag::entity_place:
    case KeyTag::free_entity: {
      const auto id = decode_entity_key(key);
      return id ? entity_key(*id) : "an entity";
    }
    case KeyTag::player:
      return player_key(rest);
    case KeyTag::global:
      return global_key(rest);
    case KeyTag::long_player:
      return "a player with a long name";
    case KeyTag::long_global:
      return "a global with a long name";
    case KeyTag::shared_payload: {
      const auto hash = decode_shared_key(key);
      return hash ? shared_name(*hash) + ", which several chunks have" : "a shared payload";
    }
    default:
      return "a record of the save itself";
  }
}

}  // namespace varve
