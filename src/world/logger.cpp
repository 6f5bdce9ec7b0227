#include "world/logger.h"

#include <utility>

namespace varve {

void Logger::log(LogLevel level, std::string message, decltype(LogEvent::fields) fields) noexcept {
  if (!enabled()) return;
  const LogEvent event{.level = level, .message = std::move(message), .fields = std::move(fields)};
  const std::lock_guard lock(mutex_);
  try {
    callback_(event);
  } catch (...) {  // NOLINT(bugprone-empty-catch)
    // A save must not fail because its log line did.
  }
}

}  // namespace varve
