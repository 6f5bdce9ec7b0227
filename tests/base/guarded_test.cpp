#include "base/guarded.h"

#include <gtest/gtest.h>

namespace varve {
namespace {

// What a call that throws `thrown` comes to under the name "a call".
template <class Thrown>
Error guarded_throw(const Thrown& thrown) {
  const Status status = guarded(ErrorCode::io, "a call", [&]() -> Status { throw thrown; });
  EXPECT_FALSE(status);
  return status.error();
}

TEST(Guarded, WhatACallReturnsIsPassedOn) {
  EXPECT_EQ(*guarded(ErrorCode::io, "a call", []() -> Result<int> { return 7; }), 7);
  const auto refused =
      guarded(ErrorCode::io, "a call", []() -> Result<int> { return busy("not now"); });
  EXPECT_EQ(refused.error().code(), ErrorCode::busy);
  EXPECT_EQ(refused.error().message(), "not now");
  EXPECT_EQ(*or_out_of_memory([]() -> Result<int> { return 7; }), 7);
}

TEST(Guarded, WhatItThrowsBecomesAnErrorThatNamesTheCall) {
  const Error known = guarded_throw(std::runtime_error("why"));
  EXPECT_EQ(known.code(), ErrorCode::io);
  EXPECT_EQ(known.message(), "a call: it threw: why");
  const Error unknown = guarded_throw(7);
  EXPECT_EQ(unknown.code(), ErrorCode::io);
  EXPECT_EQ(unknown.message(), "a call: it threw something that is no std::exception");
  // A length is memory to us, and whatever the game means by it to the game.
  EXPECT_EQ(guarded_throw(std::length_error("too long")).message(), "a call: it threw: too long");
}

TEST(Guarded, MemoryThatRunsOutIsOutOfSpace) {
  const Error guarded_error = guarded_throw(std::bad_alloc());
  EXPECT_EQ(guarded_error.code(), ErrorCode::out_of_space);
  EXPECT_EQ(guarded_error.message(), "a call: out of memory");
  for (const bool is_length : {false, true}) {
    const Status status = or_out_of_memory([&]() -> Status {
      if (is_length) throw std::length_error("vector");
      throw std::bad_alloc();
    });
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code(), ErrorCode::out_of_space);
    EXPECT_EQ(status.error().message(), "out of memory");
  }
}

TEST(Guarded, ANameIsMadeOnlyForAnErrorAndMayFailToo) {
  int made_count = 0;
  const auto name = [&] {
    ++made_count;
    return std::string("a call");
  };
  EXPECT_TRUE(guarded(ErrorCode::io, name, []() -> Status { return {}; }));
  EXPECT_EQ(made_count, 0);
  const auto thrown = guarded(ErrorCode::io, name, []() -> Status { throw std::bad_alloc(); });
  EXPECT_EQ(thrown.error().message(), "a call: out of memory");
  EXPECT_EQ(made_count, 1);
  const auto starved = guarded(
      ErrorCode::io, []() -> std::string { throw std::bad_alloc(); },
      []() -> Status { throw std::runtime_error("why"); });
  EXPECT_EQ(starved.error().code(), ErrorCode::out_of_space);
  EXPECT_EQ(starved.error().message(), "out of memory");
}

}  // namespace
}  // namespace varve
