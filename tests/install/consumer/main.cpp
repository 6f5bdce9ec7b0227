// Uses what an installed Varve offers and prints what it saw. The test compares
// the output.
#include <varve/bytes.h>
#include <varve/result.h>
#include <varve/version.h>

#include <cstdio>

// The part of a saved chunk after its four-byte mark.
static varve::Result<varve::Bytes> payload_of(const varve::Bytes& chunk) {
  if (chunk.size() < 4) return varve::corruption("chunk: shorter than its mark");
  return chunk.slice(4);
}

int main() {
  std::printf("version %s\n", varve::version());
  for (const char* text : {"MARKstone", "MA"}) {
    const varve::Result<varve::Bytes> payload = payload_of(varve::Bytes::copy_of(text));
    if (payload) {
      std::printf("payload %.*s\n", static_cast<int>(payload->size()), payload->text().data());
    } else {
      std::printf("error %s\n", payload.error().message().c_str());
    }
  }
}
