#include "varve/format.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "store/format_registry.h"
#include "support/scratch_dir.h"

namespace varve {
namespace {

// A format that knows one path, and cannot open it.
class OnePathFormat final : public Format {
 public:
  OnePathFormat(std::string name, std::string path)
      : name_(std::move(name)), path_(std::move(path)) {}
  std::string_view name() const override { return name_; }
  Result<bool> detect(std::string_view path) const override {
    if (path == "unreadable") return io_error("unreadable: no");
    return path == path_;
  }
  Result<std::unique_ptr<Store>> open(std::string_view) const override {
    return unsupported("opened by " + name_);
  }
  Result<std::unique_ptr<Store>> create(std::string_view) const override {
    return unsupported("no");
  }
  Status rename(std::string_view, std::string_view) const override { return {}; }
  Status remove(std::string_view) const override { return {}; }

 private:
  std::string name_;
  std::string path_;
};

Status add(std::string name, std::string path = "nowhere") {
  return register_format(std::make_unique<OnePathFormat>(std::move(name), std::move(path)));
}

TEST(Formats, MemoryIsThereFromTheStart) {
  const auto memory = find_format("memory");
  ASSERT_TRUE(memory);
  EXPECT_EQ((*memory)->name(), "memory");
  const auto all = formats();
  EXPECT_NE(std::find(all.begin(), all.end(), *memory), all.end());
}

TEST(Formats, AnUnknownOneIsRefusedWithTheListOfThoseThereAre) {
  const auto none = find_format("anvill");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code(), ErrorCode::not_found);
  EXPECT_NE(none.error().message().find("anvill"), std::string::npos);
  EXPECT_NE(none.error().message().find("memory"), std::string::npos);
}

TEST(Formats, ANameIsGivenOnce) {
  ASSERT_TRUE(add("given once"));
  const Status again = add("given once");
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code(), ErrorCode::invalid_argument);
  EXPECT_FALSE(add("memory"));
}

TEST(Formats, NamesThatCouldNotBeASchemeAreRefused) {
  EXPECT_FALSE(add(""));
  EXPECT_FALSE(add("a:b"));
  EXPECT_FALSE(add("a/b"));
  EXPECT_FALSE(register_format(nullptr));
}

TEST(Formats, TheyAreListedByName) {
  ASSERT_TRUE(add("listed z"));
  ASSERT_TRUE(add("listed a"));
  const auto all = formats();
  EXPECT_TRUE(std::is_sorted(all.begin(), all.end(),
                             [](const auto* a, const auto* b) { return a->name() < b->name(); }));
}

TEST(Formats, ThreadsMayRegisterAndLookUp) {
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      for (int i = 0; i < 50; ++i) {
        const std::string name = "threads " + std::to_string(t) + " " + std::to_string(i);
        EXPECT_TRUE(add(name));
        EXPECT_TRUE(find_format(name));
        EXPECT_TRUE(find_format("memory"));
      }
    });
  }
}

TEST(DetectFormat, ASchemeNamesTheFormat) {
  EXPECT_EQ(format_named_by("memory:arena"), *find_format("memory"));
  EXPECT_EQ(format_named_by("/a/path"), nullptr);
  EXPECT_EQ(format_named_by("nosuch:arena"), nullptr);
  const auto nothing = detect_format("memory:nobody made this");
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().code(), ErrorCode::not_found);
  const auto store = (*find_format("memory"))->create("memory:detected");
  ASSERT_TRUE(store);
  EXPECT_EQ(detect_format("memory:detected").value(), *find_format("memory"));
}

TEST(DetectFormat, TheFormatThatKnowsThePathIsFound) {
  ASSERT_TRUE(add("knows a path", "some/world"));
  const auto found = detect_format("some/world");
  ASSERT_TRUE(found);
  EXPECT_EQ((*found)->name(), "knows a path");
  EXPECT_EQ(open_store("some/world").error().message(), "opened by knows a path");
}

TEST(DetectFormat, NothingAndSomethingUnknownAreDifferent) {
  const test::ScratchDir dir;
  const auto nothing = detect_format(dir.file("nothing"));
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().code(), ErrorCode::not_found);
  const auto unknown = detect_format(dir.path());
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code(), ErrorCode::unsupported);
  EXPECT_NE(unknown.error().message().find(dir.path()), std::string::npos);
  EXPECT_NE(unknown.error().message().find("memory"), std::string::npos);
}

TEST(DetectFormat, AFormatThatCannotTellIsHeardOnlyIfNoOtherKnows) {
  ASSERT_TRUE(add("cannot tell", "x"));
  ASSERT_TRUE(add("can tell", "readable"));
  EXPECT_TRUE(detect_format("readable"));
  const auto failed = detect_format("unreadable");
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code(), ErrorCode::io);
}

TEST(OpenStore, OpensASaveInMemory) {
  {
    auto store = (*find_format("memory"))->create("memory:opened by path");
    ASSERT_TRUE(store);
    ASSERT_TRUE((*store)->close());
  }
  const auto store = open_store("memory:opened by path");
  ASSERT_TRUE(store);
  EXPECT_EQ((*store)->capabilities().format, "memory");
}

}  // namespace
}  // namespace varve
