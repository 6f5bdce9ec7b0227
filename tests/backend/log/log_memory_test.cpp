// A log whose memory runs out, at every place where it asks for some.
#include <gtest/gtest.h>

#include "backend/log/log_views.h"
#include "backend/log/small_log.h"
#include "io/sim/sim_disk.h"
#include "support/allocation_watch.h"

namespace varve::test {
namespace {

constexpr std::size_t kFailureCountMax = 4000;

// Enough for a checkpoint, a segment that is full, and something dead.
sim::DiskImage made_log() {
  sim::SimDisk disk;
  disk.set_recording(false);
  const auto backend = log::open_log(disk, "log", small_log_options()).value();
  for (int i = 0; i < 12; ++i) {
    EXPECT_TRUE(backend->write(one("key" + std::to_string(i % 4), text_of(5000, i))));
  }
  EXPECT_TRUE(backend->close());
  return disk.image();
}

// Calls attempt(i) for i = 0, 1, ... until it says that memory was enough.
template <class Attempt>
void for_every_failure(Attempt attempt) {
  std::size_t i = 0;
  while (i < kFailureCountMax && !attempt(i) && !testing::Test::HasFailure()) ++i;
  EXPECT_GT(i, 0u) << "nothing was allocated";
  EXPECT_LT(i, kFailureCountMax) << "it never ends";
}

void expect_whole(sim::SimDisk& disk, const std::vector<std::string>& allowed) {
  const auto backend = log::open_log(disk, "log", small_log_options());
  ASSERT_TRUE(backend) << backend.error().message();
  EXPECT_TRUE((*backend)->open_report().problems.empty());
  const std::string found = value_at(**backend, "key3");
  EXPECT_NE(std::find(allowed.begin(), allowed.end(), found), allowed.end()) << found.size();
  for (int i = 8; i < 11; ++i) {
    EXPECT_EQ(value_at(**backend, "key" + std::to_string(i % 4)), text_of(5000, i));
  }
}

TEST(LogMemory, ABatchIsThereOrNotOrSaidToBeUncertain) {
  const sim::DiskImage image = made_log();
  for_every_failure([&](std::size_t i) {
    SCOPED_TRACE(i);
    sim::SimDisk disk(image);
    disk.set_recording(false);
    auto backend = log::open_log(disk, "log", small_log_options()).value();
    const WriteBatch batch = one("key3", text_of(9000));
    std::optional<WriteResult> result;
    {
      const AllocationFailure failure(i);
      result.emplace(backend->write(batch));
    }
    const bool is_uncertain = result->outcome() == WriteOutcome::uncertain;
    if (!is_uncertain) {
      EXPECT_EQ(value_at(*backend, "key3"), *result ? text_of(9000) : text_of(5000, 11));
      EXPECT_TRUE(backend->write(one("more", "more")));
    }
    backend.reset();
    if (*result) {
      expect_whole(disk, {text_of(9000)});
    } else if (is_uncertain) {
      expect_whole(disk, {text_of(9000), text_of(5000, 11)});
    } else {
      expect_whole(disk, {text_of(5000, 11)});
    }
    // What upkeep lacks memory for is not the batch's trouble, so it goes on far behind the batch.
    return result->ok() && i > 600;
  });
}

// New keys, and a snapshot that wants to remember old ones, take memory when the batch is on the
// disk already: half of it must not become all there is.
TEST(LogMemory, ABatchOfNewKeysIsNeverTakenInByHalves) {
  const sim::DiskImage image = made_log();
  WriteBatch batch = one("key3", text_of(900));
  for (int i = 0; i < 40; ++i) {
    batch.put(as_byte_view("new" + std::to_string(i) + "/0"), Bytes::copy_of("x"));
  }
  bool was_uncertain = false;
  for_every_failure([&](std::size_t i) {
    SCOPED_TRACE(i);
    sim::SimDisk disk(image);
    disk.set_recording(false);
    auto backend = log::open_log(disk, "log", small_log_options()).value();
    auto held = backend->snapshot().value();
    std::optional<WriteResult> result;
    {
      const AllocationFailure failure(i);
      result.emplace(backend->write(batch));
    }
    was_uncertain = was_uncertain || result->outcome() == WriteOutcome::uncertain;
    EXPECT_EQ(value_at(*backend, "new0/0") == "x", result->ok());
    held.reset();
    backend.reset();
    backend = log::open_log(disk, "log", small_log_options()).value();
    const std::string first = value_at(*backend, "new0/0");
    for (int k = 0; k < 40; ++k) {
      EXPECT_EQ(value_at(*backend, "new" + std::to_string(k) + "/0"), first) << k;
    }
    EXPECT_EQ(value_at(*backend, "key3"), first == "x" ? text_of(900) : text_of(5000, 11));
    return result->ok();
  });
  EXPECT_TRUE(was_uncertain) << "memory never ran out where it matters";
}

TEST(LogMemory, ReadingFailsAndGoesOn) {
  sim::SimDisk disk(made_log());
  const auto backend = log::open_log(disk, "log", small_log_options()).value();
  for_every_failure([&](std::size_t i) {
    bool got = false;
    {
      const AllocationFailure failure(i);
      const auto value = backend->get(as_byte_view("key3"));
      got = value.has_value();
      EXPECT_TRUE(got || value.error().code() == ErrorCode::out_of_space);
    }
    EXPECT_EQ(value_at(*backend, "key3"), text_of(5000, 11));
    return got;
  });
  for_every_failure([&](std::size_t i) {
    bool got = false;
    {
      const AllocationFailure failure(i);
      const auto page = backend->range({});
      got = page.has_value();
      EXPECT_TRUE(got || page.error().code() == ErrorCode::out_of_space);
    }
    EXPECT_EQ(backend->range({}).value().entries.size(), 4u);
    return got;
  });
  for_every_failure([&](std::size_t i) {
    const AllocationFailure failure(i);
    const auto held = backend->snapshot();
    if (!held) return false;
    const auto value = (*held)->get(as_byte_view("key3"));
    return value.has_value();
  });
}

TEST(LogMemory, OpeningFailsAndLosesNothing) {
  const sim::DiskImage image = made_log();
  for (const bool writes : {true, false}) {
    for_every_failure([&](std::size_t i) {
      SCOPED_TRACE(i);
      sim::SimDisk disk(image);
      disk.set_recording(false);
      const log::LogOptions options = small_log_options();
      bool opened = false;
      {
        const AllocationFailure failure(i);
        const auto backend = writes ? log::open_log(disk, "log", options)
                                    : log::open_log_to_read(disk, "log", options);
        opened = backend.has_value();
        EXPECT_TRUE(opened || backend.error().code() == ErrorCode::out_of_space);
      }
      expect_whole(disk, {text_of(5000, 11)});
      return opened;
    });
  }
}

}  // namespace
}  // namespace varve::test
