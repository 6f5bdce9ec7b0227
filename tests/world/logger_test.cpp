#include "world/logger.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <stdexcept>
#include <thread>
#include <vector>

namespace varve {
namespace {

TEST(Logger, HandsOverWhatItIsGiven) {
  std::vector<LogEvent> events;
  Logger logger([&](const LogEvent& event) { events.push_back(event); });
  EXPECT_TRUE(logger.enabled());
  logger.log(LogLevel::warning, "The disk is full.", {{"generation", "7"}});
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].level, LogLevel::warning);
  EXPECT_EQ(events[0].message, "The disk is full.");
  ASSERT_EQ(events[0].fields.size(), 1u);
  EXPECT_EQ(events[0].fields[0].first, "generation");
  EXPECT_EQ(events[0].fields[0].second, "7");
}

TEST(Logger, IsSilentWithoutACallback) {
  Logger logger(nullptr);
  EXPECT_FALSE(logger.enabled());
  logger.log(LogLevel::error, "Nobody hears this.");
}

TEST(Logger, DropsWhatTheCallbackThrows) {
  int call_count = 0;
  Logger logger([&](const LogEvent&) {
    ++call_count;
    throw std::runtime_error("no");
  });
  logger.log(LogLevel::info, "One.");
  logger.log(LogLevel::info, "Two.");
  EXPECT_EQ(call_count, 2);
}

TEST(Logger, CallsOneAtATime) {
  std::atomic<int> inside = 0;
  int call_count = 0;  // Not atomic: TSan sees two calls at once.
  Logger logger([&](const LogEvent&) {
    EXPECT_EQ(++inside, 1);
    ++call_count;
    --inside;
  });
  std::latch start(4);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      start.arrive_and_wait();
      for (int i = 0; i < 100; ++i) logger.log(LogLevel::debug, "Once more.");
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(call_count, 400);
}

TEST(Logger, LevelsHaveNames) {
  EXPECT_EQ(to_string(LogLevel::debug), "debug");
  EXPECT_EQ(to_string(LogLevel::info), "info");
  EXPECT_EQ(to_string(LogLevel::warning), "warning");
  EXPECT_EQ(to_string(LogLevel::error), "error");
  EXPECT_EQ(to_string(static_cast<LogLevel>(77)), "unknown");
}

}  // namespace
}  // namespace varve
