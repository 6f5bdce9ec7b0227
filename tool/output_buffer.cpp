#include "tool/output_buffer.h"

#include <unistd.h>

#include <cerrno>

namespace varve::tool {

OutputBuffer::OutputBuffer(int descriptor) : descriptor_(descriptor) {
  setp(buffer_.data(), buffer_.data() + buffer_.size());
}

OutputBuffer::~OutputBuffer() { write_out(); }

OutputBuffer::int_type OutputBuffer::overflow(int_type character) {
  if (!write_out()) return traits_type::eof();
  if (!traits_type::eq_int_type(character, traits_type::eof())) {
    *pptr() = traits_type::to_char_type(character);
    pbump(1);
  }
  return traits_type::not_eof(character);
}

int OutputBuffer::sync() { return write_out() ? 0 : -1; }

bool OutputBuffer::write_out() {
  const char* at = pbase();
  while (failure_ == 0 && at < pptr()) {
    const ssize_t written = ::write(descriptor_, at, static_cast<std::size_t>(pptr() - at));
    if (written > 0) {
      at += written;
    } else if (written == 0 || errno != EINTR) {
      failure_ = written == 0 ? ENOSPC : errno;
    }
  }
  setp(buffer_.data(), buffer_.data() + buffer_.size());
  return failure_ == 0;
}

}  // namespace varve::tool
