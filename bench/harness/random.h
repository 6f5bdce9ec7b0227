// Random numbers that are the same on every machine and with every library, which
// <random>'s distributions are not.
#pragma once

#include <cstdint>

namespace varve::bench {

// splitmix64. Good enough for data nothing should compress, and fast.
class Random {
 public:
  explicit Random(std::uint64_t seed) noexcept : state_(seed) {}

  std::uint64_t next() noexcept {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  }

  // 0 to `count` - 1. The bias of the remainder is far below anything measured here.
  std::uint64_t below(std::uint64_t count) noexcept { return next() % count; }

 private:
  std::uint64_t state_;
};

}  // namespace varve::bench
