#include "io/sim/paged_content.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

namespace varve::sim {
namespace {

std::string all_of(const PagedContent& content) {
  std::string out(content.size(), '?');
  EXPECT_EQ(content.read(0, std::as_writable_bytes(std::span(out))), out.size());
  return out;
}

TEST(PagedContent, ACopyIsUntouchedByLaterWrites) {
  PagedContent a;
  a.write(4090, as_byte_view("across the page"));
  const PagedContent b = a;
  a.write(4090, as_byte_view("ACROSS"));
  a.resize(4092);
  EXPECT_EQ(all_of(b).substr(4090), "across the page");
  EXPECT_EQ(all_of(a).substr(4090), "AC");
}

TEST(PagedContent, APageReferenceKeepsShowingThatMoment) {
  PagedContent content;
  content.write(0, as_byte_view("before"));
  const PageRef page = content.page(0);
  content.write(0, as_byte_view("after!"));
  EXPECT_EQ(as_text({page->data(), 6}), "before");
}

TEST(PagedContent, SectorsBeyondTheEndStayHiddenUntilTheSizeComes) {
  PagedContent content;
  std::array<std::byte, kSectorSize> sector;
  sector.fill(std::byte{'x'});
  content.put_sector(1, sector);
  EXPECT_EQ(content.size(), 0u);
  PagedContent lost = content;
  content.resize(514);
  EXPECT_EQ(all_of(content), std::string(512, '\0') + "xx");
  lost.resize(0);
  lost.resize(514);
  EXPECT_EQ(all_of(lost), std::string(514, '\0'));
}

// Against a plain string, over the edges of pages and leaves.
RC_GTEST_PROP(PagedContent, BehavesLikeAString, ()) {
  PagedContent content;
  std::string model;
  const int step_count = *rc::gen::inRange(1, 20);
  for (int i = 0; i < step_count; ++i) {
    const auto offset = *rc::gen::inRange<std::size_t>(0, 300'000);
    if (*rc::gen::inRange(0, 3) == 0) {
      content.resize(offset);
      model.resize(offset);
    } else {
      const std::string data(*rc::gen::inRange<std::size_t>(1, 20'000), static_cast<char>('a' + i));
      content.write(offset, as_byte_view(data));
      if (model.size() < offset + data.size()) model.resize(offset + data.size());
      model.replace(offset, data.size(), data);
    }
    RC_ASSERT(all_of(content) == model);
  }
}

}  // namespace
}  // namespace varve::sim
