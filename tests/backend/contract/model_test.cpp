// Random batches beside a std::map.
//
// Invariants checked: after every batch the backend shows exactly what the model holds, through
// get, multi_get and ranges of any kind; a snapshot shows what the model held when it was taken,
// whatever came after; closing, and a crash after sync(), lose nothing.
#include <rapidcheck.h>

#include "backend/contract/backend_contract.h"

namespace varve::test {
namespace {

// Keys are few and alike, so that they meet: prefixes of each other, lowest and highest bytes.
std::string any_name(std::size_t size_min = 1) {
  const auto byte = rc::gen::element('\0', 'a', 'b', '\x7f', '\x80', '\xff');
  const auto size = *rc::gen::inRange<std::size_t>(size_min, 4);
  return *rc::gen::container<std::string>(size, byte);
}

Contents model_range(const Contents& model, const RangeQuery& query) {
  Contents range;
  for (const auto& [key, value] : model) {
    const bool is_in = key.starts_with(query.prefix.text()) && key >= query.from.text() &&
                       (!query.to || key < query.to->text());
    if (is_in) range.emplace(key, query.values ? value : "");
  }
  return range;
}

struct Held {
  std::unique_ptr<ReadView> view;
  Contents expected;
};

class ModelRun {
 public:
  // Names become keys with `lead` before them.
  ModelRun(BackendSubject& subject, std::string lead)
      : subject_(subject), lead_(std::move(lead)), backend_(subject.open().value()) {}

  void step() {
    switch (*rc::gen::inRange(0, 10)) {
      case 0:
        return reopen();
      case 1:
        return held_.push_back({backend_->snapshot().value(), model_});
      case 2:
        if (!held_.empty()) {
          held_.erase(held_.begin() + *rc::gen::inRange<std::ptrdiff_t>(0, std::ssize(held_)));
        }
        return;
      default:
        return write();
    }
  }

  void check() {
    check(*backend_, model_);
    for (const Held& held : held_) check(*held.view, held.expected);
    RC_ASSERT(backend_->stats().entry_count == model_.size());
  }

  void end() {
    held_.clear();
    RC_ASSERT(backend_->close().ok());
  }

 private:
  Bytes any_key(std::size_t size_min = 1) const {
    return Bytes::copy_of(lead_ + any_name(size_min));
  }

  void write() {
    WriteBatch batch;
    Contents next = model_;
    const int count = *rc::gen::inRange(0, 8);
    for (int i = 0; i < count; ++i) {
      const Bytes key = any_key();
      if (*rc::gen::inRange(0, 3) == 0) {
        batch.erase(key);
        next.erase(std::string(key.text()));
      } else {
        const std::string value(*rc::gen::inRange<std::size_t>(0, 30), *rc::gen::inRange('a', 'e'));
        batch.put(key, Bytes::copy_of(value));
        next[std::string(key.text())] = value;
      }
    }
    const std::uint64_t before = backend_->sequence();
    const WriteResult result = backend_->write(batch);
    RC_ASSERT(result.ok());
    RC_ASSERT(result.sequence() == backend_->sequence());
    RC_ASSERT(result.sequence() > before || (next == model_ && result.sequence() == before));
    model_ = std::move(next);
  }

  void reopen() {
    held_.clear();
    if (*rc::gen::arbitrary<bool>()) {
      RC_ASSERT(backend_->sync().ok());
      subject_.crash(std::move(backend_));
    } else {
      RC_ASSERT(backend_->close().ok());
      backend_.reset();
    }
    backend_ = subject_.open().value();
    if (!subject_.persists()) model_.clear();
  }

  RangeQuery any_query() const {
    RangeQuery query;
    if (*rc::gen::arbitrary<bool>()) query.prefix = any_key(0);
    if (*rc::gen::arbitrary<bool>()) query.from = any_key(0);
    if (*rc::gen::arbitrary<bool>()) query.to = any_key(0);
    query.count_max = *rc::gen::inRange<std::size_t>(1, 9);
    query.size_max = *rc::gen::inRange<std::uint64_t>(0, 60);
    query.values = *rc::gen::arbitrary<bool>();
    return query;
  }

  void check(const ReadView& view, const Contents& expected) const {
    RC_ASSERT(contents_of(view) == expected);
    const RangeQuery query = any_query();
    Contents range;
    for (const RangeEntry& entry : walk(view, query)) {
      RC_ASSERT(entry.value_size == expected.at(std::string(entry.key.text())).size());
      range.emplace(entry.key.text(), entry.value.value().text());
    }
    RC_ASSERT(range == model_range(expected, query));
    const std::vector<Bytes> keys{any_key(), any_key(), any_key()};
    const auto results = view.multi_get(keys);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const auto there = expected.find(std::string(keys[i].text()));
      const std::string text = there != expected.end() ? there->second : "(none)";
      RC_ASSERT(text_of(results.at(i)) == text);
      RC_ASSERT(text_of(view.get(keys[i])) == text);
    }
  }

  BackendSubject& subject_;
  const std::string lead_;
  std::unique_ptr<Backend> backend_;
  Contents model_;
  // Declared last: gone before the backend is.
  std::vector<Held> held_;
};

TEST_P(BackendContract, AgreesWithAModel) {
  const std::string lead(at("").text());
  const bool held = rc::check("the backend agrees with a std::map", [&] {
    const auto subject = GetParam().make();
    ModelRun run(*subject, lead);
    const int step_count = *rc::gen::inRange(1, 16);
    for (int i = 0; i < step_count; ++i) {
      run.step();
      run.check();
    }
    run.end();
  });
  EXPECT_TRUE(held);
}

}  // namespace
}  // namespace varve::test
