// Nothing throws across the API, and memory may run out anywhere below it.
#pragma once

#include <new>
#include <stdexcept>
#include <utility>

#include "varve/result.h"

namespace varve {

// What `call` returns, or out_of_space if memory ran out in it. The message is short
// enough to need no memory itself.
template <class Call>
auto or_out_of_memory(Call&& call) -> decltype(call()) {
  try {
    return std::forward<Call>(call)();
  } catch (const std::bad_alloc&) {
    return out_of_space("out of memory");
  } catch (const std::length_error&) {
    return out_of_space("out of memory");
  }
}

}  // namespace varve
