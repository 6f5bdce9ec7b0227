#include "world/autosave_timer.h"

#include <algorithm>
#include <cmath>

namespace varve {

Status AutosaveTimer::check(const AutosaveConfig& config) {
  const auto positive = [](double s) { return std::isfinite(s) && s > 0; };
  if (!positive(config.interval_s))
    return invalid_argument("autosave: interval_s must be a positive number of seconds");
  if (!positive(config.retry_s))
    return invalid_argument("autosave: retry_s must be a positive number of seconds");
  return {};
}

bool AutosaveTimer::advance(double dt_s) noexcept {
  if (!config_.enabled) return false;
  if (dt_s > 0 && std::isfinite(dt_s)) elapsed_s_ += dt_s;
  return elapsed_s_ >= wait_s();
}

void AutosaveTimer::restart(bool succeeded) noexcept {
  elapsed_s_ = 0;
  failure_count_ = succeeded ? 0 : failure_count_ + 1;
}

double AutosaveTimer::wait_s() const noexcept {
  if (failure_count_ == 0) return config_.interval_s;
  return std::min(config_.interval_s,
                  std::ldexp(config_.retry_s, std::min(failure_count_, 30) - 1));
}

}  // namespace varve
