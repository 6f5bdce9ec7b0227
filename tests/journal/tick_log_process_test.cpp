// A log of ticks on the real disk, between processes and threads.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <thread>

#include "backend/log/child.h"
#include "backend/log/log_views.h"
#include "journal/tick_log_subject.h"
#include "journal/tick_log_views.h"
#include "support/scratch_dir.h"

namespace varve::test {
namespace {

using journal::TickLog;
using journal::TickLogOptions;

Bytes payload_of(std::uint64_t tick) { return noise(200 + tick * 37 % 900, tick); }

TickLogOptions quick_options(Durability durability) {
  TickLogOptions options;
  options.durability = durability;
  options.segment_size = 48 << 10;
  options.prepared_size = 16 << 10;
  return options;
}

// What append() took survives the end of the process, whatever was synced.
TEST(TickLogProcess, EveryAcceptedTickSurvivesKill) {
  for (const Durability durability :
       {Durability{.kind = Durability::Kind::every_commit},
        Durability{.kind = Durability::Kind::every_n, .count = 7},
        Durability{.kind = Durability::Kind::every_ms, .interval_ms = 1},
        Durability{.kind = Durability::Kind::none}}) {
    const ScratchDir dir;
    const std::string path = dir.file("log");
    std::uint64_t accepted = 0;
    // Several lives, each killed somewhere.
    for (int life = 0; life < 6; ++life) {
      Child child([&](int out) -> std::string {
        auto log = TickLog::open(posix_vfs(), path, quick_options(durability));
        if (!log) return log.error().message();
        std::uint64_t tick = (*log)->latest_tick().value_or(0);
        for (;;) {
          ++tick;
          if (!(*log)->append(tick, payload_of(tick))) return "append failed";
          if (write(out, &tick, sizeof tick) != sizeof tick) return "no one listens";
          if (tick % 100 == 0 && !(*log)->truncate_before(tick - 50)) return "truncate failed";
        }
      });
      for (int i = 0; i < 60 + life * 11; ++i) {
        ASSERT_EQ(read(child.in(), &accepted, sizeof accepted),
                  static_cast<ssize_t>(sizeof accepted));
      }
      child.stop();
      // What it said before it ended counts, too.
      std::uint64_t more = 0;
      while (read(child.in(), &more, sizeof more) == static_cast<ssize_t>(sizeof more)) {
        accepted = more;
      }
      (void)child.end();
      const auto log = TickLog::open(posix_vfs(), path, quick_options(durability)).value();
      EXPECT_TRUE(log->report().problems.empty());
      ASSERT_GE(log->latest_tick(), accepted);
      ASSERT_LE(log->latest_tick(), accepted + 1);
      EXPECT_EQ(log->durable_tick(), log->latest_tick());
      std::uint64_t next = log->first_tick().value();
      for (const auto& [tick, payload] : ticks_in(*log, next)) {
        ASSERT_EQ(tick, next++);
        ASSERT_EQ(payload, payload_of(tick).text());
      }
      EXPECT_EQ(next, *log->latest_tick() + 1);
    }
  }
}

TEST(TickLogProcess, ASecondWriterIsToldWhoHasIt) {
  const ScratchDir dir;
  const std::string path = dir.file("log");
  Child child([&](int out) -> std::string {
    const auto log = TickLog::open(posix_vfs(), path, {});
    if (!log) return log.error().message();
    if (write(out, "!", 1) != 1) return "no one listens";
    pause();
    return "";
  });
  char ready = 0;
  ASSERT_EQ(read(child.in(), &ready, 1), 1);
  const auto second = TickLog::open(posix_vfs(), path, {});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code(), ErrorCode::busy);
  EXPECT_TRUE(TickLog::open_to_read(posix_vfs(), path));
  (void)child.end(SIGKILL);
  EXPECT_TRUE(TickLog::open(posix_vfs(), path, {}));
}

TEST(TickLogThreads, TimeMakesTicksDurableWithoutAnybodyAsking) {
  const ScratchDir dir;
  const auto log =
      TickLog::open(posix_vfs(), dir.file("log"),
                    quick_options({.kind = Durability::Kind::every_ms, .interval_ms = 1}))
          .value();
  for (std::uint64_t tick = 1; tick <= 40; ++tick) {
    ASSERT_TRUE(log->append(tick, payload_of(tick)));
    if (tick % 8 == 0) {
      EXPECT_TRUE(wait_until([&] { return log->durable_tick() == tick; }));
    }
  }
  EXPECT_TRUE(log->close());
}

TEST(TickLogThreads, ReadersSeeWholeTicksWhileOthersAppendSyncAndTruncate) {
  for (const Durability durability :
       {Durability{.kind = Durability::Kind::every_ms, .interval_ms = 1},
        Durability{.kind = Durability::Kind::every_n, .count = 5}}) {
    const ScratchDir dir;
    auto log = TickLog::open(posix_vfs(), dir.file("log"), quick_options(durability)).value();
    std::atomic<bool> is_done = false;
    std::mutex mutex;
    std::string failures;
    const auto fail = [&](const std::string& why) {
      const std::lock_guard lock(mutex);
      failures += why + "\n";
    };
    const auto read_some = [&] {
      while (!is_done) {
        const std::uint64_t from = log->first_tick().value_or(0);
        std::uint64_t last = 0;
        const Status status = log->read(
            from, kForEver, [&](std::uint64_t tick, const Bytes& payload) -> Result<bool> {
              if (payload != payload_of(tick)) fail("wrong bytes");
              if (last != 0 && tick != last + 1) fail("a tick is left out");
              last = tick;
              return true;
            });
        // What was there when it asked may be truncated before it reads.
        if (!status && status.error().code() != ErrorCode::not_found) {
          fail(status.error().message());
        }
        const auto durable = log->durable_tick();
        if (durable > log->latest_tick()) fail("durable is later than the latest");
      }
    };
    std::thread readers[] = {std::thread(read_some), std::thread(read_some)};
    const auto foreign = [&] {
      while (!is_done) {
        const auto reader = TickLog::open_to_read(posix_vfs(), dir.file("log"));
        if (!reader) {
          fail(reader.error().message());
          continue;
        }
        for (const Error& problem : (*reader)->report().problems) fail(problem.message());
        const Shown shown = show(**reader, (*reader)->first_tick().value_or(0));
        if (!shown.status && shown.status.error().code() != ErrorCode::not_found) {
          fail(shown.status.error().message());
        }
        for (const auto& [tick, payload] : shown.ticks) {
          if (payload != payload_of(tick).text()) fail("wrong bytes for a foreign reader");
        }
      }
    };
    std::thread other(foreign);
    for (std::uint64_t tick = 1; tick <= 600; ++tick) {
      EXPECT_TRUE(log->append(tick, payload_of(tick)));
      if (tick % 50 == 0) {
        EXPECT_TRUE(log->sync());
      }
      if (tick % 150 == 0) {
        EXPECT_TRUE(log->truncate_before(tick - 60));
      }
    }
    is_done = true;
    for (std::thread& reader : readers) reader.join();
    other.join();
    EXPECT_EQ(failures, "");
    EXPECT_TRUE(log->close());
    log = TickLog::open(posix_vfs(), dir.file("log"), quick_options(durability)).value();
    EXPECT_EQ(log->latest_tick(), 600u);
    EXPECT_TRUE(log->report().problems.empty());
  }
}

}  // namespace
}  // namespace varve::test
