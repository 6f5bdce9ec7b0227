// When to save by itself. Knows time only as what it is told, so that tests need no clock.
#pragma once

#include "varve/result.h"
#include "varve/world_options.h"

namespace varve {

class AutosaveTimer {
 public:
  explicit AutosaveTimer(const AutosaveConfig& config) : config_(config) {}

  // invalid_argument unless both times are positive numbers.
  static Status check(const AutosaveConfig& config);
  // What has passed so far counts for the new interval too.
  void set(const AutosaveConfig& config) noexcept { config_ = config; }
  const AutosaveConfig& config() const noexcept { return config_; }

  // Lets time pass; time that makes no sense does not. True once a save is due, and
  // until one finishes.
  bool advance(double dt_s) noexcept;

  // A save finished, or there was nothing to save. Starts the interval anew; after a
  // failure the wait is shorter, and doubles with each further one.
  void restart(bool succeeded) noexcept;

  // How long a save now comes due after the last one.
  double wait_s() const noexcept;

 private:
  AutosaveConfig config_;
  double elapsed_s_ = 0;
  int failure_count_ = 0;
};

}  // namespace varve
