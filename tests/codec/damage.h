// Damage done to encoded bytes, one piece at a time.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <string>

#include "varve/bytes.h"

namespace varve::test {

// Calls check(cut) for every proper prefix, each in a block of its own so that a
// read past its end is seen by the sanitizer.
template <class Check>
void for_every_prefix(ByteView whole, Check check) {
  for (std::size_t size = 0; size < whole.size(); ++size) {
    SCOPED_TRACE("cut to " + std::to_string(size) + " of " + std::to_string(whole.size()));
    check(Bytes::copy_of(whole.first(size)));
    if (testing::Test::HasFailure()) return;
  }
}

// Calls check(flipped) for every single flipped bit.
template <class Check>
void for_every_bit_flip(ByteView whole, Check check) {
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    SCOPED_TRACE("bit " + std::to_string(bit % 8) + " of byte " + std::to_string(bit / 8));
    Buffer flipped = Bytes::copy_of(whole).clone();
    flipped.span()[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
    check(std::move(flipped).freeze());
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace varve::test
