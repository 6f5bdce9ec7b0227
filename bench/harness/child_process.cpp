#include "harness/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

namespace varve::bench {
namespace {

// None of these outlives the start of another program, the two the child is given aside.
struct Pipe {
  int ends[2] = {-1, -1};

  bool open() { return ::pipe2(ends, O_CLOEXEC) == 0; }
  ~Pipe() {
    for (const int end : ends) {
      if (end >= 0) ::close(end);
    }
  }
  int take(int index) { return std::exchange(ends[index], -1); }
};

Error failed(const char* what, int code) {
  return io_error(fmt::format("child process: {}: {}", what, std::strerror(code)));
}

}  // namespace

Result<ChildProcess> ChildProcess::start(const std::vector<std::string>& arguments) {
  // One that is gone shall be an error of send() and not the end of everything.
  std::signal(SIGPIPE, SIG_IGN);
  Pipe to;
  Pipe from;
  if (!to.open() || !from.open()) return failed("pipe", errno);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, to.ends[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, from.ends[1], STDOUT_FILENO);
  std::vector<char*> words = {const_cast<char*>("varve_bench")};
  for (const std::string& argument : arguments) words.push_back(const_cast<char*>(argument.data()));
  words.push_back(nullptr);
  pid_t id = -1;
  const int code = ::posix_spawn(&id, "/proc/self/exe", &actions, nullptr, words.data(), ::environ);
  posix_spawn_file_actions_destroy(&actions);
  if (code != 0) return failed("start", code);
  return ChildProcess(id, to.take(1), from.take(0));
}

ChildProcess::~ChildProcess() {
  kill();
  if (input_ >= 0) ::close(input_);
  if (output_ >= 0) ::close(output_);
}

Status ChildProcess::send(char word) {
  if (::write(input_, &word, 1) != 1) return failed("send", errno);
  return {};
}

Result<char> ChildProcess::receive() {
  char word = 0;
  const ssize_t got = ::read(output_, &word, 1);
  if (got < 0) return failed("receive", errno);
  if (got == 0) return io_error("child process: it ended early; its message is above");
  return word;
}

void ChildProcess::kill() {
  if (id_ < 0) return;
  ::kill(id_, SIGKILL);
  ::waitpid(std::exchange(id_, -1), nullptr, 0);
}

}  // namespace varve::bench
