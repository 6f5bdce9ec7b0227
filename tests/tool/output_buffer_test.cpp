#include "tool/output_buffer.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <ostream>
#include <string>

#include "tool/tool_fixture.h"

namespace varve::test {
namespace {

TEST(ToolOutputBuffer, WritesEverythingInOrder) {
  ScratchDir dir;
  std::string expected;
  const int descriptor = ::open(dir.file("out").c_str(), O_WRONLY | O_CREAT, 0600);
  ASSERT_GE(descriptor, 0);
  {
    tool::OutputBuffer buffer(descriptor);
    std::ostream out(&buffer);
    // More than it holds, in pieces that do not fit evenly.
    for (int i = 0; i < 40'000; ++i) {
      out << i << '\n';
      expected += std::to_string(i) + '\n';
    }
    out.flush();
    EXPECT_TRUE(out.good());
    EXPECT_EQ(buffer.failure(), 0);
  }
  ::close(descriptor);
  EXPECT_EQ(read_file(dir.file("out")), expected);
}

TEST(ToolOutputBuffer, RemembersWhatWentWrong) {
  const int full = ::open("/dev/full", O_WRONLY);
  ASSERT_GE(full, 0);
  tool::OutputBuffer buffer(full);
  std::ostream out(&buffer);
  out << "text" << std::flush;
  EXPECT_FALSE(out.good());
  EXPECT_EQ(buffer.failure(), ENOSPC);
  ::close(full);
}

TEST(ToolOutputBuffer, AReaderThatWentAwayIsAFailure) {
  std::signal(SIGPIPE, SIG_IGN);
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ::close(ends[0]);
  tool::OutputBuffer buffer(ends[1]);
  std::ostream out(&buffer);
  out << std::string(100'000, 'x') << std::flush;
  EXPECT_FALSE(out.good());
  EXPECT_EQ(buffer.failure(), EPIPE);
  ::close(ends[1]);
}

}  // namespace
}  // namespace varve::test
