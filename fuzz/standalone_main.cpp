// Runs a fuzz target without libFuzzer.
//
//   fuzz_ron FILE_OR_FOLDER ...      replays inputs, such as one that was a finding
//   fuzz_ron --runs N [--seed S]     the seeds, then N mutations of them and noise
//
// The same seed gives the same inputs on every machine. Exit: 0 done, 2 wrong usage,
// 3 could not; a finding aborts.
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string_view>

#include "fuzz_target.h"

namespace varve::fuzz {
namespace {

constexpr std::size_t kInputSizeMax = 4096;

class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : random_(seed), seeds_(fuzz::seeds()) {}

  std::string next() {
    if (seeds_.empty() || below(16) == 0) return noise(below(64));
    std::string input = seeds_[below(seeds_.size())];
    for (std::size_t i = 1 + below(4); i > 0; --i) mutate(input);
    if (input.size() > kInputSizeMax) input.resize(kInputSizeMax);
    return input;
  }

 private:
  // Not a std distribution: those differ from one library to the next.
  std::size_t below(std::size_t count) { return static_cast<std::size_t>(random_() % count); }

  std::string noise(std::size_t size) {
    std::string out;
    while (out.size() < size) out += static_cast<char>(random_());
    return out;
  }

  void mutate(std::string& input) {
    const std::size_t at = below(input.size() + 1);
    const std::size_t size = below(std::min<std::size_t>(input.size() - at, 32) + 1);
    switch (below(6)) {
      case 0:
        if (at < input.size()) input[at] = static_cast<char>(input[at] ^ 1 << below(8));
        break;
      case 1:
        if (at < input.size()) input[at] = "\x00\x01\x7f\x80\xff("[below(6)];
        break;
      case 2:
        input.resize(at);
        break;
      case 3:
        input.erase(at, size);
        break;
      case 4:
        input.insert(at, noise(below(8)));
        break;
      default: {
        const std::string& other = seeds_[below(seeds_.size())];
        const std::size_t from = below(other.size() + 1);
        input.insert(at, other.substr(from, below(64)));
        break;
      }
    }
  }

  std::mt19937_64 random_;
  std::vector<std::string> seeds_;
};

// The input is kept in a block of exactly its size, so that a read past its end is
// seen by the sanitizer.
void check(const std::string& input) { check_input(Bytes::copy_of(input)); }

void replay(const std::filesystem::path& path) {
  if (std::filesystem::is_directory(path)) {
    for (const auto& entry : std::filesystem::directory_iterator(path)) replay(entry.path());
    return;
  }
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    std::fprintf(stderr, "%s: cannot be read\n", path.c_str());
    std::exit(3);
  }
  check(std::string{std::istreambuf_iterator<char>(in), {}});
}

int usage(const char* program) {
  std::fprintf(stderr, "usage: %s FILE_OR_FOLDER ... | --runs N [--seed S], N from 1\n", program);
  return 2;
}

int run(int argc, char** argv) {
  std::uint64_t run_count = 0;
  std::uint64_t seed = 1;
  bool has_replayed = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    std::uint64_t* const number = word == "--runs"   ? &run_count
                                  : word == "--seed" ? &seed
                                                     : nullptr;
    if (number == nullptr) {
      replay(argv[i]);
      has_replayed = true;
      continue;
    }
    const std::string_view text = ++i < argc ? argv[i] : "";
    const char* const end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data(), end, *number);
    const bool is_number = parsed.ec == std::errc() && parsed.ptr == end;
    if (!is_number || (number == &run_count && run_count == 0)) {
      return usage(argv[0]);
    }
  }
  // A run that checks nothing must not look like one that found nothing.
  if (run_count == 0 && !has_replayed) return usage(argv[0]);
  if (run_count != 0) {
    std::printf("%llu runs with --seed %llu\n", static_cast<unsigned long long>(run_count),
                static_cast<unsigned long long>(seed));
    // A finding stops the program at once; the line must be out by then.
    std::fflush(stdout);
    check_seeds();
    Mutator mutator(seed);
    for (std::uint64_t i = 0; i < run_count; ++i) check(mutator.next());
  }
  return 0;
}

}  // namespace
}  // namespace varve::fuzz

int main(int argc, char** argv) { return varve::fuzz::run(argc, argv); }
