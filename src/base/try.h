// Passing failures on without burying the work in if-statements.
//
//   VARVE_TRY(file.sync_data());
//   VARVE_ASSIGN(const std::uint64_t size, file.size());
//
// Both return the error from the enclosing function, which must return a Result.
#pragma once

#include <utility>

#include "varve/result.h"

#define VARVE_TRY(expression)                                                 \
  do {                                                                        \
    if (auto varve_try_result = (expression); !varve_try_result) [[unlikely]] \
      return std::move(varve_try_result).error();                             \
  } while (false)

#define VARVE_TRY_JOIN2(a, b) a##b
#define VARVE_TRY_JOIN(a, b) VARVE_TRY_JOIN2(a, b)
#define VARVE_ASSIGN(target, expression) \
  VARVE_ASSIGN_NAMED(VARVE_TRY_JOIN(varve_assign_result_, __LINE__), target, expression)
#define VARVE_ASSIGN_NAMED(name, target, expression) \
  auto name = (expression);                          \
  if (!name) [[unlikely]]                            \
    return std::move(name).error();                  \
  target = *std::move(name)
