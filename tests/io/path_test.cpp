#include "io/path.h"

#include <gtest/gtest.h>

namespace varve {
namespace {

TEST(Path, JoinDoesNotDoubleTheSlash) {
  EXPECT_EQ(path_join("a", "b"), "a/b");
  EXPECT_EQ(path_join("a/", "b"), "a/b");
  EXPECT_EQ(path_join("/", "b"), "/b");
  EXPECT_EQ(path_join("", "b"), "b");
}

TEST(Path, ParentAndName) {
  const struct {
    const char *path, *parent, *name;
  } cases[] = {
      {"a/b", "a", "b"},      {"b", ".", "b"},    {"/b", "/", "b"}, {"a/b/", "a", "b"},
      {"/", "/", "/"},        {"a//b", "a", "b"}, {"", ".", ""},    {"my.world", ".", "my.world"},
      {"/a/b/c", "/a/b", "c"}};
  for (const auto& c : cases) {
    EXPECT_EQ(path_parent(c.path), c.parent) << c.path;
    EXPECT_EQ(path_name(c.path), c.name) << c.path;
  }
}

}  // namespace
}  // namespace varve
