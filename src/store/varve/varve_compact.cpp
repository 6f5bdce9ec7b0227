// Writes the records of a varve save anew where that makes them smaller, or frees them of something
// they need: another dictionary is learned, other options apply, a generator was replaced.
//
// What a record holds stays the same, so this makes no generation: each batch leaves a save that
// is whole.
#include <algorithm>

#include "base/guarded.h"
#include "base/try.h"
#include "store/varve/header_records.h"
#include "store/varve/record_scan.h"
#include "store/varve/varve_store.h"

namespace varve {
namespace {

constexpr std::uint64_t kBatchSize = std::uint64_t{4} << 20;
// A dictionary is learned from so many chunks, from all over the world.
constexpr std::uint64_t kSampleCount = 2'000;
constexpr std::uint64_t kSampleSizeMax = std::uint64_t{16} << 20;

// Calls `use(entry)` for each record with this tag, until it returns false.
template <class Use>
Status for_each_record(const ReadView& view, KeyTag tag, std::optional<std::uint64_t> raw_size_max,
                       Use use) {
  return for_each_entry(
      view, {.prefix = SaveKey(tag).copy(), .count_max = 256, .raw_size_max = raw_size_max}, use);
}

bool is_learned_from(const Result<Bytes>& head) {
  if (!head) return false;
  const auto info = inspect_payload(*head);
  // What is shared is stored once: that it comes up often is no reason to learn it.
  if (info && info->transform == PayloadTransform::shared) return false;
  return info && info->payload_size > 0 && info->payload_size <= kDictionaryPayloadSizeMax;
}

Result<std::vector<Bytes>> sample_chunks(const VarveView& view) {
  std::uint64_t count = 0;
  VARVE_TRY(for_each_record(view.snapshot(), KeyTag::chunk, kFrameHeadSizeMax,
                            [&](const RangeEntry& entry) -> Result<bool> {
                              count += is_learned_from(entry.value) ? 1 : 0;
                              return true;
                            }));
  const std::uint64_t step = count / kSampleCount + 1;
  const RecordReader reader(view.snapshot(), view.tables(), false);
  std::vector<Bytes> samples;
  std::uint64_t index = 0;
  std::uint64_t size = 0;
  VARVE_TRY(for_each_record(view.snapshot(), KeyTag::chunk, kFrameHeadSizeMax,
                            [&](const RangeEntry& entry) -> Result<bool> {
                              if (!is_learned_from(entry.value) || index++ % step != 0) return true;
                              const auto placed = decode_chunk_key(entry.key);
                              const auto space =
                                  placed ? view.tables().space(placed->space) : placed.error();
                              if (!space) return true;
                              // What is damaged teaches nothing.
                              const auto payload = reader.read_chunk(placed->pos.in(*space));
                              if (payload && *payload) {
                                size += (*payload)->size();
                                samples.push_back(**payload);
                              }
                              return size < kSampleSizeMax;
                            }));
  return samples;
}

Result<std::uint64_t> size_with(const PayloadEncoder& encoder, const std::vector<Bytes>& samples) {
  std::uint64_t size = 0;
  ByteWriter out;
  const SaveKey key(KeyTag::chunk);
  for (const Bytes& sample : samples) {
    out.clear();
    VARVE_TRY(encoder.encode(key, sample, nullptr, out));
    size += out.size();
  }
  return size;
}

}  // namespace

Status VarveStore::learn_dictionary(const VarveView& view) {
  const bool uses_one =
      options_.speed == SpeedClass::balanced || options_.speed == SpeedClass::small;
  if (!options_.dictionaries || !uses_one) return {};
  VARVE_ASSIGN(const std::vector<Bytes> samples, sample_chunks(view));
  const std::vector<ByteView> views(samples.begin(), samples.end());
  auto trained = train_payload_dictionary(views);
  // Too few chunks, or they have nothing in common: then there is none.
  if (!trained) return {};
  const SharedNewest now = newest();
  auto tables = std::make_shared<SaveTables>(*now->tables);
  VARVE_ASSIGN(const std::uint32_t number, tables->next_dictionary_number());
  VARVE_ASSIGN(auto dictionary, PayloadDictionary::make(number, *trained));
  VARVE_TRY(tables->add_dictionary(dictionary));
  VARVE_ASSIGN(PayloadEncoder encoder, PayloadEncoder::make({.speed = options_.speed,
                                                             .cell_size = options_.cell_size,
                                                             .dictionary = dictionary}));
  VARVE_ASSIGN(const std::uint64_t before, size_with(encoder_, samples));
  VARVE_ASSIGN(const std::uint64_t after, size_with(encoder, samples));
  // It must be worth its own bytes, and everything being written anew.
  if (after + after / 50 + trained->size() > before) return {};
  const SaveKey key = dictionary_key(number);
  WriteBatch batch;
  batch.put(key, plain_frame(key, *trained));
  // Before anything refers to it.
  VARVE_TRY(write_upkeep(batch));
  VARVE_TRY(backend_->sync());
  publish(std::make_shared<Newest>(now->header, std::move(tables)));
  encoder_ = std::move(encoder);
  return {};
}

Status VarveStore::write_upkeep(const WriteBatch& batch) {
  const WriteResult written = backend_->write(batch);
  if (written) return {};
  note_failure(written);
  return written.error().with_context(path_);
}

Status VarveStore::write_rewriting(SharingPlan& sharing, WriteBatch& batch) {
  VARVE_TRY(sharing.finish(batch));
  if (batch.empty()) return {};
  const SharedNewest now = newest();
  std::shared_ptr<Newest> after;
  if (sharing.has_shared() && (now->header.features & kFeatureSharedPayloads) == 0) {
    SaveHeader header = now->header;
    header.features |= kFeatureSharedPayloads;
    put_header(batch, header);
    after = std::make_shared<Newest>(header, now->tables);
  }
  VARVE_TRY(write_upkeep(batch));
  if (after != nullptr) publish(std::move(after));
  return {};
}

Status VarveStore::mend_header() {
  VARVE_ASSIGN(const FoundHeader found, find_header(*backend_));
  if (found.has_both()) return {};
  WriteBatch batch;
  put_header(batch, newest()->header);
  return write_upkeep(batch);
}

Status VarveStore::recount_shared() {
  const SaveHeader header = newest()->header;
  if ((header.features & kFeatureSharedPayloads) == 0) return {};
  SharingPlan sharing(sharing_parts(header));
  sharing.demand_recount();
  WriteBatch batch;
  return write_rewriting(sharing, batch);
}

Status VarveStore::encode_anew(const VarveView& view, Progress& progress) {
  const SharedSaveTables tables = newest()->tables;
  // What is shared changes on the way, so it is read as it is by now. Nobody else writes.
  const RecordReader reader(*backend_, *tables, is_verified());
  const std::uint64_t count = std::max<std::uint64_t>(backend_->stats().entry_count, 1);
  std::uint64_t done_count = 0;
  WriteBatch batch;
  std::optional<SharingPlan> sharing(sharing_parts(newest()->header));
  for (const KeyTag tag : {KeyTag::chunk, KeyTag::owned_entity, KeyTag::free_entity, KeyTag::player,
                           KeyTag::long_player, KeyTag::global, KeyTag::long_global}) {
    VARVE_TRY(for_each_record(
        view.snapshot(), tag, std::nullopt, [&](const RangeEntry& entry) -> Result<bool> {
          if (++done_count % 64 == 0) {
            progress.report(static_cast<double>(done_count) / static_cast<double>(count));
          }
          if (progress.is_cancelled()) return cancelled("compacting was cancelled");
          if (!entry.value) return true;  // Damaged; verify() tells.
          VARVE_TRY(encode_record_anew(reader, *tables, tag, entry, *sharing, batch));
          if (batch.size() + sharing->held_size() < kBatchSize) return true;
          VARVE_TRY(write_rewriting(*sharing, batch));
          batch.clear();
          sharing.emplace(sharing_parts(newest()->header));
          return true;
        }));
  }
  VARVE_TRY(write_rewriting(*sharing, batch));
  return backend_->sync();
}

Status VarveStore::encode_record_anew(const RecordReader& reader, const SaveTables& tables,
                                      KeyTag tag, const RangeEntry& entry, SharingPlan& sharing,
                                      WriteBatch& batch) const {
  Bytes stored = *entry.value;
  std::optional<ChunkPos> pos;
  if (tag == KeyTag::chunk) {
    const auto placed = decode_chunk_key(entry.key);
    const auto space = placed ? tables.space(placed->space) : placed.error();
    if (!space) return {};
    pos = placed->pos.in(*space);
    if (sharing.has_shared()) {
      // A batch before this one may have made a reference of it.
      VARVE_ASSIGN(const auto now, backend_->get(entry.key));
      if (!now) return {};
      stored = *now;
    }
  }
  const auto payload = reader.decode(entry.key, stored, pos ? &*pos : nullptr);
  // What needs a generator that is not here stays as it is.
  if (!payload) return {};
  PayloadBase base;
  Bytes made;
  const std::shared_ptr<const Generator>& generator = tables.generator();
  const auto known = generator && pos && options_.deltas
                         ? tables.generators().number_of(generator->id())
                         : std::nullopt;
  if (known) {
    if (auto generated = generate_guarded(*generator, *pos)) {
      made = *std::move(generated);
      base = {.generator_number = *known, .payload = made};
    }
  }
  ByteWriter fresh;
  VARVE_TRY(encoder_.encode(entry.key, *payload, made.empty() ? nullptr : &base, fresh));
  const bool is_reference = pos && looks_like_reference(stored);
  std::optional<Bytes> shared;
  Hash128 hash;
  if (is_reference) {
    hash = inspect_payload(stored).value().content_hash;
    VARVE_ASSIGN(shared, sharing.find_shared(hash));
    if (!shared) return {};
  }
  const Bytes& before = shared ? *shared : stored;
  const auto old_info = inspect_payload(before);
  const bool needs_other = old_info && old_info->transform == PayloadTransform::delta &&
                           old_info->generator_number != base.generator_number;
  const bool is_better = fresh.size() < before.size() || needs_other;
  using Kind = SharingPlan::OfferKind;
  if (!pos) {
    if (is_better) batch.put(entry.key, fresh.take());
  } else if (is_reference && is_better) {
    sharing.release(hash);
    sharing.offer(Kind::kept, entry.key, fresh.take(), batch);
  } else if (!is_reference) {
    sharing.offer(is_better ? Kind::fresh : Kind::stored, entry.key,
                  is_better ? fresh.take() : std::move(stored), batch);
  }
  return {};
}

Result<CompactReport> VarveStore::compact(Progress& progress) {
  return or_out_of_memory([&]() -> Result<CompactReport> {
    VARVE_TRY(check_writable());
    // What lives: the backend gives back the rest while it is used.
    CompactReport report{.size_before = backend_->stats().live_size};
    {
      VARVE_ASSIGN(const auto view, pin_view());
      VARVE_TRY(mend_header());
      VARVE_TRY(recount_shared());
      VARVE_TRY(learn_dictionary(*view));
      VARVE_TRY(encode_anew(*view, progress));
    }
    report.size_after = std::min(backend_->stats().live_size, report.size_before);
    progress.report(1);
    return report;
  });
}

}  // namespace varve
