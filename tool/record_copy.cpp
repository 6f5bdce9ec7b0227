#include "tool/record_copy.h"

#include <fmt/format.h>

#include <iterator>
#include <utility>

#include "tool/carry.h"
#include "tool/saves.h"

namespace varve::tool {
namespace {

// What a record takes in a commit beside its payload, roughly: many small records are
// large together.
constexpr std::uint64_t kRecordOverhead = 128;

std::size_t change_count(const Commit& commit) {
  return commit.chunks.size() + commit.entities.size() + commit.players.size() +
         commit.globals.size();
}

template <class Change>
void move_half(std::vector<Change>& from, std::vector<Change>& to) {
  const auto middle = from.begin() + static_cast<std::ptrdiff_t>((from.size() + 1) / 2);
  to.assign(std::make_move_iterator(middle), std::make_move_iterator(from.end()));
  from.erase(middle, from.end());
}

// Takes away about half of its records. With one record of each kind, a whole kind.
Commit split_off(Commit& commit) {
  Commit half{.tick = commit.tick};
  if (commit.chunks.size() > 1 || commit.entities.size() > 1 || commit.players.size() > 1 ||
      commit.globals.size() > 1) {
    move_half(commit.chunks, half.chunks);
    move_half(commit.entities, half.entities);
    move_half(commit.players, half.players);
    move_half(commit.globals, half.globals);
  } else if (!commit.globals.empty()) {
    half.globals = std::exchange(commit.globals, {});
  } else if (!commit.players.empty()) {
    half.players = std::exchange(commit.players, {});
  } else {
    half.entities = std::exchange(commit.entities, {});
  }
  return half;
}

std::string only_key(const Commit& commit) {
  if (!commit.chunks.empty()) return to_string(commit.chunks.front().pos);
  if (!commit.entities.empty()) return entity_key(commit.entities.front().id);
  if (!commit.players.empty()) return player_key(commit.players.front().name);
  return global_key(commit.globals.front().name);
}

bool is_refusal(const Error& error) {
  return error.code() == ErrorCode::unsupported || error.code() == ErrorCode::invalid_argument;
}

Error differs(const std::string& key, std::string_view how) {
  return corruption(fmt::format("the copy is not what was written: {} {}", key, how));
}

}  // namespace

RecordCopy::RecordCopy(const Store& source, Store& target, std::uint64_t commit_size)
    : source_(source), target_(target), commit_size_(commit_size) {
  pending_.tick = source_.tick();
}

Status RecordCopy::scan() {
  for (const RecordProblem& problem : source_.open_report().problems) {
    leave_out(problem.key, problem.error);
  }
  const auto generator = source_.generator();
  if (generator && !target_.capabilities().generator) {
    leave_out("generator " + generator->name,
              unsupported(target_.capabilities().format + " does not keep it"));
  }
  const auto listed = list_records(source_, {}, [&](const RecordInfo& info) {
    ++record_count_;
    const std::string& schema = source_.capabilities().entity_schema;
    if (Status good = can_carry(target_.capabilities(), info, schema); !good) {
      leave_out(to_string(info.key), good.error());
    }
    return true;
  });
  if (!listed) return listed.error();
  for (const RecordProblem& problem : *listed) leave_out(problem.key, problem.error);
  return {};
}

Status RecordCopy::copy(Progress& progress) {
  if (target_.capabilities().generator) pending_.generator = source_.generator();
  // Of its own: what the target makes of the generator is not the fault of a record.
  if (Status begun = flush(); !begun) return begun;
  std::uint64_t done_count = 0;
  Status status;
  const auto listed = list_records(source_, {}, [&](const RecordInfo& info) {
    progress.report(static_cast<double>(++done_count) / static_cast<double>(record_count_ + 1));
    status = copy_record(info);
    return status.has_value();
  });
  if (!listed) return listed.error();
  if (!status) return status;
  return flush();
}

Status RecordCopy::copy_record(const RecordInfo& info) {
  const std::string& schema = source_.capabilities().entity_schema;
  if (!can_carry(target_.capabilities(), info, schema)) return {};  // scan() named it
  const std::string key = to_string(info.key);
  const auto read = read_record(source_, info.key);
  if (!read && is_of_record(read.error())) {
    leave_out(key, read.error());
    return {};
  }
  if (!read) return Error(read.error().code(), problem_line(key, read.error()));
  if (!*read) return busy(key + ": it was erased meanwhile; try again");
  const Record& record = **read;

  const std::uint64_t size = record.data.size();
  copied_.emplace(key, digest_of(record));
  KindCopied& kind = report_.kinds[static_cast<std::size_t>(info.key.kind)];
  ++kind.count;
  kind.size += size;
  add_change(pending_, info.key, record);
  pending_size_ += size + kRecordOverhead;
  return pending_size_ < commit_size_ ? Status() : flush();
}

Status RecordCopy::flush() {
  Commit next = std::move(pending_);
  pending_ = Commit();
  pending_.tick = next.tick;
  pending_size_ = 0;
  return commit(std::move(next));
}

// Commits it, or of what the target refuses as much as it takes.
Status RecordCopy::commit(Commit whole) {
  Progress ignored;
  const auto done = target_.commit(whole, ignored);
  if (done) return {};
  if (!is_refusal(done.error()) || change_count(whole) == 0) return done.error();
  if (change_count(whole) > 1) {
    Commit half = split_off(whole);
    if (Status first = commit(std::move(whole)); !first) return first;
    return commit(std::move(half));
  }
  const std::string key = only_key(whole);
  const auto copied = copied_.find(key);
  const auto kind = parse_record_key(key);
  if (copied != copied_.end() && kind) {
    KindCopied& sum = report_.kinds[static_cast<std::size_t>(kind->kind)];
    --sum.count;
    sum.size -= copied->second.size;
    copied_.erase(copied);
  }
  leave_out(key, done.error());
  return {};
}

Status RecordCopy::compare(const StoreView& copied, Progress& progress) const {
  if (copied.tick() != source_.tick()) {
    return differs("the tick", fmt::format("is {}, not {}", copied.tick(), source_.tick()));
  }
  std::uint64_t found_count = 0;
  Status status;
  const auto listed = list_records(copied, {}, [&](const RecordInfo& info) {
    progress.report(static_cast<double>(++found_count) / static_cast<double>(copied_.size() + 1));
    const std::string key = to_string(info.key);
    const auto written = copied_.find(key);
    const auto read = read_record(copied, info.key);
    if (!read) {
      status =
          Error(read.error().code(), "the copy cannot be read: " + problem_line(key, read.error()));
    } else if (written == copied_.end()) {
      status = differs(key, "was not written");
    } else if (!*read || digest_of(**read) != written->second) {
      status = differs(key, "has other bytes");
    }
    return status.has_value();
  });
  if (!listed) return listed.error();
  if (!status) return status;
  if (!listed->empty()) return listed->front().error.with_context("the copy cannot be read");
  if (found_count == copied_.size()) return {};
  return differs(fmt::format("{} of {} records", copied_.size() - found_count, copied_.size()),
                 "are not in it");
}

void RecordCopy::leave_out(std::string key, Error error) {
  report_.left_out.push_back({.key = std::move(key), .error = std::move(error)});
}

}  // namespace varve::tool
