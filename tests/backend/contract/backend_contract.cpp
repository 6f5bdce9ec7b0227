#include "backend/contract/backend_contract.h"

namespace varve::test {

namespace {

void expect_within_limits(const RangePage& page, const RangeQuery& query) {
  EXPECT_LE(page.entries.size(), query.count_max);
  std::uint64_t size = 0;
  for (std::size_t i = 0; i < page.entries.size(); ++i) {
    EXPECT_FALSE(query.values && i > 0 && size >= query.size_max) << "the page was full before";
    size += page.entries[i].value_size;
  }
  const bool is_full =
      page.entries.size() == query.count_max || (query.values && size >= query.size_max);
  EXPECT_TRUE(is_full || !page.next) << "the page ended before it was full";
}

}  // namespace

std::vector<RangeEntry> walk(const ReadView& view, RangeQuery query) {
  std::vector<RangeEntry> entries;
  for (;;) {
    auto page = view.range(query);
    EXPECT_TRUE(page) << page.error().message();
    if (!page) return entries;
    expect_within_limits(*page, query);
    for (RangeEntry& entry : page->entries) {
      EXPECT_TRUE(entries.empty() || entries.back().key.text() < entry.key.text());
      entries.push_back(std::move(entry));
    }
    if (!page->next) return entries;
    EXPECT_GT(page->next->text(), query.from.text()) << "it does not move on";
    if (page->next->text() <= query.from.text()) return entries;
    query.from = *page->next;
  }
}

Contents contents_of(const ReadView& view) {
  Contents contents;
  for (const RangeEntry& entry : walk(view, {.count_max = 7})) {
    EXPECT_TRUE(entry.value) << entry.value.error().message();
    if (!entry.value) continue;
    EXPECT_EQ(entry.value_size, entry.value->size());
    contents.emplace(entry.key.text(), entry.value->text());
  }
  return contents;
}

std::string text_of(const Result<std::optional<Bytes>>& result) {
  if (!result) return result.error().message();
  return *result ? std::string((*result)->text()) : "(none)";
}

void BackendContract::SetUp() {
  subject_ = GetParam().make();
  auto opened = subject_->open();
  ASSERT_TRUE(opened) << opened.error().message();
  backend_ = *std::move(opened);
  ASSERT_NE(backend_, nullptr);
}

void BackendContract::TearDown() {
  if (backend_ == nullptr) return;
  const Status closed = backend_->close();
  EXPECT_TRUE(closed) << closed.error().message();
}

void BackendContract::reopen() {
  const Status closed = backend_->close();
  ASSERT_TRUE(closed) << closed.error().message();
  backend_.reset();
  auto opened = subject_->open();
  ASSERT_TRUE(opened) << opened.error().message();
  backend_ = *std::move(opened);
}

void BackendContract::crash_and_reopen() {
  subject_->crash(std::move(backend_));
  auto opened = subject_->open();
  ASSERT_TRUE(opened) << opened.error().message();
  backend_ = *std::move(opened);
}

Bytes BackendContract::at(std::string_view name) const {
  const bool begin_alike = traits().atomic_scope == AtomicScope::prefix;
  return Bytes::copy_of(
      std::string(begin_alike ? traits().atomic_prefix_size : 0, 'p').append(name));
}

WriteBatch BackendContract::batch(const std::vector<Change>& changes) const {
  WriteBatch batch;
  for (const Change& change : changes) {
    if (change.text) {
      batch.put(at(change.name), Bytes::copy_of(*change.text));
    } else {
      batch.erase(at(change.name));
    }
  }
  return batch;
}

std::uint64_t BackendContract::must(const WriteBatch& batch) {
  const WriteResult result = backend_->write(batch);
  EXPECT_TRUE(result) << result.error().message();
  EXPECT_EQ(result.outcome(), WriteOutcome::done);
  return result.sequence();
}

std::string BackendContract::text_at(const ReadView& view, std::string_view name) const {
  return text_of(view.get(at(name)));
}

std::vector<std::string> BackendContract::names(const RangeQuery& query) const {
  std::vector<std::string> names;
  const std::size_t lead_size = at("").size();
  for (const RangeEntry& entry : walk(*backend_, query)) {
    names.emplace_back(entry.key.text().substr(lead_size));
  }
  return names;
}

Contents BackendContract::contents(const std::map<std::string, std::string>& by_name) const {
  Contents contents;
  for (const auto& [name, text] : by_name) contents.emplace(at(name).text(), text);
  return contents;
}

void BackendContract::expect_refused(const WriteBatch& batch,
                                     const std::vector<std::string>& words) {
  const Contents before = contents_of(backend());
  const std::uint64_t sequence = backend().sequence();
  const WriteResult result = backend().write(batch);
  expect_invalid(result, words);
  EXPECT_EQ(result.outcome(), WriteOutcome::failed);
  EXPECT_EQ(backend().sequence(), sequence);
  EXPECT_EQ(contents_of(backend()), before);
}

INSTANTIATE_TEST_SUITE_P(Backends, BackendContract, testing::ValuesIn(all_backend_subjects()),
                         [](const auto& each) { return each.param.name; });

}  // namespace varve::test
