// The edge where exceptions end: nothing throws across the API.
#pragma once

#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "varve/result.h"

namespace varve {

// For our own code, which throws only where memory runs out: what `fn` returns, a Result, or
// out_of_space. The message is short enough to need no memory itself.
template <class Fn>
std::invoke_result_t<Fn> or_out_of_memory(Fn&& fn) {
  try {
    return std::forward<Fn>(fn)();
  } catch (const std::bad_alloc&) {
    return out_of_space("out of memory");
  } catch (const std::length_error&) {
    return out_of_space("out of memory");
  }
}

// For code a game brings (generators, chunk types, callbacks), which may throw anything:
// that becomes an error of `code`, "what: it threw: why". `what` is text, or a function that
// makes it where making it costs something.
template <class What, class Fn>
std::invoke_result_t<Fn> guarded(ErrorCode code, const What& what, Fn&& fn) {
  const auto fail = [&](ErrorCode as, std::string_view how, std::string_view why = {}) {
    return or_out_of_memory([&]() -> std::invoke_result_t<Fn> {
      std::string message;
      if constexpr (std::is_invocable_v<const What&>) {
        message = what();
      } else {
        message = what;
      }
      return Error(as, message.append(": ").append(how).append(why));
    });
  };
  try {
    return std::forward<Fn>(fn)();
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::out_of_space, "out of memory");
  } catch (const std::exception& thrown) {
    return fail(code, "it threw: ", thrown.what());
  } catch (...) {
    return fail(code, "it threw something that is no std::exception");
  }
}

}  // namespace varve
