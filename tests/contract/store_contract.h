// What every store must do, whatever its format.
//
// The cases are in the *_test.cpp files beside this one, by theme. A case that needs
// what a format cannot do checks instead that it is refused, and by name: nothing is
// skipped.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "contract/subject.h"
#include "crash/store_subject.h"

namespace varve::test {

// Everything that may change, to see that it did not.
struct Contents {
  std::uint64_t generation = 0;
  std::uint64_t tick = 0;
  std::optional<GeneratorId> generator;
  crash::Records records;

  friend bool operator==(const Contents&, const Contents&) = default;
};

Contents contents_of(const StoreView& view);

class StoreContract : public testing::TestWithParam<SubjectMaker> {
 protected:
  void SetUp() override;

  StoreSubject& subject() { return *subject_; }
  const Format& format() { return subject_->format(); }
  Store& store() { return *store_; }
  const std::string& path() const { return path_; }
  const Capabilities& can() const { return can_; }

  // Closes the store and opens it again.
  void reopen();
  void close();
  std::unique_ptr<Store> open(std::string_view path);
  std::unique_ptr<Store> create(std::string_view path);

  // A position the format takes; the same for the same numbers and no others.
  ChunkPos at(int x, int y = 0) const;
  // An owner for entities, saved already where the format wants that.
  ChunkPos owner(int x);
  // An owner, or none if an entity can do without.
  std::optional<ChunkPos> no_owner();
  Bytes payload(RecordKind kind, std::string_view text) const {
    return subject_->payload(kind, text);
  }
  ChunkChange chunk(const ChunkPos& pos, std::string_view text) const;
  EntityChange entity(EntityId id, std::optional<ChunkPos> owner, std::string_view text) const;
  NamedChange player(std::string name, std::string_view text) const;
  NamedChange global(std::string name, std::string_view text) const;

  // Commits at the store's tick, or later if the commit says so.
  Result<CommitStats> commit(Commit commit) { return commit_to(store(), std::move(commit)); }
  static Result<CommitStats> commit_to(Store& store, Commit commit);
  // The same where failure is the end of the test.
  CommitStats must(Commit commit);

  // Whether the case can go on. Where the format cannot do it, expects the commit to be
  // refused as unsupported and to change nothing.
  bool applies(bool supported, const Commit& commit);
  // Expects a refusal that says all of `words` and changes nothing.
  void expect_refused(const Commit& commit, ErrorCode code, std::vector<std::string> words);

 private:
  std::unique_ptr<StoreSubject> subject_;
  std::string path_;
  std::unique_ptr<Store> store_;
  Capabilities can_;
};

}  // namespace varve::test
