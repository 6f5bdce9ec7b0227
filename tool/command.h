// What every command of `varve` is made of.
//
// A command is one file with one function, and one row in commands.cpp. It gets its arguments
// and its streams and returns its exit code, so that tests run it without a process.
#pragma once

#include <iosfwd>
#include <span>
#include <string>
#include <string_view>

#include "varve/result.h"

namespace varve::tool {

enum ExitCode : int {
  kDone = 0,
  kProblems = 1,  // it was done, and there is something to look at
  kUsage = 2,     // the arguments make no sense; nothing was done
  kCouldNot = 3,
};

// What a program might read goes to `out`, whatever is for a person alone to `err`.
struct Streams {
  std::istream& in;
  std::ostream& out;
  std::ostream& err;
  bool err_is_terminal = false;
};

using Args = std::span<const std::string>;

struct Command {
  std::string_view name;
  std::string_view summary;
  int (*run)(Args args, Streams& streams);
};

// In the order in which `varve --help` lists them.
std::span<const Command> commands();

// Runs the command that args[0] names. An output that could not be written is kCouldNot,
// whatever the command returned. Nothing is thrown.
int run(Args args, Streams& streams);

// Each says one sentence on `err` and returns the exit code it stands for.
int could_not(Streams& streams, std::string_view sentence);
int could_not(Streams& streams, const Error& error);
int wrong_usage(Streams& streams, std::string_view command, std::string_view sentence);

// For what is found on the way and does not end the command.
void say(Streams& streams, std::string_view sentence);

}  // namespace varve::tool
