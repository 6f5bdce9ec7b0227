// Another process that holds a lock.
#pragma once

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace varve::test {

// A child that takes the lock, says so, and waits to be killed.
class LockHolder {
 public:
  // `take` returns the lock in a Result.
  template <class Take>
  explicit LockHolder(Take take) {
    int ready[2];
    if (pipe(ready) != 0) return;
    pid_ = fork();
    if (pid_ == 0) {
      const auto lock = take();
      const char answer = lock ? 'y' : 'n';
      if (write(ready[1], &answer, 1) == 1) pause();
      _exit(0);
    }
    char answer = 'n';
    has_lock_ = read(ready[0], &answer, 1) == 1 && answer == 'y';
    ::close(ready[0]);
    ::close(ready[1]);
  }
  ~LockHolder() { kill_now(); }
  LockHolder(const LockHolder&) = delete;
  LockHolder& operator=(const LockHolder&) = delete;

  // Returns when the child is gone.
  void kill_now() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  bool has_lock() const { return has_lock_; }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = 0;
  bool has_lock_ = false;
};

}  // namespace varve::test
