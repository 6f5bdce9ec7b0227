// When a thread that stands behind others offers its core to them: after each piece of work, as
// long as that does not cost it all of its time.
//
// A thread that gives way to one that never rests may wait for long. So it then works for an eighth
// of that time before it does so again, which is about what its level leaves it anyway.
#pragma once

#include <cstddef>
#include <cstdint>

namespace varve {

class YieldBudget {
 public:
  static constexpr std::size_t kPieceSize = std::size_t{64} << 10;

  // Whether it is time to give way, after work on so many bytes more.
  bool is_due(std::size_t work_size) noexcept {
    done_size_ += work_size;
    return done_size_ >= kPieceSize;
  }
  // Whether it may, at this time. If not, it is due again after the next piece.
  bool may_yield(std::int64_t now_ns) noexcept {
    done_size_ = 0;
    return now_ns >= not_before_ns_;
  }
  void has_yielded(std::int64_t from_ns, std::int64_t until_ns) noexcept {
    not_before_ns_ = until_ns + (until_ns - from_ns) / kWorkShare;
  }

 private:
  static constexpr std::int64_t kWorkShare = 8;

  std::size_t done_size_ = 0;
  std::int64_t not_before_ns_ = 0;
};

}  // namespace varve
