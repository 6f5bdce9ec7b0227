// This program once more, as another process: what a crash ends and what reads beside
// us has to be one. It is started anew rather than forked, since engines have threads
// and locks that a copy of this process would share.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "varve/result.h"

namespace varve::bench {

class ChildProcess {
 public:
  // Single characters go to its standard input and come from its standard output.
  static Result<ChildProcess> start(const std::vector<std::string>& arguments);
  // Kills it if it still runs.
  ~ChildProcess();
  ChildProcess(ChildProcess&& other) noexcept
      : id_(std::exchange(other.id_, -1)),
        input_(std::exchange(other.input_, -1)),
        output_(std::exchange(other.output_, -1)) {}
  ChildProcess& operator=(ChildProcess&&) = delete;

  Status send(char word);
  // Waits for the next one. An error if it ended instead.
  Result<char> receive();
  // SIGKILL, whatever it is doing. Returns when it is gone, with all its locks.
  void kill();

 private:
  ChildProcess(pid_t id, int input, int output) : id_(id), input_(input), output_(output) {}

  pid_t id_;
  int input_;   // what we write to
  int output_;  // what we read from
};

}  // namespace varve::bench
