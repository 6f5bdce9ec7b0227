// What every backend must do, whatever it keeps its map on.
//
// The cases are in the *_test.cpp files beside this one, by theme. A case that needs what a backend
// cannot do checks instead that it does not: nothing is skipped. Cases keep to 40 bytes a
// key, 100 a value and 2000 a batch, and to keys that at() made, so that a backend may
// have limits as small as those.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/contract/subject.h"

namespace varve::test {

using Contents = std::map<std::string, std::string>;

// Everything a view shows, gathered page by page.
Contents contents_of(const ReadView& view);

// Pages of a query one after the other, as far as they go. Expects each of them to keep to the
// query's limits.
std::vector<RangeEntry> walk(const ReadView& view, RangeQuery query);

// "value" or "(none)" or the error, for comparing.
std::string text_of(const Result<std::optional<Bytes>>& result);

class BackendContract : public testing::TestWithParam<BackendSubjectMaker> {
 protected:
  void SetUp() override;
  void TearDown() override;

  BackendSubject& subject() { return *subject_; }
  Backend& backend() { return *backend_; }
  const BackendTraits& traits() const { return backend_->traits(); }

  // Closes the backend and opens it again.
  void reopen();
  // Opens it again after it ended without a word.
  void crash_and_reopen();

  // A key; the same for the same names, and in their order. Where a backend writes only such
  // keys at once that begin alike, all of these do.
  Bytes at(std::string_view name) const;

  // nullopt erases.
  struct Change {
    std::string_view name;
    std::optional<std::string_view> text;
  };
  WriteBatch batch(const std::vector<Change>& changes) const;
  // Writes, where failure is the end of the test. Returns the sequence.
  std::uint64_t must(const WriteBatch& batch);
  std::uint64_t must(const std::vector<Change>& changes) { return must(batch(changes)); }
  // What is at `name`: see text_of().
  std::string text_at(const ReadView& view, std::string_view name) const;
  std::string text_at(std::string_view name) const { return text_at(*backend_, name); }
  // The names of what a query shows, in one walk.
  std::vector<std::string> names(const RangeQuery& query) const;
  // Contents with keys that at() makes of the names.
  Contents contents(const std::map<std::string, std::string>& by_name) const;

  // Expects a refusal that says all of `words` and changes nothing.
  void expect_refused(const WriteBatch& batch, const std::vector<std::string>& words);

 private:
  std::unique_ptr<BackendSubject> subject_;
  std::unique_ptr<Backend> backend_;
};

// Expects invalid_argument, in these words.
template <class Outcome>
void expect_invalid(const Outcome& result, const std::vector<std::string>& words = {}) {
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), ErrorCode::invalid_argument) << result.error().message();
  for (const std::string& word : words) {
    EXPECT_NE(result.error().message().find(word), std::string::npos)
        << "'" << word << "' is not in: " << result.error().message();
  }
}

}  // namespace varve::test
