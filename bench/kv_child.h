// What other processes do in key/value workloads: write until they are killed, and
// read beside a writer.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "harness/child_process.h"
#include "varve/result.h"

namespace varve::bench {

// Opens the store in `dir` in another process, saves `batch_count` batches of 5 chunks, and is
// killed while it saves one more. The chunks are of a space of their own, so that what the world of
// this process holds stays true.
Status write_and_kill(const std::string& arm_name, const std::string& dir, std::size_t batch_count);

// A process that reads the file backend's log beside the one that writes it.
class ForeignReader {
 public:
  static Result<ForeignReader> start(const std::string& dir);

  // Opens the log. From then on nothing of what it holds may go.
  Status pin();
  // Reads every value that was there when it was pinned, and lets go.
  Status release();

 private:
  explicit ForeignReader(ChildProcess process) : process_(std::move(process)) {}
  Status order(char word);

  ChildProcess process_;
};

// What such a process does, if the program was started as one; nullopt if it was not.
std::optional<int> run_as_child(std::span<const char* const> arguments);

}  // namespace varve::bench
