// Files that are no LMDB files, no longer whole, or not as they were written.
#include <lmdb.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>

#include "backend/lmdb/lmdb_records.h"
#include "backend/lmdb/lmdb_sample.h"
#include "backend/log/child.h"
#include "support/scratch_dir.h"

namespace varve::test {
namespace {

namespace fs = std::filesystem;

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// A folder with one data.mdb of these bytes.
class Folder {
 public:
  explicit Folder(std::string_view bytes) {
    fs::create_directory(path());
    std::ofstream(data(), std::ios::binary) << bytes;
  }
  std::string path() const { return dir_.file("lmdb"); }
  std::string data() const { return path() + "/data.mdb"; }

 private:
  ScratchDir dir_;
};

void expect_refused(std::string_view bytes, ErrorCode code, std::string_view words) {
  const Folder folder(bytes);
  const auto written = open_lmdb_backend(folder.path());
  ASSERT_FALSE(written);
  expect_words(written.error(), code, words);
  const auto read = open_lmdb_backend_to_read(folder.path());
  ASSERT_FALSE(read);
  expect_words(read.error(), code, words);
  EXPECT_EQ(read_file(folder.data()), bytes) << "it was changed";
}

// The file after some batches, closed.
std::string made_file(std::uint64_t batch_count) {
  const ScratchDir dir;
  const auto backend = open_lmdb_backend(dir.file("lmdb")).value();
  for (std::uint64_t n = 1; n <= batch_count; ++n) EXPECT_TRUE(backend->write(history_batch(n)));
  EXPECT_TRUE(backend->close());
  return read_file(dir.file("lmdb/data.mdb"));
}

TEST(LmdbDamage, WhatIsNoLmdbFileIsRefusedAndLeftAlone) {
  expect_refused("", ErrorCode::corruption, "data.mdb");
  expect_refused("a text that somebody put here", ErrorCode::corruption, "data.mdb");
  expect_refused(std::string(100'000, '\0'), ErrorCode::corruption, "no head of an LMDB file");
  expect_refused(text_of(100'000, 1), ErrorCode::corruption, "no head of an LMDB file");
}

TEST(LmdbDamage, AnotherVersionOfLmdbIsNamed) {
  std::string bytes = made_file(3);
  bytes[20] = 2;
  expect_refused(bytes, ErrorCode::unsupported, "version 2");
}

TEST(LmdbDamage, AHeadThatIsNotOneIsRefused) {
  const std::string good = made_file(3);
  for (const std::size_t head : {std::size_t{0}, std::size_t{4096}}) {
    std::string bytes = good;
    bytes[head + 16] ^= 1;
    expect_refused(bytes, ErrorCode::corruption, fmt::format("at offset {}", head));
  }
  // What LMDB divides by, and what it multiplies with.
  for (const std::uint32_t page_size : {0u, 1u, 5000u, 0x80000000u, 8192u}) {
    std::string bytes = good;
    std::memcpy(bytes.data() + 40, &page_size, sizeof page_size);
    const Folder folder(bytes);
    EXPECT_EQ(open_lmdb_backend(folder.path()).error().code(), ErrorCode::corruption);
  }
  for (const std::uint64_t last_page : {~std::uint64_t{0}, ~std::uint64_t{0} / 4096,
                                        std::uint64_t{1} << 52, std::uint64_t{1} << 40}) {
    std::string bytes = good;
    for (const std::size_t head : {std::size_t{0}, std::size_t{4096}}) {
      std::memcpy(bytes.data() + head + 136, &last_page, sizeof last_page);
    }
    const Folder folder(bytes);
    const auto opened = open_lmdb_backend(folder.path());
    if (opened) {
      // A file that claims more than it has, with nothing lacking.
      EXPECT_EQ(contents_of(**opened).value(), history_after(3));
    }
    EXPECT_FALSE(open_lmdb_backend_to_read(folder.path()));
  }
}

TEST(LmdbDamage, AFileThatWasCutAnywhereIsRefusedOrWhole) {
  constexpr std::uint64_t kBatchCount = 30;
  const std::string bytes = made_file(kBatchCount);
  const Contents expected = history_after(kBatchCount);
  int refused_count = 0;
  int whole_count = 0;
  for (std::size_t size = 0; size < bytes.size(); size += size % 4096 == 0 ? 1000 : 3096) {
    SCOPED_TRACE(size);
    const Folder folder(std::string_view(bytes).substr(0, size));
    const auto backend = open_lmdb_backend(folder.path());
    if (!backend) {
      EXPECT_EQ(backend.error().code(), ErrorCode::corruption) << backend.error().message();
      EXPECT_EQ(fs::file_size(folder.data()), size) << "it was changed";
      ++refused_count;
      continue;
    }
    // Only pages nobody uses were lacking.
    EXPECT_EQ(contents_of(**backend).value(), expected);
    EXPECT_TRUE((*backend)->verify()->empty());
    EXPECT_TRUE((*backend)->write(history_batch(kBatchCount + 1)));
    EXPECT_EQ(contents_of(**backend).value(), history_after(kBatchCount + 1));
    ++whole_count;
  }
  std::cout << refused_count << " refused, " << whole_count << " whole\n";
  EXPECT_GT(refused_count, 20);
  const Folder cut(std::string_view(bytes).substr(0, bytes.size() / 2));
  expect_words(open_lmdb_backend_to_read(cut.path()).error(), ErrorCode::corruption, "cut off");
}

TEST(LmdbDamage, PagesThatOneBatchTookAndGaveBackDoNotMakeAFileLookCut) {
  const ScratchDir dir;
  const std::string data = dir.file("lmdb/data.mdb");
  auto backend = open_lmdb_backend(dir.file("lmdb")).value();
  // There are free pages then for all that the next batch really writes.
  for (int i = 0; i < 6; ++i) ASSERT_TRUE(backend->write(one("a", "1")));
  const std::uintmax_t size_before = fs::file_size(data);
  WriteBatch passing = one("b", text_of(4 << 20, 1));
  passing.erase(as_byte_view("b"));
  ASSERT_TRUE(backend->write(passing));
  // Beside a writer as well as after it.
  EXPECT_EQ(value_at(*open_lmdb_backend_to_read(dir.file("lmdb")).value(), "a"), "1");
  ASSERT_TRUE(backend->close());
  EXPECT_EQ(value_at(*open_lmdb_backend_to_read(dir.file("lmdb")).value(), "a"), "1");
  const std::uintmax_t size = fs::file_size(data);
  ASSERT_GT(size, size_before + (4 << 20));
  // The writer was killed before it brought the file to its length.
  fs::resize_file(data, size_before);
  expect_words(open_lmdb_backend_to_read(dir.file("lmdb")).error(), ErrorCode::corruption,
               "opening it to write");
  const auto again = open_lmdb_backend(dir.file("lmdb"));
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(value_at(**again, "a"), "1");
  EXPECT_EQ(fs::file_size(data), size);
}

// Of three values one is good, whichever way they are read.
void expect_only_good(const ReadView& view) {
  expect_words(view.get(as_byte_view("large")).error(), ErrorCode::corruption, "large");
  expect_words(view.get(as_byte_view("small")).error(), ErrorCode::corruption, "small");
  EXPECT_EQ(view.get(as_byte_view("good")).value()->text(), "a good value");
  const std::vector<Bytes> keys = {Bytes::copy_of("good"), Bytes::copy_of("large"),
                                   Bytes::copy_of("small")};
  const auto got = view.multi_get(keys);
  const RangePage page = view.range({}).value();
  ASSERT_EQ(got.size(), 3u);
  ASSERT_EQ(page.entries.size(), 3u);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    EXPECT_EQ(got[i].has_value(), i == 0) << keys[i].text();
    EXPECT_EQ(page.entries[i].value.has_value(), i == 0) << keys[i].text();
  }
}

// What stands under one key is moved under another: whole, and of the same size.
TEST(LmdbDamage, ValuesThatChangedPlacesAreDamaged) {
  const ScratchDir dir;
  const std::string data = dir.file("lmdb/data.mdb");
  {
    const auto backend = open_lmdb_backend(dir.file("lmdb")).value();
    WriteBatch batch = one("a", text_of(700, 1));
    batch.put(as_byte_view("b"), Bytes::copy_of(text_of(700, 2)));
    ASSERT_TRUE(backend->write(batch));
    ASSERT_TRUE(backend->close());
  }
  std::string bytes = read_file(data);
  const std::size_t first = bytes.find(text_of(700, 1)) - lmdb::kSealSize;
  const std::size_t second = bytes.find(text_of(700, 2)) - lmdb::kSealSize;
  std::swap_ranges(bytes.begin() + static_cast<std::ptrdiff_t>(first),
                   bytes.begin() + static_cast<std::ptrdiff_t>(first + lmdb::kSealSize + 700),
                   bytes.begin() + static_cast<std::ptrdiff_t>(second));
  std::ofstream(data, std::ios::binary) << bytes;
  const auto backend = open_lmdb_backend(dir.file("lmdb")).value();
  for (const char* key : {"a", "b"}) {
    expect_words(backend->get(as_byte_view(key)).error(), ErrorCode::corruption, "checksum");
  }
}

TEST(LmdbDamage, ADamagedValueCostsItselfAlone) {
  const ScratchDir dir;
  const std::string data = dir.file("lmdb/data.mdb");
  {
    const auto backend = open_lmdb_backend(dir.file("lmdb")).value();
    WriteBatch batch = one("large", text_of(20'000, 1));
    batch.put(as_byte_view("small"), Bytes::copy_of("a small value"));
    batch.put(as_byte_view("good"), Bytes::copy_of("a good value"));
    ASSERT_TRUE(backend->write(batch));
    ASSERT_TRUE(backend->close());
  }
  std::string bytes = read_file(data);
  bytes[bytes.find(text_of(20'000, 1)) + 15'000] ^= 4;
  bytes[bytes.find("a small value") + 3] ^= 4;
  std::ofstream(data, std::ios::binary) << bytes;
  {
    const auto reader = open_lmdb_backend_to_read(dir.file("lmdb")).value();
    expect_only_good(*reader);
    expect_only_good(*reader->snapshot().value());
  }
  const auto backend = open_lmdb_backend(dir.file("lmdb")).value();
  ASSERT_TRUE(backend->traits().checks_values);
  expect_only_good(*backend);
  expect_only_good(*backend->snapshot().value());
  EXPECT_EQ(backend->verify()->size(), 2u);
  EXPECT_EQ(backend->verify(VerifyScope::structure)->size(), 0u);
  ASSERT_TRUE(backend->write(one("large", "again")));
  EXPECT_EQ(value_at(*backend, "large"), "again");
  EXPECT_EQ(backend->verify()->size(), 1u);
}

// The number of pages until the range ends, and how it does; it must within `count_max`.
Result<int> page_through(const ReadView& view, std::size_t count_max) {
  constexpr int kPageCountMax = 2000;
  RangeQuery query{.count_max = count_max};
  for (int count = 1; count <= kPageCountMax; ++count) {
    auto page = view.range(query);
    if (!page) return page.error();
    if (!page->next) return count;
    query.from = *page->next;
  }
  return invalid_argument("it goes on for ever");
}

// LMDB believes its pages. One whose keys do not rise led a range back to where it had been.
TEST(LmdbDamage, ARangeEndsWhereKeysDoNotRise) {
  const ScratchDir dir;
  const std::string data = dir.file("lmdb/data.mdb");
  {
    const auto backend = open_lmdb_backend(dir.file("lmdb")).value();
    WriteBatch batch;
    for (int i = 0; i < 300; ++i) {
      batch.put(as_byte_view(fmt::format("key{:03}", i)), Bytes::copy_of("value"));
    }
    ASSERT_TRUE(backend->write(batch));
    ASSERT_TRUE(backend->close());
  }
  const std::string good = read_file(data);
  for (const char* const instead : {"kea150", "kex150"}) {
    std::string bytes = good;
    for (std::size_t at = 0; (at = bytes.find("key150", at)) != std::string::npos;) {
      bytes.replace(at, 6, instead);
    }
    std::ofstream(data, std::ios::binary) << bytes;
    const auto reader = open_lmdb_backend_to_read(dir.file("lmdb")).value();
    for (const std::size_t count_max : {1, 2, 3, 151, 1024}) {
      const auto ended = page_through(*reader, count_max);
      ASSERT_FALSE(ended) << instead;
      expect_words(ended.error(), ErrorCode::corruption, "tree of the file is damaged");
    }
    EXPECT_EQ(value_at(*reader, "key004"), "value");
    const auto problems = reader->verify().value();
    ASSERT_EQ(problems.size(), 1u);
    expect_words(problems[0], ErrorCode::corruption, "bring back a backup");
  }
}

// LMDB ends the process where its assertions find a page that makes no sense, or reads where
// nothing is: nobody outside of it can help that. What must not happen is that reading does not
// end.
TEST(LmdbDamage, ReadingAFileWithPagesOfGarbageEnds) {
  constexpr int kHung = 3;
  const std::string good = made_file(60);
  const std::size_t page_count = good.size() / 4096;
  int whole_count = 0;
  int told_count = 0;
  int ended_count = 0;
  for (unsigned seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    std::string bytes = good;
    // Parts of pages, so that some still look like pages.
    for (unsigned i = 0; i < 1 + seed % 5; ++i) {
      const std::size_t page = 2 + random() % (page_count - 2);
      const std::size_t size = 1 + random() % (seed % 3 == 0 ? 4096 : 64);
      const std::size_t at = page * 4096 + random() % (4096 - size + 1);
      for (std::size_t k = at; k < at + size; ++k) bytes[k] = static_cast<char>(random());
    }
    const Folder folder(bytes);
    Child child([&](int) -> std::string {
      (void)freopen("/dev/null", "w", stderr);
      const rlimit no_core = {};
      (void)setrlimit(RLIMIT_CORE, &no_core);
      (void)signal(SIGALRM, [](int) { _exit(kHung); });
      alarm(60);
      const auto reader = open_lmdb_backend_to_read(folder.path());
      if (!reader) return "refused";
      bool is_whole = true;
      for (const std::size_t count_max : {1, 7, 1024}) {
        const auto ended = page_through(**reader, count_max);
        if (!ended && ended.error().code() == ErrorCode::invalid_argument) _exit(kHung);
        is_whole = is_whole && ended;
      }
      const auto problems = (*reader)->verify();
      return is_whole && problems && problems->empty() ? "" : "damaged";
    });
    const std::string said = child.read_all();
    const int code = child.end();
    EXPECT_NE(code, kHung) << "it does not end";
    if (!said.empty()) {
      ++told_count;
    } else {
      ++(code == 0 ? whole_count : ended_count);
    }
  }
  std::cout << whole_count << " whole, " << told_count << " told, " << ended_count
            << " ended by LMDB\n";
  EXPECT_GT(told_count, 10);
}

// What another program made with LMDB: `table` and in it one entry.
std::string foreign_file(const char* table, std::string_view key, std::string_view value) {
  const ScratchDir dir;
  MDB_env* env = nullptr;
  MDB_txn* txn = nullptr;
  MDB_dbi dbi = 0;
  MDB_val at{key.size(), const_cast<char*>(key.data())};
  MDB_val as{value.size(), const_cast<char*>(value.data())};
  EXPECT_EQ(mdb_env_create(&env), 0);
  EXPECT_EQ(mdb_env_set_maxdbs(env, 4), 0);
  EXPECT_EQ(mdb_env_open(env, dir.path().c_str(), 0, 0664), 0);
  EXPECT_EQ(mdb_txn_begin(env, nullptr, 0, &txn), 0);
  EXPECT_EQ(mdb_dbi_open(txn, "varve.data", MDB_CREATE, &dbi), 0);
  EXPECT_EQ(mdb_dbi_open(txn, table, MDB_CREATE, &dbi), 0);
  EXPECT_EQ(mdb_put(txn, dbi, &at, &as, 0), 0);
  EXPECT_EQ(mdb_txn_commit(txn), 0);
  mdb_env_close(env);
  return read_file(dir.file("data.mdb"));
}

TEST(LmdbDamage, FilesOfOthersAndOfLaterVersionsAreRefused) {
  expect_refused(foreign_file("theirs", "a", "b"), ErrorCode::unsupported, "did not write");
  expect_refused(foreign_file("varve.meta", "theirs", "b"), ErrorCode::corruption, "head");
  expect_refused(foreign_file("varve.meta", "head", "b"), ErrorCode::corruption, "head");
  Buffer later = lmdb::encode_head({}).clone();
  later.data()[0] = std::byte{2};
  std::string sealed(lmdb::kSealSize + later.size(), '\0');
  lmdb::seal(as_byte_view("head"), std::move(later).freeze(),
             std::as_writable_bytes(std::span(sealed)));
  expect_refused(foreign_file("varve.meta", "head", sealed), ErrorCode::unsupported, "version 2");
}

TEST(LmdbDamage, WhatTheHeadSaysOfAllValuesIsCompared) {
  Bytes head = lmdb::encode_head({.sequence = 1, .live_size = 5});
  std::string sealed(lmdb::kSealSize + head.size(), '\0');
  lmdb::seal(as_byte_view("head"), std::move(head), std::as_writable_bytes(std::span(sealed)));
  const Folder folder(foreign_file("varve.meta", "head", sealed));
  for (const auto& open : {open_lmdb_backend, open_lmdb_backend_to_read}) {
    const auto backend = open(folder.path(), {});
    ASSERT_TRUE(backend) << backend.error().message();
    EXPECT_EQ((*backend)->verify(VerifyScope::structure)->size(), 1u);
    EXPECT_EQ((*backend)->verify()->size(), 1u);
  }
}

TEST(LmdbDamage, NothingIsWrittenThroughALink) {
  const ScratchDir dir;
  const std::string victim = dir.file("victim");
  std::ofstream(victim) << "dear to somebody";
  const std::string good = made_file(2);
  for (const char* const name : {"data.mdb", "lock.mdb", "writer.lock"}) {
    const Folder folder(good);
    fs::remove(folder.path() + "/" + name);
    fs::create_symlink(victim, folder.path() + "/" + name);
    EXPECT_FALSE(open_lmdb_backend(folder.path())) << name;
    if (name != std::string_view("writer.lock")) {
      EXPECT_FALSE(open_lmdb_backend_to_read(folder.path())) << name;
    }
    EXPECT_EQ(read_file(victim), "dear to somebody");
  }
}

// A link that leads nowhere yet is no reason to make what it names.
TEST(LmdbDamage, NothingIsMadeThroughALink) {
  for (const char* const name : {"data.mdb.new", "data.mdb", "lock.mdb", "writer.lock"}) {
    SCOPED_TRACE(name);
    const ScratchDir dir;
    const std::string elsewhere = dir.file("elsewhere");
    fs::create_directory(dir.file("lmdb"));
    fs::create_symlink(elsewhere, dir.file("lmdb/") + name);
    const auto backend = open_lmdb_backend(dir.file("lmdb"));
    // What a crash may have left is cleared away, and a link is as good as a file there.
    EXPECT_EQ(backend.has_value(), name == std::string_view("data.mdb.new"));
    EXPECT_FALSE(fs::exists(elsewhere));
    EXPECT_EQ(backend.has_value(), fs::is_regular_file(dir.file("lmdb/data.mdb")));
  }
}

}  // namespace
}  // namespace varve::test
