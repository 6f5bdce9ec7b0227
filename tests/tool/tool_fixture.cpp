#include "tool/tool_fixture.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include "io/vfs.h"

namespace varve::test {
namespace {

Capabilities bare() {
  Capabilities can;
  can.coordinate_count_min = can.coordinate_count_max = 2;
  can.coordinate_ranges[0] = can.coordinate_ranges[1] = {.min = -10, .max = 10};
  can.spaces = can.entities = can.players = can.generator = false;
  can.payload_size_max = 100;
  return can;
}

Capabilities owned() {
  Capabilities can;
  can.entities_without_owner = false;
  can.entity_schema = "boxes";
  return can;
}

void register_formats() {
  static const bool done = [] {
    const auto add = [](std::unique_ptr<const Format> format) {
      const Status added = register_format(std::move(format));
      EXPECT_TRUE(added.ok());
    };
    add(std::make_unique<OneFileFormat>(posix_vfs()));
    add(std::make_unique<SampleFormat>("full", Capabilities()));
    add(std::make_unique<SampleFormat>("bare", bare()));
    add(std::make_unique<SampleFormat>("boxed", owned()));
    return true;
  }();
  (void)done;
}

}  // namespace

ToolTest::ToolTest() {
  register_formats();
  Damage::of_process() = {};
}
ToolTest::~ToolTest() { Damage::of_process() = {}; }

Said ToolTest::varve(std::vector<std::string> args, const std::string& in) {
  std::istringstream input(in);
  std::ostringstream out, err;
  tool::Streams streams{input, out, err};
  const int code = tool::run(args, streams);
  return {.code = code, .out = out.str(), .err = err.str()};
}

void ToolTest::make_save(const std::string& path, std::string_view format, const Commit& commit) {
  const auto store = find_format(format).value()->create(path);
  ASSERT_TRUE(store.ok()) << store.error().message();
  Progress progress;
  const auto done = (*store)->commit(commit, progress);
  ASSERT_TRUE(done.ok()) << done.error().message();
  ASSERT_TRUE((*store)->close().ok());
}

Commit ToolTest::sample() {
  const Space nether = Space::named("the_nether").value();
  const auto bytes = [](std::string_view text) { return Bytes::copy_of(text); };
  Commit commit{.tick = 7};
  commit.chunks = {{.pos = ChunkPos(3, -2), .payload = bytes("stone")},
                   {.pos = ChunkPos(10, 4), .payload = bytes("")},
                   {.pos = ChunkPos(-1, 5).in(nether), .payload = bytes("lava!")}};
  commit.entities = {{.id = 17, .value = EntityValue{ChunkPos(3, -2), bytes("cow")}},
                     {.id = 4, .value = EntityValue{std::nullopt, bytes("wind")}}};
  commit.players = {{.name = "Ann Lee 100%", .data = bytes("hungry")}};
  commit.globals = {{.name = "weather", .data = bytes("rain")}};
  commit.generator = GeneratorId{.name = "flat", .version = 2};
  return commit;
}

std::string ToolTest::sample_save(std::string_view format) {
  const std::string save = path("world." + std::string(format));
  make_save(save, format, sample());
  return save;
}

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in.good()) << path;
  return {std::istreambuf_iterator<char>(in), {}};
}

void write_file(const std::string& path, std::string_view text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  EXPECT_TRUE(out.good()) << path;
}

bool exists(const std::string& path) { return std::filesystem::exists(path); }

}  // namespace varve::test
