// The edge where exceptions end. Code a game brings (generators, chunk types, callbacks)
// may throw, and memory may run out; both become errors of the call they belong to.
#pragma once

#include <exception>
#include <new>
#include <string>
#include <type_traits>
#include <utility>

#include "varve/result.h"

namespace varve {

// What `fn` returns, a Result; what it throws as an error of `code`: "what: it threw: why".
// `what` is text, or a function that makes it where making it costs something.
template <class What, class Fn>
std::invoke_result_t<Fn> guarded(ErrorCode code, const What& what, Fn&& fn) {
  const auto text = [&] {
    if constexpr (std::is_invocable_v<const What&>) {
      return std::string(what());
    } else {
      return std::string(what);
    }
  };
  try {
    return std::forward<Fn>(fn)();
  } catch (const std::bad_alloc&) {
  } catch (const std::exception& thrown) {
    try {
      return Error(code, text() + ": it threw: " + thrown.what());
    } catch (...) {  // there is no memory for the words
    }
  } catch (...) {
    try {
      return Error(code, text() + ": it threw something that is no std::exception");
    } catch (...) {
    }
  }
  try {
    return out_of_space(text() + ": out of memory");
  } catch (...) {
    return out_of_space("out of memory");  // short enough to need none
  }
}

}  // namespace varve
