// Runs commands of the tool in this process, on saves in a folder that is gone afterwards.
//
// Formats there are: "onefile" carries everything; "full" does too and can be damaged; "bare" keeps
// chunks of two coordinates from -10 to 10 in one space, of 100 bytes at most, and globals;
// "boxed" keeps entities of the schema "boxes", each with an owner.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/scratch_dir.h"
#include "tool/command.h"
#include "tool/sample_format.h"
#include "varve/store.h"

namespace varve::test {

struct Said {
  int code = -1;
  std::string out = {};
  std::string err = {};
};

class ToolTest : public testing::Test {
 protected:
  ToolTest();
  ~ToolTest() override;

  Said varve(std::vector<std::string> args, const std::string& in = "");
  std::string path(std::string_view name) const { return dir_.file(name); }

  // Makes a save and commits to it.
  void make_save(const std::string& path, std::string_view format, const Commit& commit);
  // One of everything: two chunks in two spaces, entities with and without an owner, a player
  // with a blank in its name, a global, a generator, tick 7.
  static Commit sample();
  std::string sample_save(std::string_view format = "full");

 private:
  ScratchDir dir_;
};

std::string read_file(const std::string& path);
void write_file(const std::string& path, std::string_view text);
bool exists(const std::string& path);

}  // namespace varve::test
