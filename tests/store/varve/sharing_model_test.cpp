// A save that shares beside a map that does not, through any row of commits and reopenings.
//
// Invariants checked after each step: every chunk is what the model says; verify() finds nothing,
// which compares every count with the references there are; and nothing that nobody refers to is
// left.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

#include "sharing_sample.h"

namespace varve {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

constexpr int kPlaceCount = 12;
constexpr int kPayloadCount = 4;

// Four large ones, one that is not worth sharing and one that is empty.
Bytes payload_of(int number) {
  if (number == kPayloadCount) return noise_of(99, 60);
  if (number > kPayloadCount) return {};
  return noise_of(static_cast<std::uint64_t>(number), 300);
}

// So bad that different payloads often meet.
Hash128 bad_hash(ByteView bytes) { return {.high = 1, .low = xxh3_128(bytes).low % 2}; }

VarveOptions any_options() {
  return {.speed = *rc::gen::element(SpeedClass::raw, SpeedClass::fast),
          .sharing_memory_size = *rc::gen::element<std::uint64_t>(0, 1, 160, 1 << 16)};
}

void run_model(ContentHash hash) {
  const auto disk = new_disk();
  auto store = open_sample(disk, any_options(), hash);
  std::map<int, Bytes> model;
  const int step_count = *rc::gen::inRange(1, 25);
  for (int step = 0; step < step_count; ++step) {
    const int what = *rc::gen::inRange(0, 10);
    if (what == 0) {
      store = open_sample(disk, any_options(), hash);
    } else if (what == 1) {
      Progress progress;
      RC_ASSERT(store->compact(progress).ok());
    } else {
      Commit changes;
      std::map<int, Bytes> next = model;
      const auto places = *rc::gen::unique<std::vector<int>>(*rc::gen::inRange<std::size_t>(1, 6),
                                                             rc::gen::inRange(0, kPlaceCount));
      for (const int x : places) {
        if (*rc::gen::inRange(0, 4) == 0) {
          changes.chunks.push_back({at(x), std::nullopt});
          next.erase(x);
        } else {
          const Bytes payload = payload_of(*rc::gen::inRange(0, kPayloadCount + 2));
          changes.chunks.push_back({at(x), payload});
          next[x] = payload;
        }
      }
      if (what == 2) disk->next_outcome = WriteOutcome::failed;
      const bool is_made = try_commit(*store, changes).ok();
      // One that changes nothing is not written, and so does not fail.
      if (!is_made) RC_ASSERT(what == 2);
      disk->next_outcome.reset();
      if (is_made) model = std::move(next);
    }
    for (int x = 0; x < kPlaceCount; ++x) {
      const auto read = store->read_chunk(at(x));
      RC_ASSERT(read.ok());
      const auto expected = model.find(x);
      RC_ASSERT(read->has_value() == (expected != model.end()));
      // The macro takes an expression apart, and both sides of an "or" are looked at.
      if (*read) RC_ASSERT(**read == expected->second);
    }
    const VerifyReport report = verify(*store);
    if (!report.clean()) RC_FAIL(problems_of(report));
    RC_ASSERT(disk->count_of(KeyTag::shared_payload) == disk->count_of(KeyTag::shared_count));
  }
}

RC_GTEST_PROP(SharingModel, AgreesWithAMap, ()) { run_model(xxh3_128); }

RC_GTEST_PROP(SharingModel, AgreesWithAMapWhenHashesCollide, ()) { run_model(bad_hash); }

}  // namespace
}  // namespace varve
