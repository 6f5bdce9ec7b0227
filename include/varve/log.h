// Where Varve says what it does. Silent unless the game installs a callback.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace varve {

enum class LogLevel : std::uint8_t { debug, info, warning, error };
std::string_view to_string(LogLevel level) noexcept;

struct LogEvent {
  LogLevel level = LogLevel::info;
  std::string message = {};  // one sentence
  // What a program may want to look at: {"generation", "7"}, {"error", "..."}.
  std::vector<std::pair<std::string_view, std::string>> fields = {};
};

// Called on the thread where it happens, which may be a background one; two calls
// never run at once. It must not call the World. What it throws is dropped.
using LogCallback = std::function<void(const LogEvent&)>;

}  // namespace varve
