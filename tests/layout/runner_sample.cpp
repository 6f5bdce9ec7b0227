// What a test program may do to whoever counts its cases. Not a test itself: each suite
// is one behaviour, and runner_test.sh runs them one by one through tests/run.
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>

// What GoogleTest prints, from a test that shows the output of another program.
static void print_like_gtest() {
  std::puts("[       OK ] Other.One (0 ms)");
  std::puts("[  FAILED  ] Other.Two (0 ms)");
  std::puts("[==========] 9 tests from 1 test suite ran. (0 ms total)");
  std::fflush(stdout);
}

TEST(Good, Passes) {}
TEST(Good, Skips) {
  SCOPED_TRACE("not a part of the reason");
  GTEST_SKIP() << "golden/<x> is absent";
}

TEST(Bad, Fails) { FAIL() << "one is not two"; }
TEST(Bad, PrintsNoNewline) { std::printf("no newline"); }

class OfParameter : public testing::TestWithParam<const char*> {};
TEST_P(OfParameter, Fails) { FAIL() << "the parameter is " << GetParam(); }
INSTANTIATE_TEST_SUITE_P(Quoted, OfParameter, testing::Values("a \"b\" > c"));

TEST(Killed, First) {}
TEST(Killed, Second) {
  std::puts("last words");
  std::fflush(stdout);
  std::raise(SIGKILL);
}

// The end of a process that holds leaks looks like this.
TEST(EndsBadly, Passes) {
  EXPECT_EQ(std::atexit([] {
              std::puts("detected memory leaks");
              std::fflush(stdout);
              _exit(23);
            }),
            0);
}

TEST(Leaves, InTheMiddle) {
  print_like_gtest();
  std::exit(0);
}

TEST(Echo, Passes) { print_like_gtest(); }
TEST(EchoOfFailure, Fails) {
  print_like_gtest();
  FAIL() << "after the echo\n<testcase name=\"Fake\" result=\"completed\" classname=\"Echo\" />";
}

TEST(Unreasoned, Skips) { GTEST_SKIP(); }
TEST(Off, DISABLED_Case) {}

class SuiteFails : public testing::Test {
 public:
  static void SetUpTestSuite() { FAIL() << "the suite has no ground"; }
};
TEST_F(SuiteFails, NeverRuns) {}
