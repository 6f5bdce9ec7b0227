// Standard output that remembers what went wrong with it.
#pragma once

#include <array>
#include <streambuf>

namespace varve::tool {

// Writes to a descriptor, which it does not close. After a failure nothing more is
// written, and the stream on it is bad.
class OutputBuffer final : public std::streambuf {
 public:
  explicit OutputBuffer(int descriptor);
  ~OutputBuffer() override;

  // The errno of the write that failed; 0 if none did.
  int failure() const noexcept { return failure_; }

 private:
  int_type overflow(int_type character) override;
  int sync() override;
  bool write_out();

  const int descriptor_;
  int failure_ = 0;
  std::array<char, 1 << 16> buffer_;
};

}  // namespace varve::tool
