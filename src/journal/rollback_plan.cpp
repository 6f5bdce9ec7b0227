#include "journal/rollback_plan.h"

#include <algorithm>
#include <set>
#include <string>

#include "base/guarded.h"
#include "base/try.h"

namespace varve::journal {
namespace {

// A failure that says something about one record and nothing about the others.
bool is_of_record(const Error& error) {
  return error.code() == ErrorCode::corruption || error.code() == ErrorCode::unsupported ||
         error.code() == ErrorCode::invalid_argument;
}

class Planner {
 public:
  Planner(const RecordPast& past, const RollbackRequest& request)
      : past_(past), request_(request), chunks_(request.chunks), now_(past.latest_tick()) {
    std::ranges::sort(chunks_);
  }

  Result<RollbackPlan> plan() {
    VARVE_TRY(past_.check(request_.tick));
    VARVE_TRY(past_.for_each_touched(
        since(), [&](const RecordKey& key, const KnownTicks& known) -> Result<bool> {
          if (!may_be_wanted(key)) return true;
          known_ = known;
          const Status planned = request_.author.empty() ? plan_record(key) : plan_of_author(key);
          if (planned) return true;
          if (!is_of_record(planned.error())) return planned.error();
          plan_.problems.push_back({.key = to_string(key), .error = planned.error()});
          return true;
        }));
    return std::move(plan_);
  }

 private:
  // A change that is left to be undone, or not: a chunk's is in its cells.
  struct CellsOfAuthor {
    bool is_whole = false;        // the author put or erased all of it
    std::set<std::string> cells;  // the author wrote into these
  };

  TickRange since() const { return {.from = request_.tick + 1, .to = now_ + 1}; }

  bool is_all() const { return !request_.box && chunks_.empty(); }
  bool is_inside(const ChunkPos& pos) const {
    return is_all() || (request_.box && request_.box->contains(pos)) ||
           std::ranges::binary_search(chunks_, pos);
  }
  bool may_be_wanted(const RecordKey& key) const {
    return key.kind == RecordKind::entity || is_all() ||
           (key.kind == RecordKind::chunk && is_inside(key.pos));
  }
  // Of an entity it is where it stood and where it stands that counts.
  bool is_wanted(const RecordKey& key, const RecordValue& to, const RecordValue& from) const {
    const auto stands_inside = [&](const RecordValue& value) {
      return value && value->owner && is_inside(*value->owner);
    };
    return is_all() || key.kind != RecordKind::entity || stands_inside(to) || stands_inside(from);
  }

  void assign(const RecordKey& key, const RecordValue& to) {
    std::optional<Bytes> data;
    if (to) data = to->data;
    switch (key.kind) {
      case RecordKind::chunk:
        plan_.chunks.push_back({.pos = key.pos, .payload = std::move(data)});
        break;
      case RecordKind::entity:
        plan_.entities.push_back({.id = key.id, .value = to});
        break;
      case RecordKind::player:
        plan_.players.push_back({.name = key.name, .data = std::move(data)});
        break;
      case RecordKind::global:
        plan_.globals.push_back({.name = key.name, .data = std::move(data)});
        break;
    }
  }

  Status assign_if_different(const RecordKey& key, const RecordValue& to) {
    VARVE_ASSIGN(const RecordValue from, past_.at(key, now_, known_));
    if (to != from && is_wanted(key, to, from)) assign(key, to);
    return {};
  }

  Status plan_record(const RecordKey& key) {
    VARVE_ASSIGN(const RecordValue to, past_.at(key, request_.tick, known_));
    return assign_if_different(key, to);
  }

  Status plan_of_author(const RecordKey& key) {
    if (key.kind == RecordKind::chunk) {
      VARVE_ASSIGN(const bool is_planned, plan_cells(key));
      if (is_planned) return {};
    }
    // Before the author's changes in a row, if these were the last.
    std::optional<RecordValue> to;
    VARVE_ASSIGN(RecordValue begin, past_.at(key, request_.tick, known_));
    RecordFold record = past_.fold(key, std::move(begin));
    VARVE_TRY(past_.for_each_change(
        key, since(),
        [&](const RecordTick& changed) -> Result<bool> {
          for (const RecordChange& change : changed.changes) {
            if (change.author != request_.author) {
              to.reset();
            } else if (!to) {
              VARVE_ASSIGN(to, record.value());
            }
            VARVE_TRY(record.apply(change));
          }
          return true;
        },
        known_));
    if (!to) return {};
    return assign_if_different(key, *to);
  }

  // Cell by cell. False, and nothing planned, if the chunk type knows none.
  //
  // What a cell was before the author's last changes in a row is what it would be if the author had
  // done nothing at all: changes are assignments. So one chunk is carried forward without them.
  Result<bool> plan_cells(const RecordKey& key) {
    VARVE_ASSIGN(RecordValue begin, past_.at(key, request_.tick, known_));
    RecordFold without = past_.fold(key, std::move(begin));
    CellsOfAuthor done;
    Status fits;  // whether what others did fits what the author had not done
    bool has_cells = true;
    VARVE_TRY(past_.for_each_change(
        key, since(),
        [&](const RecordTick& changed) -> Result<bool> {
          for (const RecordChange& change : changed.changes) {
            const bool is_put = change.kind == RecordChange::Kind::put;
            if (change.author == request_.author) {
              if (is_put) {
                done.is_whole = true;
              } else {
                VARVE_ASSIGN(has_cells, add_cells(change.data, done));
              }
              if (!has_cells) return false;
            } else if (is_put) {
              done = {};
              fits = without.apply(change);
            } else if (fits) {
              fits = without.apply(change);
            }
          }
          return true;
        },
        known_));
    if (!has_cells) return false;
    if (!done.is_whole && done.cells.empty()) return true;
    if (!fits) {
      return unsupported("others changed what " + request_.author +
                         " made of it, so it stays: " + fits.error().message());
    }
    VARVE_TRY(assign_cells(key, done, without));
    return true;
  }

  Result<bool> add_cells(const Bytes& edit, CellsOfAuthor& done) const {
    VARVE_TRY(past_.making().check_type());
    const auto cells = guarded(ErrorCode::corruption, "the chunk type",
                               [&] { return past_.making().type->cells_of(edit); });
    if (!cells && cells.error().code() == ErrorCode::unsupported) return false;
    if (!cells) return cells.error();
    for (const Bytes& cell : *cells) done.cells.emplace(cell.text());
    return true;
  }

  Status assign_cells(const RecordKey& key, const CellsOfAuthor& done, RecordFold& without) {
    VARVE_ASSIGN(const RecordValue to, without.value());
    VARVE_ASSIGN(RecordValue from, past_.at(key, now_, known_));
    if (done.is_whole || !to || !from) {
      if (to != from) assign(key, to);
      return {};
    }
    RecordFold with = past_.fold(key, std::move(from));
    for (const std::string& cell : done.cells) {
      VARVE_ASSIGN(const auto value, without.cell(as_byte_view(cell)));
      VARVE_ASSIGN(const auto value_now, with.cell(as_byte_view(cell)));
      if (!value || value == value_now) continue;
      VARVE_ASSIGN(Bytes edit, guarded(ErrorCode::corruption, "the chunk type", [&] {
                     return past_.making().type->cell_edit(as_byte_view(cell), *value);
                   }));
      plan_.edits.push_back({.pos = key.pos, .edit = std::move(edit)});
    }
    return {};
  }

  const RecordPast& past_;
  const RollbackRequest& request_;
  std::vector<ChunkPos> chunks_;
  const std::uint64_t now_;
  KnownTicks known_;  // of the record that is looked at
  RollbackPlan plan_;
};

}  // namespace

Result<RollbackPlan> plan_rollback(const RecordPast& past, const RollbackRequest& request) {
  return Planner(past, request).plan();
}

}  // namespace varve::journal
