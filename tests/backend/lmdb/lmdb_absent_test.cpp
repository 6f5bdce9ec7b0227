// A build without LMDB.
#include <gtest/gtest.h>

#include "varve/backend.h"

namespace varve::test {
namespace {

TEST(LmdbAbsent, BothCallsSayWhatToDo) {
  EXPECT_FALSE(has_lmdb_backend());
  for (const auto& opened : {open_lmdb_backend("x"), open_lmdb_backend_to_read("x")}) {
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code(), ErrorCode::unsupported);
    EXPECT_NE(opened.error().message().find("VARVE_LMDB"), std::string::npos);
  }
}

TEST(LmdbAbsent, EverythingElse) {
  GTEST_SKIP() << "this build has no LMDB: the contract and the tests of its backend are not run";
}

}  // namespace
}  // namespace varve::test
