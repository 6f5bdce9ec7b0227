#include "backend/batch_check.h"

#include <gtest/gtest.h>

namespace varve {
namespace {

BackendTraits narrow() {
  BackendTraits traits;
  traits.name = "narrow";
  traits.key_size_max = 8;
  traits.value_size_max = 10;
  traits.batch_size_max = 30;
  return traits;
}

Bytes text(std::string_view text) { return Bytes::copy_of(text); }

void expect_refused(const Status& status, std::string_view message) {
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code(), ErrorCode::invalid_argument);
  EXPECT_EQ(status.error().message(), message);
}

TEST(BatchCheck, AKeyHasOneToSoManyBytes) {
  EXPECT_TRUE(check_key(narrow(), as_byte_view("k")));
  EXPECT_TRUE(check_key(narrow(), as_byte_view("12345678")));
  expect_refused(check_key(narrow(), as_byte_view("123456789")),
                 "key \"123456789\" has 9 bytes; the backend narrow takes keys of 1 to 8");
  expect_refused(check_key(narrow(), ByteView()),
                 "key \"\" has 0 bytes; the backend narrow takes keys of 1 to 8");
}

TEST(BatchCheck, EveryChangeIsChecked) {
  WriteBatch batch;
  EXPECT_TRUE(check_batch(narrow(), batch));
  batch.put(as_byte_view("good"), text("1234567890"));
  batch.erase(as_byte_view("gone"));
  EXPECT_TRUE(check_batch(narrow(), batch));
  WriteBatch with_key = batch;
  with_key.erase(as_byte_view("123456789"));
  expect_refused(check_batch(narrow(), with_key),
                 "key \"123456789\" has 9 bytes; the backend narrow takes keys of 1 to 8");
  batch.put(as_byte_view("large"), text("12345678901"));
  expect_refused(check_batch(narrow(), batch),
                 "the value of key \"large\" has 11 bytes; the backend narrow takes values of at "
                 "most 10");
}

TEST(BatchCheck, ABatchHasAtMostSoManyBytes) {
  WriteBatch batch;
  batch.put(as_byte_view("12345"), text("1234567890"));
  batch.put(as_byte_view("12345"), text("1234567890"));
  EXPECT_EQ(batch.size(), 30u);
  EXPECT_TRUE(check_batch(narrow(), batch));
  batch.erase(as_byte_view("e"));
  expect_refused(check_batch(narrow(), batch),
                 "the batch of 3 changes that begins with key \"12345\" has 31 bytes; the backend "
                 "narrow takes batches of at most 30");
}

TEST(BatchCheck, KeysAreWrittenTogetherThatAgreeInTheirFirstBytes) {
  const auto check = [](std::string_view first, std::string_view second) {
    BackendTraits traits = narrow();
    traits.atomic_scope = AtomicScope::prefix;
    traits.atomic_prefix_size = 2;
    WriteBatch batch;
    batch.put(as_byte_view(first), Bytes());
    batch.erase(as_byte_view(second));
    return check_batch(traits, batch);
  };
  EXPECT_TRUE(check("ab1", "ab2"));
  EXPECT_TRUE(check("ab", "abc"));
  EXPECT_TRUE(check("a", "a"));
  EXPECT_FALSE(check("a", "ab"));
  EXPECT_FALSE(check("ab", "a"));
  expect_refused(
      check("ab1", "ac1"),
      "keys \"ab1\" and \"ac1\" are in one batch; the backend narrow takes keys together "
      "only if they agree in their first 2 bytes");
}

TEST(BatchCheck, AnyKeysAreWrittenTogetherOtherwise) {
  WriteBatch batch;
  batch.put(as_byte_view("a"), Bytes());
  batch.put(as_byte_view("b"), Bytes());
  EXPECT_TRUE(check_batch(narrow(), batch));
}

TEST(BatchCheck, KeysAreShownAsTextOrInHex) {
  EXPECT_EQ(printable_key(as_byte_view("chunk/1 ~")), "\"chunk/1 ~\"");
  EXPECT_EQ(printable_key(as_byte_view(std::string_view("a\0\xff", 3))), "0x6100ff");
  EXPECT_EQ(printable_key(as_byte_view("\x7f")), "0x7f");
  EXPECT_EQ(printable_key(as_byte_view("a\n")), "0x610a");
  const std::string exact(32, 'k');
  EXPECT_EQ(printable_key(as_byte_view(exact)), "\"" + exact + "\"");
  EXPECT_EQ(printable_key(as_byte_view(exact + "k")), "\"" + exact + "\"...");
  std::string hex = "0x";
  for (int i = 0; i < 32; ++i) hex += "6b";
  EXPECT_EQ(printable_key(as_byte_view(exact + "\xff")), hex + "...");
}

TEST(BatchCheck, AClosedBackendSaysSoByName) {
  const Error error = closed_error(narrow());
  EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
  EXPECT_EQ(error.message(), "the backend narrow is closed");
}

}  // namespace
}  // namespace varve
