// Processes that are killed while they write.
//
// Invariants checked: everything that was acknowledged is there, at most one batch more, and what
// is there is exactly the state after a batch. The child says over a pipe what was acknowledged.
#include <chrono>
#include <iostream>
#include <random>

#include "backend/lmdb/lmdb_sample.h"
#include "backend/log/child.h"
#include "support/scratch_dir.h"

namespace varve::test {
namespace {

std::uint64_t new_seed(std::string_view what) {
  const char* const given = std::getenv("VARVE_KILL_SEED");
  const std::uint64_t seed = given != nullptr ? std::stoull(given) : std::random_device{}();
  std::cout << what << ": VARVE_KILL_SEED=" << seed << "\n";
  return seed;
}

// Not to wait for anything, but to be somewhere inside of what the child does.
void spin(std::chrono::microseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {
  }
}

std::string write_for_ever(const std::string& dir, Durability durability, int out) {
  const auto backend = open_lmdb_backend(dir, {.durability = durability});
  if (!backend) return "open: " + backend.error().message();
  for (std::uint64_t n = number_in(**backend) + 1;; ++n) {
    const WriteResult written = (*backend)->write(history_batch(n));
    if (!written) return "write: " + written.error().message();
    if (write(out, &n, sizeof n) != sizeof n) return "nobody listens";
  }
}

// Kills a writer again and again, always on what the one before left.
void kill_many(Durability durability, std::uint64_t seed, int kill_count) {
  const ScratchDir dir;
  const std::string path = dir.file("lmdb");
  std::mt19937_64 random(seed);
  std::uint64_t last = 0;
  Contents expected;
  int ahead_count = 0;
  for (int round = 0; round < kill_count; ++round) {
    SCOPED_TRACE(fmt::format("round {}", round));
    std::uint64_t acknowledged = last;
    {
      Child child([&](int out) { return write_for_ever(path, durability, out); });
      std::uint64_t said = 0;
      for (std::uint64_t i = random() % 12; i > 0; --i) {
        ASSERT_EQ(read(child.in(), &said, sizeof said), ssize_t{sizeof said});
        acknowledged = said;
      }
      spin(std::chrono::microseconds(random() % 4000));
      child.stop();
      // It may have said more before it went.
      while (read(child.in(), &said, sizeof said) == ssize_t{sizeof said}) acknowledged = said;
      EXPECT_EQ(child.end(), -1) << "it ended by itself";
    }
    const auto backend = open_lmdb_backend(path);
    ASSERT_TRUE(backend) << backend.error().message();
    const std::uint64_t found = number_in(**backend);
    ASSERT_GE(found, acknowledged);
    ASSERT_LE(found, acknowledged + 1);
    while (last < found) apply_to(history_batch(++last), expected);
    ASSERT_EQ((*backend)->sequence(), last);
    ASSERT_EQ(contents_of(**backend).value(), expected);
    const auto problems = (*backend)->verify();
    ASSERT_TRUE(problems && problems->empty());
    ahead_count += last > acknowledged;
  }
  std::cout << kill_count << " kills, " << last << " batches, " << ahead_count
            << " kept that nobody had been told of\n";
}

TEST(LmdbKilled, EverythingAcknowledgedIsThere) { kill_many({}, new_seed("every commit"), 150); }

TEST(LmdbKilled, EverythingAcknowledgedIsThereWhereHeadsAreNotSynced) {
  kill_many({.kind = Durability::Kind::none}, new_seed("none"), 80);
}

TEST(LmdbKilled, AFileThatWasBeingMadeIsMadeTheNextTime) {
  std::mt19937_64 random(new_seed("creation"));
  int unmade_count = 0;
  for (int round = 0; round < 60; ++round) {
    const ScratchDir dir;
    {
      Child child([&](int out) -> std::string {
        if (write(out, "!", 1) != 1) return "nobody listens";
        const auto backend = open_lmdb_backend(dir.file("lmdb"));
        if (!backend) return backend.error().message();
        for (;;) pause();
      });
      char begins = 0;
      ASSERT_EQ(read(child.in(), &begins, 1), 1);
      spin(std::chrono::microseconds(random() % 30'000));
      child.end(SIGKILL);
    }
    unmade_count += access(dir.file("lmdb/data.mdb").c_str(), F_OK) != 0;
    const auto backend = open_lmdb_backend(dir.file("lmdb"));
    ASSERT_TRUE(backend) << "round " << round << ": " << backend.error().message();
    EXPECT_EQ((*backend)->sequence(), 0u);
    EXPECT_TRUE((*backend)->write(history_batch(1)));
    EXPECT_NE(access(dir.file("lmdb/data.mdb.new").c_str(), F_OK), 0);
  }
  std::cout << unmade_count << " of 60 were not made yet\n";
}

}  // namespace
}  // namespace varve::test
