#include "harness/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include "base/try.h"

namespace varve::bench {
namespace {

// More than this is a typing error: the longest workload would run for days.
constexpr std::size_t kRoundCountMax = 1'000'000;

Result<std::size_t> parse_round_count(std::string_view text) {
  std::size_t count = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (failure != std::errc{} || end != text.data() + text.size() || count == 0 ||
      count > kRoundCountMax) {
    return invalid_argument(
        fmt::format("--rounds takes a number from 1 to {}, not '{}'", kRoundCountMax, text));
  }
  return count;
}

}  // namespace

Result<Options> parse_options(std::span<const char* const> arguments,
                              std::span<const std::string> known) {
  Options options;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view word = arguments[i];
    // The next argument, for an option that needs one.
    const auto value = [&]() -> Result<std::string> {
      if (i + 1 == arguments.size()) return invalid_argument(fmt::format("{} needs a value", word));
      return std::string(arguments[++i]);
    };
    if (word == "--list") {
      options.list = true;
    } else if (word == "--help" || word == "-h") {
      options.help = true;
    } else if (word == "--quick") {
      options.quick = true;
    } else if (word == "--dir") {
      VARVE_ASSIGN(options.dir, value());
    } else if (word == "--json") {
      VARVE_ASSIGN(options.json_path, value());
    } else if (word == "--rounds") {
      VARVE_ASSIGN(const std::string text, value());
      VARVE_ASSIGN(options.round_count, parse_round_count(text));
    } else if (word.starts_with("-")) {
      return invalid_argument(fmt::format("unknown option '{}'; --help lists the options", word));
    } else if (std::find(known.begin(), known.end(), word) == known.end()) {
      return invalid_argument(
          fmt::format("unknown workload '{}'; there are {}", word, fmt::join(known, ", ")));
    } else {
      options.workloads.emplace_back(word);
    }
  }
  return options;
}

std::string usage_text() {
  return "varve_bench [options] [workload ...]   runs all workloads if none is named\n"
         "  --list         print the workloads and what they measure\n"
         "  --dir DIR      keep the data in a fresh folder inside DIR (not on tmpfs)\n"
         "  --rounds N     take N samples of every arm instead of the workload's own number\n"
         "  --json FILE    also write environment, summaries and samples to FILE\n"
         "  --quick        tiny sizes: shows that everything runs, measures nothing\n"
         "Example: varve_bench save5 reads --json results.json\n";
}

}  // namespace varve::bench
