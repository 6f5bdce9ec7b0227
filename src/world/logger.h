// Hands events to the game's callback, one at a time.
//
// Thread safety: all calls may be made from any thread, but not from the callback.
#pragma once

#include <mutex>
#include <string>

#include "varve/log.h"

namespace varve {

class Logger {
 public:
  explicit Logger(LogCallback callback) : callback_(std::move(callback)) {}

  // Asked before a message is put together that nobody would see.
  bool enabled() const noexcept { return callback_ != nullptr; }

  void log(LogLevel level, std::string message, decltype(LogEvent::fields) fields = {}) noexcept;

 private:
  const LogCallback callback_;
  std::mutex mutex_;
};

}  // namespace varve
