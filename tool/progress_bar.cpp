#include "tool/progress_bar.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <system_error>

namespace varve::tool {
namespace {

constexpr std::chrono::milliseconds kRepaintInterval{100};
constexpr std::string_view kWipe = "\r\x1b[K";

}  // namespace

ProgressBar::ProgressBar(Streams& streams, std::string_view label, const Progress& progress,
                         std::chrono::milliseconds patience)
    : streams_(streams), label_(label), progress_(progress) {
  if (!streams_.err_is_terminal) return;
  try {
    painter_ = std::thread([this, patience] { paint_until_done(patience); });
  } catch (const std::system_error&) {
    // The work matters, the bar does not.
  }
}

ProgressBar::~ProgressBar() {
  if (!painter_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    is_ended_ = true;
  }
  ended_.notify_one();
  painter_.join();
}

void ProgressBar::paint_until_done(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  const auto is_ended = [this] { return is_ended_; };
  if (ended_.wait_for(lock, patience, is_ended)) return;
  do {
    streams_.err << kWipe << progress_line(label_, progress_.fraction()) << std::flush;
  } while (!ended_.wait_for(lock, kRepaintInterval, is_ended));
  streams_.err << kWipe << std::flush;
}

std::string progress_line(std::string_view label, float fraction) {
  constexpr int kCellCount = 30;
  const float shown = std::clamp(fraction, 0.0f, 1.0f);
  if (!(shown > 0)) return fmt::format("{} ...", label);
  const int filled = static_cast<int>(shown * kCellCount);
  return fmt::format("{} [{:#<{}}{:.<{}}] {:3}%", label, "", filled, "", kCellCount - filled,
                     static_cast<int>(shown * 100));
}

}  // namespace varve::tool
