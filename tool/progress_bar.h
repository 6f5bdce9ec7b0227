// Shows a person how far a long call has come.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "tool/command.h"
#include "varve/store.h"

namespace varve::tool {

// A line on a terminal that is repainted by a thread of its own, from the moment the work has
// taken longer than `patience` until this is destroyed, which wipes it away. Anywhere but on a
// terminal it does nothing. Nobody else may write to `streams.err` meanwhile.
class ProgressBar {
 public:
  static constexpr std::chrono::milliseconds kPatience{500};

  // `progress` must outlive it.
  ProgressBar(Streams& streams, std::string_view label, const Progress& progress,
              std::chrono::milliseconds patience = kPatience);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

 private:
  void paint_until_done(std::chrono::milliseconds patience);

  Streams& streams_;
  const std::string label_;
  const Progress& progress_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool is_ended_ = false;
  std::thread painter_;
};

// The line as it is painted: the label, a bar of 30 cells and a percentage; of work whose end
// nobody knows, which reports nothing, the label alone.
std::string progress_line(std::string_view label, float fraction);

}  // namespace varve::tool
