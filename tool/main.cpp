#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string>
#include <vector>

#include "tool/command.h"
#include "tool/output_buffer.h"

namespace {

// A descriptor that the caller closed would go to the first file that is opened, and what
// is printed would end up in a save. In its place comes one on which every write, or read,
// fails.
void occupy_standard_descriptors() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(descriptor, F_GETFD) != -1) continue;
    const int mode = descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY;
    if (::open("/dev/null", mode) != descriptor) std::_Exit(varve::tool::kCouldNot);
  }
}

}  // namespace

int main(int argc, char** argv) {
  using namespace varve::tool;
  occupy_standard_descriptors();
  // A reader that went away is an error of the write, not the end of the process.
  std::signal(SIGPIPE, SIG_IGN);
  // Neither is a file that may not grow any more.
  std::signal(SIGXFSZ, SIG_IGN);
  std::ios::sync_with_stdio(false);
  OutputBuffer buffer(STDOUT_FILENO);
  std::ostream out(&buffer);
  Streams streams{std::cin, out, std::cerr, ::isatty(STDERR_FILENO) == 1};
  const std::vector<std::string> args(argv + (argc > 0 ? 1 : 0), argv + argc);
  const int code = run(args, streams);
  // Who closed the pipe has read enough, and knows.
  if (buffer.failure() != 0 && buffer.failure() != EPIPE) {
    say(streams, fmt::format("could not write to standard output: {}; what was printed is not "
                             "all there is",
                             std::strerror(buffer.failure())));
  }
  return code;
}
