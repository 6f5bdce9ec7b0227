#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "base/try.h"
#include "varve/result.h"
#include "varve/version.h"

namespace varve {
namespace {

TEST(Error, MakersCarryTheirCodeAndMessage) {
  const std::pair<Error, std::string_view> all[] = {
      {not_found("m"), "not_found"},
      {corruption("m"), "corruption"},
      {unsupported("m"), "unsupported"},
      {invalid_argument("m"), "invalid_argument"},
      {io_error("m"), "io"},
      {busy("m"), "busy"},
      {out_of_space("m"), "out_of_space"},
      {cancelled("m"), "cancelled"},
  };
  for (const auto& [error, name] : all) {
    EXPECT_EQ(to_string(error.code()), name);
    EXPECT_EQ(error.message(), "m");
  }
}

TEST(Error, ContextStandsBeforeTheMessage) {
  const Error inner = corruption("crc 12 is not 34");
  const Error outer = inner.with_context("saves/a/world.ron");
  EXPECT_EQ(outer.code(), ErrorCode::corruption);
  EXPECT_EQ(outer.message(), "saves/a/world.ron: crc 12 is not 34");
}

Result<int> half_of_even(int n) {
  if (n % 2 != 0) return invalid_argument("odd");
  return n / 2;
}
Result<int> quarter(int n) {
  VARVE_ASSIGN(const int half, half_of_even(n));
  VARVE_ASSIGN(const int result, half_of_even(half));
  return result;
}
Status check_divisible_by_four(int n) {
  VARVE_TRY(quarter(n));
  return {};
}

TEST(Result, ErrorsPassThroughTheMacros) {
  EXPECT_EQ(quarter(8).value(), 2);
  EXPECT_EQ(quarter(6).error().message(), "odd");
  EXPECT_TRUE(check_divisible_by_four(4).ok());
  EXPECT_EQ(check_divisible_by_four(3).error().code(), ErrorCode::invalid_argument);
}

TEST(Result, HoldsWhatCanOnlyBeMoved) {
  const auto make = []() -> Result<std::unique_ptr<int>> { return std::make_unique<int>(7); };
  const auto pass = [&]() -> Result<std::unique_ptr<int>> {
    VARVE_ASSIGN(auto owned, make());
    return owned;
  };
  EXPECT_EQ(**pass(), 7);
}

TEST(Version, OfTheLibraryIsThatOfTheHeaders) {
  EXPECT_EQ(version(), std::to_string(VARVE_VERSION_MAJOR) + "." +
                           std::to_string(VARVE_VERSION_MINOR) + "." +
                           std::to_string(VARVE_VERSION_PATCH));
}

}  // namespace
}  // namespace varve
