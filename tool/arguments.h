// The arguments of one command: what it takes, its --help, and reading them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tool/command.h"

namespace CLI {
class App;
}

namespace varve::tool {

// The values must outlive it.
class Arguments {
 public:
  // `about` is a sentence or a few. `examples` are command lines, one a line.
  Arguments(std::string_view command, std::string_view about, std::string_view examples);
  ~Arguments();

  // By place, in the order in which they are added.
  void required(std::string_view name, std::string& value, std::string_view help);
  void optional(std::string_view name, std::optional<std::string>& value, std::string_view help);
  void one_or_more(std::string_view name, std::vector<std::string>& values, std::string_view help);
  // By name: option("-o,--output", "FILE", ...).
  void option(std::string_view names, std::string_view value_name,
              std::optional<std::string>& value, std::string_view help);
  void required_option(std::string_view names, std::string_view value_name, std::string& value,
                       std::string_view help);
  // May be given more than once.
  void repeated_option(std::string_view names, std::string_view value_name,
                       std::vector<std::string>& values, std::string_view help);
  void flag(std::string_view names, bool& value, std::string_view help);

  // nullopt if the command may go on; else it ends with this code, and what there is to
  // say has been said.
  std::optional<int> parse(Args args, Streams& streams);

 private:
  std::string command_;
  std::unique_ptr<CLI::App> app_;
};

}  // namespace varve::tool
