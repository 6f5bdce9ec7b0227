#include "backend/log/sample_log.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "backend/log/batch_reader.h"
#include "backend/log/small_log.h"
#include "io/path.h"

namespace varve::test {
namespace {

constexpr int kBatchCount = 70;
constexpr std::size_t kKeyCount = 36;

std::string random_text(std::mt19937_64& random) {
  const std::size_t sizes[] = {0, 40, 700, 700, 9000, 9000};
  std::string text(sizes[random() % 6], '\0');
  for (char& c : text) c = static_cast<char>(random());
  return text;
}

std::optional<std::string> newest_of(const State& state, const std::string& key) {
  const auto at = state.find(key);
  return at != state.end() ? std::optional(at->second) : std::nullopt;
}

// Whether all keys that can be read are as they were after one and the same batch.
bool is_of_one_moment(const SampleLog& sample, const State& read, const Left& left) {
  return std::any_of(sample.states.rbegin(), sample.states.rend(), [&](const State& state) {
    return std::all_of(sample.keys.begin(), sample.keys.end(), [&](const std::string& key) {
      return left.damaged.contains(key) || newest_of(read, key) == newest_of(state, key);
    });
  });
}

void expect_pages_agree(const Backend& backend, const State& read, Left& left) {
  const auto page = backend.range({});
  ASSERT_TRUE(page) << page.error().message();
  std::size_t error_count = 0;
  for (const RangeEntry& entry : page->entries) {
    const std::string key(entry.key.text());
    error_count += entry.value ? 0 : 1;
    EXPECT_EQ(entry.value.has_value(), !left.damaged.contains(key));
    if (entry.value) {
      EXPECT_EQ(entry.value->text(), newest_of(read, key).value_or("(none)"));
    }
  }
  EXPECT_EQ(error_count, left.damaged.size());
  EXPECT_EQ(page->entries.size(), read.size() + left.damaged.size());
  const std::vector<Error> structure = backend.verify(VerifyScope::structure).value();
  for (const Error& problem : structure) {
    left.structure.push_back(problem.message());
  }
  EXPECT_EQ(backend.verify().value().size(), left.structure.size() + left.damaged.size());
  std::set<std::string> files;
  for (const std::string& problem : left.structure) {
    const std::size_t begin = problem.find(std::string(kSampleDir) + "/");
    files.insert(problem.substr(begin, problem.find(".log") - begin));
    EXPECT_TRUE(problem.find("the header of a segment") != std::string::npos ||
                problem.find("the head of the batch at offset") != std::string::npos)
        << problem;
  }
  EXPECT_LE(files.size(), 1u) << "one file was changed";
}

}  // namespace

bool SampleLog::was_ever(const std::string& key, const std::optional<std::string>& value) const {
  return std::any_of(states.begin(), states.end(),
                     [&](const State& state) { return newest_of(state, key) == value; });
}

SampleLog make_sample_log(std::uint64_t seed) {
  SampleLog sample;
  sample.states.emplace_back();
  std::mt19937_64 random(seed);
  sim::SimDisk disk;
  disk.set_recording(false);
  // With some slack, so that what was punched is not cleared at once.
  log::LogOptions options = small_log_options();
  options.user.size_percent_max = 170;
  const auto backend = log::open_log(disk, kSampleDir, options).value();
  for (int i = 0; i < kBatchCount; ++i) {
    WriteBatch batch;
    State state = sample.newest();
    for (std::size_t left = 1 + random() % 5; left > 0; --left) {
      const std::string key = fmt::format("chunk/{:02}", random() % kKeyCount);
      sample.keys.insert(key);
      if (random() % 6 == 0) {
        batch.erase(as_byte_view(key));
        state.erase(key);
      } else {
        state[key] = random_text(random);
        batch.put(as_byte_view(key), Bytes::copy_of(state[key]));
      }
    }
    const WriteResult written = backend->write(batch);
    EXPECT_TRUE(written) << written.error().message();
    sample.states.push_back(std::move(state));
  }
  EXPECT_TRUE(backend->close());
  sample.image = disk.image();
  return sample;
}

std::vector<std::string> files_of(Vfs& vfs, const std::string& dir) {
  std::vector<std::string> files;
  const auto entries = vfs.list(dir);
  for (const DirEntry& entry : *entries) files.push_back(path_join(dir, entry.name));
  return files;
}

Bytes read_file(Vfs& vfs, const std::string& path) {
  return vfs.open(path, OpenMode::read).value()->read_all(1u << 30).value();
}

void write_file(Vfs& vfs, const std::string& path, ByteView contents) {
  const auto file = vfs.open(path, OpenMode::replace).value();
  ASSERT_TRUE(file->write_at(0, contents));
  ASSERT_TRUE(file->close());
}

sim::DiskImage changed(const sim::DiskImage& image, const std::function<void(Vfs&)>& change) {
  sim::SimDisk disk(image);
  disk.set_recording(false);
  change(disk);
  return disk.image();
}

bool is_segment(const std::string& path) { return path.ends_with(".log"); }

std::vector<Part> heads_of(Vfs& vfs, const std::string& segment_path) {
  const auto file = vfs.open(segment_path, OpenMode::read).value();
  const std::uint64_t size = file->size().value();
  const Bytes header = read_file(vfs, segment_path).slice(0, log::kBlockSize);
  const std::uint64_t salt = log::decode_segment_header(header).value().salt;
  std::vector<Part> parts{{0, 48}};
  for (std::uint64_t offset = log::kBlockSize; offset < size;) {
    const auto batch = log::read_batch(*file, size, offset, salt).value();
    if (!batch) break;
    parts.push_back({offset, offset + log::kBatchHeaderSize + batch->header.directory_size});
    offset = batch->end();
  }
  return parts;
}

Left look(const Backend& backend, const SampleLog& sample) {
  Left left;
  State read;
  left.report = backend.open_report();
  for (const std::string& key : sample.keys) {
    const auto value = backend.get(as_byte_view(key));
    if (!value) {
      EXPECT_EQ(value.error().code(), ErrorCode::corruption) << value.error().message();
      left.damaged.insert(key);
      continue;
    }
    const auto text = *value ? std::optional(std::string((*value)->text())) : std::nullopt;
    EXPECT_TRUE(sample.was_ever(key, text)) << key << " never had that value";
    if (text) read[key] = *text;
    if (text != newest_of(sample.newest(), key)) left.changed.insert(key);
  }
  EXPECT_TRUE(left.changed.empty() || left.says_so()) << *left.changed.begin();
  EXPECT_TRUE(left.report.rebuilt_index || is_of_one_moment(sample, read, left));
  expect_pages_agree(backend, read, left);
  return left;
}

Left check_damaged(const sim::DiskImage& image, const SampleLog& sample) {
  sim::SimDisk disk(image);
  disk.set_recording(false);
  if (const auto reader = log::open_log_to_read(disk, kSampleDir, small_log_options())) {
    look(**reader, sample);
  }
  auto backend = log::open_log(disk, kSampleDir, small_log_options());
  if (!backend) return {.refusal = backend.error()};
  Left left = look(**backend, sample);
  WriteBatch more;
  more.put(as_byte_view("more"), Bytes::copy_of("more"));
  EXPECT_TRUE((*backend)->write(more));
  EXPECT_TRUE((*backend)->close());
  backend->reset();
  backend = log::open_log(disk, kSampleDir, small_log_options());
  EXPECT_TRUE(backend) << backend.error().message();
  if (!backend) return left;
  EXPECT_EQ((*backend)->get(as_byte_view("more")).value().value().text(), "more");
  for (const std::string& key : sample.keys) {
    const auto value = (*backend)->get(as_byte_view(key));
    EXPECT_EQ(value.has_value(), !left.damaged.contains(key))
        << key << (value ? "" : value.error().message());
    if (!value || left.changed.contains(key)) continue;
    EXPECT_EQ(*value ? std::optional(std::string((*value)->text())) : std::nullopt,
              newest_of(sample.newest(), key));
  }
  return left;
}

}  // namespace varve::test
