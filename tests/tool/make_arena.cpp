// Makes the save docs/tool.md looks back into: make_arena PATH.
#include <iostream>

#include "tool/sample_arena.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const varve::Status made = varve::test::make_arena(argv[1]);
  if (!made) std::cerr << made.error().message() << '\n';
  return made ? 0 : 1;
}
