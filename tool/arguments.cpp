#include "tool/arguments.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <ostream>

namespace varve::tool {
namespace {

// CLI11's messages are words of its own; this puts the program's manners on them.
std::string sentence_of(const CLI::ParseError& error) {
  std::string text = error.what();
  while (text.ends_with('\n') || text.ends_with('.')) text.pop_back();
  std::ranges::replace(text, '\n', ' ');
  constexpr std::string_view kItsStart = "The ";
  if (text.starts_with(kItsStart)) text.front() = 't';
  return text;
}

// CLI11 breaks no lines.
std::string wrapped(std::string_view text) {
  constexpr std::size_t kWidth = 90;
  std::string out;
  while (text.size() > kWidth) {
    const std::size_t blank = text.rfind(' ', kWidth);
    if (blank == std::string_view::npos) break;
    out += std::string(text.substr(0, blank)) + '\n';
    text.remove_prefix(blank + 1);
  }
  return out += text;
}

std::shared_ptr<CLI::Formatter> help_layout() {
  auto layout = std::make_shared<CLI::Formatter>();
  layout->column_width(26);
  layout->label("REQUIRED", "");
  layout->label("Positionals", "Arguments");
  layout->label("TEXT", "");
  return layout;
}

}  // namespace

Arguments::Arguments(std::string_view command, std::string_view about, std::string_view examples)
    : command_(command),
      app_(std::make_unique<CLI::App>(wrapped(about) + "\n", "varve " + std::string(command))) {
  app_->formatter(help_layout());
  app_->set_help_flag("-h,--help", "print this and exit");
  app_->option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::Throw);
  std::string footer = "Examples:\n";
  for (std::string_view rest = examples; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    footer += "  " + std::string(rest.substr(0, end)) + '\n';
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  footer.pop_back();
  app_->footer(footer);
}

Arguments::~Arguments() = default;

void Arguments::required(std::string_view name, std::string& value, std::string_view help) {
  app_->add_option(std::string(name), value, std::string(help))->required();
}

void Arguments::optional(std::string_view name, std::optional<std::string>& value,
                         std::string_view help) {
  app_->add_option(std::string(name), value, std::string(help));
}

void Arguments::one_or_more(std::string_view name, std::vector<std::string>& values,
                            std::string_view help) {
  app_->add_option(std::string(name), values, std::string(help))
      ->required()
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void Arguments::option(std::string_view names, std::string_view value_name,
                       std::optional<std::string>& value, std::string_view help) {
  app_->add_option(std::string(names), value, std::string(help))
      ->type_name(std::string(value_name));
}

void Arguments::required_option(std::string_view names, std::string_view value_name,
                                std::string& value, std::string_view help) {
  app_->add_option(std::string(names), value, std::string(help))
      ->required()
      ->type_name(std::string(value_name));
}

void Arguments::repeated_option(std::string_view names, std::string_view value_name,
                                std::vector<std::string>& values, std::string_view help) {
  app_->add_option(std::string(names), values, std::string(help))
      ->type_name(std::string(value_name))
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void Arguments::flag(std::string_view names, bool& value, std::string_view help) {
  app_->add_flag(std::string(names), value, std::string(help))
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

std::optional<int> Arguments::parse(Args args, Streams& streams) {
  // CLI11 takes them from the back.
  std::vector<std::string> reversed(args.rbegin(), args.rend());
  try {
    app_->parse(std::move(reversed));
    return std::nullopt;
  } catch (const CLI::CallForHelp&) {
    streams.out << app_->help();
    return kDone;
  } catch (const CLI::ParseError& error) {
    return wrong_usage(streams, command_, sentence_of(error));
  }
}

}  // namespace varve::tool
