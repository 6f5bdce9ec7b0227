#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "tool/arguments.h"
#include "tool/progress_bar.h"
#include "tool/records.h"
#include "tool/saves.h"

namespace varve::tool {
namespace {

Result<std::vector<RecordKey>> parse_keys(const std::vector<std::string>& texts) {
  std::vector<RecordKey> keys;
  for (const std::string& text : texts) {
    const auto key = parse_record_key(text);
    if (!key) return key.error();
    if (std::ranges::find(keys, *key) == keys.end()) keys.push_back(*key);
  }
  return keys;
}

// One commit for all of them. Those that are not there are put into `absent`.
Status erase(Store& store, const std::vector<RecordKey>& keys, std::vector<RecordKey>& absent,
             Streams& streams) {
  if (Status free = check_no_journal(store); !free) return free;
  Commit commit{.tick = store.tick()};
  for (const RecordKey& key : keys) {
    const auto record = read_record(store, key);
    const bool is_damaged = !record && record.error().code() == ErrorCode::corruption;
    if (!record && !is_damaged) {
      return Error(record.error().code(), problem_line(to_string(key), record.error()));
    }
    if (record && !*record) {
      absent.push_back(key);
      continue;
    }
    if (is_damaged) {
      if (Status kept = keep_aside_if_damaged(store, key); !kept) return kept;
    }
    add_change(commit, key, std::nullopt);
  }
  Progress progress;
  const ProgressBar bar(streams, "erasing", progress);
  const auto done = store.commit(commit, progress);
  return done ? Status() : Status(done.error());
}

}  // namespace

int run_rm(Args args, Streams& streams) {
  std::string save;
  std::vector<std::string> key_texts;
  Arguments arguments(
      "rm",
      "Erases records, all of them together, durably. A record that is not there is "
      "said, and the exit code is 1; the others are erased all the same.",
      "varve rm my_world chunk:3,-2 entity:17");
  arguments.required("SAVE", save, "the save to change");
  arguments.one_or_more("KEY", key_texts, "the records, such as chunk:3,-2");
  if (const auto code = arguments.parse(args, streams)) return *code;
  const auto keys = parse_keys(key_texts);
  if (!keys) return wrong_usage(streams, "rm", keys.error().message());

  const auto store = open_store(save);
  if (!store) return could_not(streams, store.error());
  const bool is_damaged = say_damage(streams, save, (*store)->open_report());
  std::vector<RecordKey> absent;
  Status done = erase(**store, *keys, absent, streams);
  const Status closed = (*store)->close();
  if (done) done = closed;
  if (!done) return could_not(streams, done.error().with_context(save));
  for (const RecordKey& key : absent)
    say(streams, fmt::format("{} has no {}", save, to_string(key)));
  return absent.empty() && !is_damaged ? kDone : kProblems;
}

}  // namespace varve::tool
