// Reads every record of a varve save and compares it with everything that is said about it.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/guarded.h"
#include "base/try.h"
#include "store/quoted_name.h"
#include "store/varve/header_records.h"
#include "store/varve/payload_frame.h"
#include "store/varve/shared_payload.h"
#include "store/varve/varve_store.h"

namespace varve {
namespace {

class Verification {
 public:
  Verification(const Backend& backend, const VarveView& view, ContentHash hash, Progress& progress)
      : backend_(backend),
        view_(view),
        hash_(hash),
        // Whatever the backend has looked at before, it is looked at again.
        reader_(view.snapshot(), view.tables(), false),
        entry_count_(backend.stats().entry_count),
        progress_(progress) {}

  Result<VerifyReport> run() {
    // As they are now; what the store has of them may be older than the damage.
    if (const auto tables = SaveTables::load(view_.snapshot(), report_.problems); !tables) {
      problem("the save", tables.error());
    }
    check_header();
    VARVE_TRY(check_backend());
    RangeQuery query{.count_max = 256};
    for (std::optional<Bytes> from = Bytes(); from;) {
      query.from = *from;
      VARVE_ASSIGN(RangePage page, view_.snapshot().range(query));
      for (const RangeEntry& entry : page.entries) {
        check(entry);
        if (progress_.is_cancelled()) return cancelled("the check was cancelled");
      }
      seen_count_ += page.entries.size();
      progress_.report(static_cast<double>(seen_count_) /
                       static_cast<double>(std::max(entry_count_, seen_count_)));
      from = std::move(page.next);
    }
    check_shared();
    progress_.report(1);
    return std::move(report_);
  }

 private:
  void problem(std::string key, Error error) {
    report_.problems.push_back({std::move(key), std::move(error)});
  }

  void check(const RangeEntry& entry) {
    if (entry.key.empty()) return;
    switch (static_cast<KeyTag>(entry.key.data()[0])) {
      case KeyTag::chunk:
        return check_chunk(entry);
      case KeyTag::entity_place:
        return check_place(entry);
      case KeyTag::owned_entity:
      case KeyTag::free_entity:
        return check_entity(entry);
      case KeyTag::player:
      case KeyTag::long_player:
        return check_named(RecordKind::player, entry);
      case KeyTag::global:
      case KeyTag::long_global:
        return check_named(RecordKind::global, entry);
      case KeyTag::header:
      case KeyTag::header_copy:
        if (entry.key.size() != 1) problem("the save", corruption("a header too many"));
        return;  // The two there are were compared with each other.
      case KeyTag::space:
      case KeyTag::generator:
      case KeyTag::dictionary:
        return;  // With the tables.
      case KeyTag::shared_payload:
        return check_shared_payload(entry);
      case KeyTag::shared_count:
        return check_shared_count(entry);
      case KeyTag::quarantine:
        if (const auto good = payload_of(entry, nullptr); !good) problem("the save", good.error());
        return;
    }
    problem("the save", corruption("a record of a kind this program does not know"));
  }

  Result<Bytes> payload_of(const RangeEntry& entry, const ChunkPos* pos) {
    if (!entry.value) return entry.value.error();
    return reader_.decode(entry.key, *entry.value, pos);
  }

  void check_header() {
    auto found = find_header(view_.snapshot());
    if (!found) return problem("the save", found.error());
    for (RecordProblem& wrong : found->problems) report_.problems.push_back(std::move(wrong));
    const std::uint32_t number = found->header.generator_number;
    if (number != 0 && view_.tables().generators().find(number) == nullptr) {
      problem("the save", corruption("its generator is not in the table of generators"));
    }
  }

  // What no reading of a record shows: it is what finds them again when something else is lost.
  Status check_backend() {
    auto found = backend_.verify(VerifyScope::structure);
    if (!found && found.error().code() != ErrorCode::corruption) return found.error();
    if (!found) found = std::vector<Error>{found.error()};
    for (Error& wrong : *found) problem("the save", std::move(wrong));
    return {};
  }

  void check_chunk(const RangeEntry& entry) {
    ++report_.record_count;
    const auto placed = decode_chunk_key(entry.key);
    if (!placed) return problem("a chunk", placed.error());
    const auto space = view_.tables().space(placed->space);
    if (!space) return problem("a chunk", space.error());
    const ChunkPos pos = placed->pos.in(*space);
    if (entry.value && looks_like_reference(*entry.value)) {
      const auto reference = decode_reference(entry.key, *entry.value, false);
      if (reference) ++shared_[reference->hash].reference_count;
    }
    if (const auto good = payload_of(entry, &pos); !good) problem(to_string(pos), good.error());
  }

  // Whether it can be decoded shows where a chunk refers to it, which may need its position.
  void check_shared_payload(const RangeEntry& entry) {
    const auto hash = decode_shared_key(entry.key);
    if (!hash) return problem("a shared payload", hash.error());
    Shared& shared = shared_[*hash];
    shared.is_there = true;
    if (!entry.value) return problem(shared_name(*hash), entry.value.error());
    const Status good = check_seal(entry.key, *entry.value);
    if (!good) return problem(shared_name(*hash), good.error());
    if (looks_like_reference(*entry.value)) {
      problem(shared_name(*hash), corruption("it only names another one"));
    }
    if (hash_(behind_checksum(*entry.value)) != *hash) {
      problem(shared_name(*hash), corruption("its bytes have another hash than its key says"));
    }
  }

  void check_shared_count(const RangeEntry& entry) {
    const auto hash = decode_shared_key(entry.key);
    if (!hash) return problem("the count of a shared payload", hash.error());
    const auto payload = payload_of(entry, nullptr);
    const auto count = payload ? decode_shared_count(*payload) : payload.error();
    if (!count) problem(shared_name(*hash), count.error().with_context("its count"));
    shared_[*hash].count = count ? *count : 0;
  }

  void check_shared() {
    if (shared_.empty()) return;
    if ((view_.header().features & kFeatureSharedPayloads) == 0) {
      problem("the save", corruption("payloads are shared, and the header does not say so"));
    }
    for (const auto& [hash, shared] : shared_) {
      // A chunk that refers to what is not there was named with the chunks; a count that cannot be
      // read, with the counts.
      if (!shared.is_there && shared.count) {
        problem(shared_name(hash), corruption("it is counted, and it is not there"));
      }
      if (!shared.is_there) continue;
      if (!shared.count) {
        problem(shared_name(hash), corruption("it has no count"));
      } else if (shared.reference_count == 0) {
        problem(shared_name(hash), corruption("no chunk refers to it"));
      } else if (*shared.count != 0 && *shared.count != shared.reference_count) {
        problem(shared_name(hash),
                corruption(fmt::format("its count is {}, and {} chunks refer to it; compacting the "
                                       "save counts them anew",
                                       *shared.count, shared.reference_count)));
      }
    }
  }

  void check_place(const RangeEntry& entry) {
    const auto id = decode_entity_key(entry.key);
    if (!id) return problem("an entity", id.error());
    const auto place = reader_.find_entity(*id);
    if (!place) return problem(entity_key(*id), place.error());
    if (!*place) return;
    const auto data = view_.snapshot().range(
        {.from = entity_key_of((*place)->owner, *id).copy(), .count_max = 1, .values = false});
    const bool is_there =
        data && !data->entries.empty() &&
        data->entries.front().key.text() == as_text(entity_key_of((*place)->owner, *id));
    if (!is_there) {
      problem(entity_key(*id), corruption("the save says where it is, and it is not there"));
    }
  }

  void check_entity(const RangeEntry& entry) {
    ++report_.record_count;
    std::optional<PlacedChunk> owner;
    EntityId id = 0;
    if (static_cast<KeyTag>(entry.key.data()[0]) == KeyTag::owned_entity) {
      const auto key = decode_owned_entity_key(entry.key);
      if (!key) return problem("an entity", key.error());
      owner = key->owner;
      id = key->id;
      if (const auto space = view_.tables().space(owner->space); !space) {
        return problem(entity_key(id), space.error());
      }
    } else {
      const auto key = decode_entity_key(entry.key);
      if (!key) return problem("an entity", key.error());
      id = *key;
    }
    if (const auto good = payload_of(entry, nullptr); !good) problem(entity_key(id), good.error());
    const auto place = reader_.find_entity(id);
    if (!place) return;  // Said where the place is looked at.
    if (!*place || as_text(entity_key_of((*place)->owner, id)) != entry.key.text()) {
      problem(entity_key(id), corruption("it is there, and the save says it is elsewhere"));
    }
  }

  void check_named(RecordKind kind, const RangeEntry& entry) {
    ++report_.record_count;
    const auto tag = static_cast<KeyTag>(entry.key.data()[0]);
    const bool is_long = tag == KeyTag::long_player || tag == KeyTag::long_global;
    std::string name(entry.key.text().substr(1));
    const auto key = [&] {
      // What is no name may hold anything, and the key of a long one ends in hashes.
      const std::string shown = check_name(name) ? name : quoted_name(name);
      return kind == RecordKind::player ? player_key(shown) : global_key(shown);
    };
    const auto payload = payload_of(entry, nullptr);
    if (!payload) return problem(key(), payload.error());
    if (is_long) {
      if (payload->size() < kNameSizeMax) return problem(key(), corruption("its name is missing"));
      name = std::string(payload->text().substr(0, kNameSizeMax));
    }
    const Status good = check_name(name);
    if (!good) return problem(key(), good.error());
    if (as_text(named_key(kind, name)) != entry.key.text()) {
      problem(key(), corruption("it is under the key of another name"));
    }
  }

  struct Shared {
    bool is_there = false;
    std::optional<std::uint64_t> count;  // 0 if it cannot be read
    std::uint64_t reference_count = 0;
  };

  const Backend& backend_;
  const VarveView& view_;
  const ContentHash hash_;
  const RecordReader reader_;
  const std::uint64_t entry_count_;
  Progress& progress_;
  std::uint64_t seen_count_ = 0;
  std::map<Hash128, Shared> shared_;
  VerifyReport report_;
};

}  // namespace

Result<VerifyReport> VarveStore::verify(Progress& progress) const {
  return or_out_of_memory([&]() -> Result<VerifyReport> {
    VARVE_ASSIGN(const auto view, pin_view());
    return Verification(*backend_, *view, hash_, progress).run();
  });
}

}  // namespace varve
