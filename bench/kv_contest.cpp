#include "kv_contest.h"

#include <algorithm>
#include <span>

#include "base/try.h"
#include "io/path.h"
#include "io/vfs.h"

namespace varve::bench {
namespace {

constexpr std::size_t kRecordCount = 10'000;
constexpr std::size_t kRecordCountQuick = 200;
// A first save comes in pieces, as a game explores; one batch of everything would
// leave some engines in a state they are never in otherwise.
constexpr std::size_t kLoadBatchCount = 1'000;

}  // namespace

KvContest::KvContest(const Context& context)
    : root_(context.dir), data_(kSeed, context.quick ? kRecordCountQuick : kRecordCount) {
  for (const KvArmKind& kind : kv_arm_kinds()) {
    arms_.push_back(kind.make());
    dirs_.push_back(path_join(root_, kind.name));
    series_.push_back({.arm = kind.name, .samples = {}, .error = {}});
  }
}

void KvContest::load() {
  for_each([this](std::size_t arm_index) { return load(arm_index); });
}

Status KvContest::load(std::size_t arm_index) {
  return load_arm(*arms_[arm_index], dirs_[arm_index], data_);
}

void KvContest::for_each(const std::function<Status(std::size_t arm_index)>& work) {
  for (std::size_t i = 0; i < arms_.size(); ++i) {
    if (series_[i].failed()) continue;
    if (const Status done = work(i); !done) series_[i].error = done.error().message();
  }
}

void KvContest::verify_and_close() {
  for_each([this](std::size_t arm_index) -> Status {
    KvArm& arm = *arms_[arm_index];
    VARVE_TRY(arm.close());
    VARVE_TRY(arm.open(dirs_[arm_index]));
    for (std::size_t i = 0; i < data_.count(); ++i) VARVE_TRY(data_.check(arm, i));
    return arm.close();
  });
}

Status load_arm(KvArm& arm, const std::string& dir, const KvData& data) {
  VARVE_TRY(posix_vfs().create_dir(dir));
  VARVE_TRY(arm.open(dir));
  const std::vector<KvPair> pairs = data.all();
  for (std::size_t first = 0; first < pairs.size(); first += kLoadBatchCount) {
    const std::size_t count = std::min(kLoadBatchCount, pairs.size() - first);
    VARVE_TRY(arm.load_batch(std::span(pairs).subspan(first, count)));
  }
  return {};
}

}  // namespace varve::bench
