// Prints the seed of the property tests before anything runs, so that a failure
// seen once can be replayed with RC_PARAMS="seed=N".
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  if (std::getenv("RC_PARAMS") == nullptr) {
    const std::string params = "seed=" + std::to_string(std::random_device{}());
    setenv("RC_PARAMS", params.c_str(), 1);
  }
  std::printf("property tests: RC_PARAMS=\"%s\"\n", std::getenv("RC_PARAMS"));
  return RUN_ALL_TESTS();
}
