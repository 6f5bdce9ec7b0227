// Files written by other programs, kept beside the project and not in it.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>

#include "varve/bytes.h"

namespace varve::test {

// Where the file `name` ("golden/nebula/world.ron") would be.
std::string shared_path(std::string_view name);

// Its contents; nullopt if it is not there.
std::optional<Bytes> read_shared(std::string_view name);

}  // namespace varve::test

// Reads a shared file into a new variable `var`, or skips the test saying why.
#define VARVE_SHARED_OR_SKIP(var, name)                                              \
  const auto var##_read = ::varve::test::read_shared(name);                          \
  if (!var##_read) GTEST_SKIP() << ::varve::test::shared_path(name) << " is absent"; \
  const ::varve::Bytes& var = *var##_read
