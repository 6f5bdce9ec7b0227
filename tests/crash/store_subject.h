// Any Store as a Subject of the crash driver, and everything a Store holds as Records.
//
// Keys are those of key.h: "chunk:3,-2", "entity:17", "player:ann", "global:sky". The
// value of an entity is its owner's key (or nothing), a newline, and its data. The record
// "global:tick" is checked as well: it must be the tick of the commit it came with. A step
// without it commits at the tick the store is at.
#pragma once

#include <functional>

#include "crash/subject.h"
#include "varve/store.h"

namespace varve::crash {

// Everything, through the listings and the reads. Fails if these disagree.
Result<Records> read_records(const StoreView& view);

// Whether the record "global:tick", if there is one, says `tick`.
Status check_tick(const Records& records, std::uint64_t tick);

// The value of an entity's record.
Bytes entity_record(const std::optional<ChunkPos>& owner, ByteView data);

// The changes of a step as a commit at `tick`.
Result<Commit> to_commit(const std::map<std::string, std::optional<Bytes>>& changes,
                         std::uint64_t tick);

// Opens the save on a disk, or creates one if there is none.
using OpenOrCreate = std::function<Result<std::unique_ptr<Store>>(Vfs&)>;

// Upkeep it knows: "compact"; "verify", which fails on a problem; and "backup", a
// commit that keeps two backups.
class StoreCrashSubject final : public Subject {
 public:
  // `one_more` changes a record of the format that no other step does.
  explicit StoreCrashSubject(
      OpenOrCreate open,
      Step one_more = {.changes = {{"chunk:77,-77", Bytes::copy_of("still taking commits")}}})
      : open_(std::move(open)), one_more_(std::move(one_more)) {}
  Result<std::unique_ptr<Session>> open(Vfs& vfs) override;
  Step one_more() const override { return one_more_; }

 private:
  OpenOrCreate open_;
  Step one_more_;
};

// Bytes a format takes for a record of this kind, different for different texts.
using PayloadMaker = std::function<Bytes(RecordKind kind, std::string_view text)>;
Bytes plain_payload(RecordKind kind, std::string_view text);

// `commit_count` small commits that each change every kind of record the format can
// carry: puts, overwrites of another length, erasures, entities that move, empty records.
Workload store_workload(std::size_t commit_count, const Capabilities& can,
                        const PayloadMaker& payload = plain_payload);

}  // namespace varve::crash
