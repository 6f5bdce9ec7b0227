// Invariants checked: no input, with or without a dictionary, reads or writes out of
// bounds or makes more than the limit; one that is taken for a dictionary can be
// used as one; and any input, compressed, comes back.
#include "codec/zstd.h"

#include "fuzz_target.h"

namespace varve::fuzz {
namespace {

constexpr std::size_t kLimit = 1 << 18;

std::string record(int i) {
  std::string text("chest of player ");
  text += std::to_string(i % 7);
  text += " at ";
  text += std::to_string(i * 37 % 1000);
  text += ": oak planks, cobblestone, torch";
  return text;
}

std::shared_ptr<const ZstdDictionary> make_dictionary() {
  std::vector<std::string> records;
  for (int i = 0; i < 500; ++i) records.push_back(record(i));
  std::vector<ByteView> samples;
  for (const std::string& text : records) samples.push_back(as_byte_view(text));
  const auto bytes = ZstdDictionary::train(samples, 1024);
  VARVE_INVARIANT(bytes);
  const auto dictionary = ZstdDictionary::prepare(*bytes);
  VARVE_INVARIANT(dictionary);
  return *dictionary;
}

const ZstdDictionary& dictionary() {
  static const auto made = make_dictionary();
  return *made;
}

const Compression& codec_with_dictionary() {
  static const auto codec = make_zstd(make_dictionary());
  return *codec;
}

// Whether the codec takes `in` for a frame.
bool check_codec(const Compression& codec, ByteView in) {
  Buffer out;
  const bool is_accepted = codec.decompress_into(in, kLimit, out).ok();
  VARVE_INVARIANT(!is_accepted || out.size() <= kLimit);
  VARVE_INVARIANT(out.capacity() <= kLimit);
  ByteWriter small;
  VARVE_INVARIANT(codec.compress(in, small));
  VARVE_INVARIANT(codec.decompress_into(small.view(), in.size(), out));
  VARVE_INVARIANT(equal(out.view(), in));
  return is_accepted;
}

}  // namespace

bool check_input(ByteView in) {
  bool is_accepted = check_codec(compression(CompressionId::zstd), in);
  is_accepted |= check_codec(codec_with_dictionary(), in);
  if (const auto loaded = ZstdDictionary::prepare(Bytes::copy_of(in))) {
    check_codec(*make_zstd(*loaded), as_byte_view("chest of player 3"));
    is_accepted = true;
  }
  return is_accepted;
}

std::vector<std::string> seeds() {
  std::vector<std::string> out = {
      std::string(dictionary().bytes().text()),
      // A frame that does not carry its size: one block of 100,000 times 'a'.
      std::string("\x28\xb5\x2f\xfd\x00\x58\x03\x35\x0c\x61", 10)};
  for (const std::string& text : {std::string(), record(3), std::string(5000, 'a')}) {
    for (const Compression* codec : {&compression(CompressionId::zstd), &codec_with_dictionary()}) {
      ByteWriter small;
      VARVE_INVARIANT(codec->compress(as_byte_view(text), small));
      out.emplace_back(as_text(small.view()));
    }
  }
  return out;
}

}  // namespace varve::fuzz
