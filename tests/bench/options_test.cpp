#include "harness/options.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <vector>

namespace varve::bench {
namespace {

Result<Options> parse(std::initializer_list<const char*> arguments) {
  const std::vector<std::string> known = {"save5", "reads"};
  return parse_options({arguments.begin(), arguments.size()}, known);
}

TEST(BenchOptions, NothingMeansEverything) {
  const Result<Options> options = parse({});
  ASSERT_TRUE(options);
  EXPECT_TRUE(options->workloads.empty());
  EXPECT_FALSE(options->quick);
  EXPECT_EQ(options->round_count, 0u);
}

TEST(BenchOptions, OptionsAndWorkloadsMix) {
  const Result<Options> options =
      parse({"reads", "--quick", "--dir", "d", "--rounds", "7", "--json", "out.json", "save5"});
  ASSERT_TRUE(options);
  EXPECT_TRUE(options->quick);
  EXPECT_EQ(options->dir, "d");
  EXPECT_EQ(options->json_path, "out.json");
  EXPECT_EQ(options->round_count, 7u);
  EXPECT_EQ(options->workloads, (std::vector<std::string>{"reads", "save5"}));
}

std::string message_of(std::initializer_list<const char*> arguments) {
  const Result<Options> options = parse(arguments);
  return options ? "" : options.error().message();
}

TEST(BenchOptions, MistakesAreOneSentence) {
  EXPECT_EQ(message_of({"--fast"}), "unknown option '--fast'; --help lists the options");
  EXPECT_EQ(message_of({"savage"}), "unknown workload 'savage'; there are save5, reads");
  EXPECT_EQ(message_of({"--dir"}), "--dir needs a value");
  for (const char* const bad : {"0", "-1", "ten", "3x", "", "99999999"}) {
    EXPECT_EQ(message_of({"--rounds", bad}),
              std::string("--rounds takes a number from 1 to 1000000, not '") + bad + "'");
  }
}

}  // namespace
}  // namespace varve::bench
