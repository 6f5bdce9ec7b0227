// The nebula store under the crash driver: every point, every failed operation, and every
// mutant of its protocol.
#include <gtest/gtest.h>

#include "contract/subject.h"
#include "crash/crash_sweep.h"
#include "crash/io_error_sweep.h"
#include "crash/store_subject.h"
#include "store/nebula/nebula_store.h"

namespace varve::test {
namespace {

using nebula::NebulaStore;

Result<std::unique_ptr<Store>> open_or_create(Vfs& vfs) {
  auto store = NebulaStore::open(vfs, "world");
  if (store || store.error().code() != ErrorCode::not_found) return store;
  return NebulaStore::create(vfs, "world");
}

crash::StoreCrashSubject make_subject() {
  return crash::StoreCrashSubject(
      open_or_create, {.changes = {{"chunk:5,77,-77,0", Bytes::copy_of("still taking commits")}}});
}

crash::Workload workload(std::size_t commit_count) {
  return crash::store_workload(commit_count, NebulaStore::what_it_can(), nebula_payload);
}

TEST(NebulaCrash, EveryCrashLeavesOneGeneration) {
  crash::StoreCrashSubject subject = make_subject();
  const auto result = crash::sweep_crashes(subject, workload(3), {.seed = 1, .recovery_every = 29});
  EXPECT_TRUE(result.ok()) << result.summary();
  std::cout << result.summary() << "\n";
}

}  // namespace
}  // namespace varve::test
