#include "base/chained_hash.h"

#include <gtest/gtest.h>

#include <string>

#include "base/byte_writer.h"
#include "varve/checksum.h"

namespace varve {
namespace {

// As the format pages say it: the hash of the head and the hash of the rest, one behind the other.
TEST(ChainedHash, IsThatOfTheHeadAndTheHashOfTheRest) {
  std::string text;
  for (int i = 0; i < 1'000; ++i) text += static_cast<char>(i * 131 >> 3);
  for (const std::size_t head_size : {0, 1, 8, 15, 16}) {
    for (const std::size_t rest_size : {0, 1, 16, 17, 240, 241, 900}) {
      const ByteView head = as_byte_view(text).first(head_size);
      const HashedBytes rest(Bytes::copy_of(as_byte_view(text).subspan(head_size, rest_size)));
      EXPECT_EQ(rest.hash(), xxh3(rest.bytes()));
      ByteWriter both;
      both.bytes(head);
      both.u64_le(rest.hash());
      for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{0x1234'5678'9abc'def0}}) {
        EXPECT_EQ(chained_hash(head, rest.hash(), seed), xxh3(both.view(), seed))
            << head_size << " and " << rest_size;
      }
    }
  }
}

}  // namespace
}  // namespace varve
