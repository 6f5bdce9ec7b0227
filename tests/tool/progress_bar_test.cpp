#include "tool/progress_bar.h"

#include <gtest/gtest.h>

#include <sstream>

namespace varve::test {
namespace {

using tool::progress_line;
using tool::ProgressBar;
using namespace std::chrono_literals;

std::string painted(bool err_is_terminal, std::chrono::milliseconds patience,
                    std::chrono::milliseconds work) {
  std::istringstream in;
  std::ostringstream out, err;
  tool::Streams streams{in, out, err, err_is_terminal};
  Progress progress;
  progress.report(0.5);
  {
    const ProgressBar bar(streams, "reading", progress, patience);
    std::this_thread::sleep_for(work);
  }
  EXPECT_EQ(out.str(), "");
  return err.str();
}

TEST(ToolProgressBar, ALineIsALabelABarAndAPercentage) {
  EXPECT_EQ(progress_line("reading", 0.5f), "reading [###############...............]  50%");
  EXPECT_EQ(progress_line("reading", 1.0f), "reading [##############################] 100%");
  EXPECT_EQ(progress_line("reading", 7.0f), progress_line("reading", 1.0f));
  EXPECT_EQ(progress_line("reading", 0.0f), "reading ...");
}

TEST(ToolProgressBar, IsPaintedOnATerminalAndWipedAway) {
  const std::string text = painted(true, 0ms, 250ms);
  EXPECT_TRUE(text.starts_with("\r\x1b[K" + progress_line("reading", 0.5f))) << text;
  EXPECT_TRUE(text.ends_with("\r\x1b[K")) << text;
}

TEST(ToolProgressBar, ShortWorkShowsNone) { EXPECT_EQ(painted(true, 60s, 0ms), ""); }

TEST(ToolProgressBar, APipeGetsNone) { EXPECT_EQ(painted(false, 0ms, 50ms), ""); }

}  // namespace
}  // namespace varve::test
