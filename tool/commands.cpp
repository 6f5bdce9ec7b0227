#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <new>
#include <ostream>

#include "tool/command.h"
#include "varve/format.h"
#include "varve/version.h"

// A new command: a file NAME.cpp with `int run_NAME(Args, Streams&)`, and a row here.
#define VARVE_COMMANDS(ROW)                                         \
  ROW(info, "say what a save holds")                                \
  ROW(ls, "list records")                                           \
  ROW(get, "write a record's bytes to standard output")             \
  ROW(put, "write a record")                                        \
  ROW(rm, "erase records")                                          \
  ROW(verify, "read everything and list what is damaged")           \
  ROW(digest, "print a checksum of every record, to compare saves") \
  ROW(convert, "copy a save into another format")                   \
  ROW(compact, "make a save smaller")                               \
  ROW(backup, "copy a save while it is written, or what changed")   \
  ROW(diff, "compare two saves, or two ticks of one")               \
  ROW(log, "list the ticks of a save's journal")                    \
  ROW(history, "say what happened to a record, and who did it")     \
  ROW(rollback, "put a save, or part of it, back to an earlier tick")

namespace varve::tool {

#define VARVE_DECLARE(name, summary) int run_##name(Args args, Streams& streams);
VARVE_COMMANDS(VARVE_DECLARE)
#undef VARVE_DECLARE

namespace {

#define VARVE_ROW(name, summary) {#name, summary, run_##name},
constexpr Command kCommands[] = {VARVE_COMMANDS(VARVE_ROW)};
#undef VARVE_ROW

void print_help(std::ostream& out) {
  out << "varve looks into saves of game worlds, changes them and converts them.\n\n"
         "usage: varve COMMAND ARGUMENTS\n"
         "       varve COMMAND --help\n\n"
         "Commands:\n";
  for (const Command& command : commands()) {
    out << fmt::format("  {:<10}{}\n", command.name, command.summary);
  }
  out << "\nA record is called chunk:3,-2, chunk:the_nether/3,-2, entity:17, player:NAME or "
         "global:NAME.\n\n"
         "Formats:";
  for (const Format* format : formats()) out << ' ' << format->name();
  out << "\n\nExample:\n"
         "  varve info my_world\n\n"
         "Exit: 0 done, 1 problems found, 2 wrong usage, 3 could not.\n";
}

int dispatch(Args args, Streams& streams) {
  if (args.empty()) {
    print_help(streams.err);
    return kUsage;
  }
  const std::string& word = args.front();
  if (word == "--help" || word == "-h") {
    print_help(streams.out);
    return kDone;
  }
  if (word == "--version") {
    streams.out << "varve " << version() << '\n';
    return kDone;
  }
  const auto all = commands();
  const auto command = std::ranges::find(all, word, &Command::name);
  if (command == all.end()) {
    say(streams, fmt::format("there is no command '{}'; `varve --help` lists them", word));
    return kUsage;
  }
  return command->run(args.subspan(1), streams);
}

}  // namespace

std::span<const Command> commands() { return kCommands; }

int run(Args args, Streams& streams) {
  int code = kCouldNot;
  try {
    code = dispatch(args, streams);
  } catch (const std::bad_alloc&) {
    say(streams, "there is not enough memory for this");
  } catch (const std::exception& failure) {
    say(streams, failure.what());
  }
  streams.out.flush();
  return streams.out.good() ? code : kCouldNot;
}

void say(Streams& streams, std::string_view sentence) {
  // On a terminal both appear in the order in which they were said.
  streams.out.flush();
  // In one piece: several programs may write to one terminal.
  streams.err << fmt::format("varve: {}\n", sentence);
}

int could_not(Streams& streams, std::string_view sentence) {
  say(streams, sentence);
  return kCouldNot;
}

int could_not(Streams& streams, const Error& error) { return could_not(streams, error.message()); }

int wrong_usage(Streams& streams, std::string_view command, std::string_view sentence) {
  say(streams, fmt::format("{}; `varve {} --help` says more", sentence, command));
  return kUsage;
}

}  // namespace varve::tool
