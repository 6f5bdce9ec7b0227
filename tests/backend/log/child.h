// Another process of a test, which may be killed.
#pragma once

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <string>

namespace varve::test {

// A process that runs `body` and says with what it ended; "" if all was well.
class Child {
 public:
  explicit Child(const std::function<std::string(int out)>& body) {
    int ends[2];
    if (pipe(ends) != 0) std::abort();
    pid_ = fork();
    if (pid_ == 0) {
      close(ends[0]);
      const std::string said = body(ends[1]);
      if (write(ends[1], said.data(), said.size()) < 0) _exit(2);
      _exit(said.empty() ? 0 : 1);
    }
    close(ends[1]);
    in_ = ends[0];
  }
  ~Child() { (void)end(SIGKILL); }

  int in() const { return in_; }
  void stop() const { kill(pid_, SIGKILL); }
  // Everything it says until it ends.
  std::string read_all() const {
    std::string said;
    char some[512];
    for (ssize_t got = 0; (got = read(in_, some, sizeof some)) > 0;) said.append(some, got);
    return said;
  }
  // Sends it a signal, unless that is 0, and waits for its end: the exit code, or -1.
  int end(int signal = 0) {
    if (pid_ <= 0) return -1;
    if (signal != 0) kill(pid_, signal);
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = 0;
    close(in_);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  pid_t pid_ = 0;
  int in_ = -1;
};

}  // namespace varve::test
