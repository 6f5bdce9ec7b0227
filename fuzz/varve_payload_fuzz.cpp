// Invariants checked: no frame, with a checksum that fits or not, reads out of bounds or makes a
// payload of another size than its head says; what is read is never read as something else again,
// and what the head says is written the same again; and any input, taken as a payload, comes back
// from a frame of every speed class, which is the same bytes when it is made apart from the
// payload.
//
// Each input is also checked with a checksum that is made to fit, which no mutation finds.
#include <array>

#include "fuzz_target.h"
#include "store/varve/payload.h"
#include "store/varve/payload_frame.h"

namespace varve::fuzz {
namespace {

const ByteView kKey = as_byte_view("key");
const GeneratorId kGenerator{.name = "hills", .version = 3};
constexpr std::array kSpeeds = {SpeedClass::raw, SpeedClass::fast, SpeedClass::balanced,
                                SpeedClass::small};

std::string record(int i) {
  std::string text("chest of player ");
  text += std::to_string(i % 7);
  text += " at ";
  text += std::to_string(i * 37 % 1000);
  text += ": oak planks, cobblestone, torch";
  return text;
}

std::shared_ptr<const PayloadDictionary> make_dictionary() {
  std::vector<std::string> records;
  for (int i = 0; i < 500; ++i) records.push_back(record(i));
  std::vector<ByteView> samples;
  for (const std::string& text : records) samples.push_back(as_byte_view(text));
  const auto bytes = train_payload_dictionary(samples);
  VARVE_INVARIANT(bytes);
  const auto dictionary = PayloadDictionary::make(1, *bytes);
  VARVE_INVARIANT(dictionary);
  return *dictionary;
}

// What frames may refer to, and an encoder for each class.
struct Save {
  Save() {
    const auto dictionary = make_dictionary();
    VARVE_INVARIANT(dictionaries.add(dictionary));
    VARVE_INVARIANT(generators.add(1, kGenerator));
    for (int i = 0; i < 40; ++i) base_text += record(i);
    base = Bytes::copy_of(base_text);
    sources = {.dictionaries = &dictionaries,
               .generators = &generators,
               .generator = &kGenerator,
               .generate = [this]() -> Result<Bytes> { return base; }};
    for (const SpeedClass speed : kSpeeds) {
      auto made = PayloadEncoder::make({.speed = speed, .cell_size = 4, .dictionary = dictionary});
      VARVE_INVARIANT(made);
      encoders.push_back(*std::move(made));
    }
  }

  DictionarySet dictionaries;
  GeneratorTable generators;
  std::string base_text;
  Bytes base;
  PayloadSources sources;
  std::vector<PayloadEncoder> encoders;
};

const Save& save() {
  static const Save made;
  return made;
}

bool check_frame(const Bytes& frame) {
  const auto head = read_head(frame);
  const auto payload = decode_payload(kKey, frame, save().sources);
  if (head) {
    ByteWriter again;
    begin_frame(head->first, again);
    VARVE_INVARIANT(head->second <= kFrameHeadSizeMax);
    VARVE_INVARIANT(equal(again.view().subspan(8), frame.view().subspan(8, head->second - 8)));
  }
  if (!payload) return false;
  VARVE_INVARIANT(head && payload->size() == head->first.payload_size);
  const auto again = decode_payload(kKey, frame, save().sources);
  // libzstd 1.5.4 decodes in another way while a dictionary is not in the caches yet, and that way
  // takes some frames for good that the other one finds damaged.
  VARVE_INVARIANT(again || head->first.compression == PayloadCompression::zstd_dictionary);
  VARVE_INVARIANT(!again || *again == *payload);
  return true;
}

void check_payload(ByteView payload) {
  const PayloadBase base{.generator_number = 1, .payload = save().base};
  for (const PayloadEncoder& encoder : save().encoders) {
    for (const PayloadBase* against : {static_cast<const PayloadBase*>(nullptr), &base}) {
      ByteWriter out;
      VARVE_INVARIANT(encoder.encode(kKey, payload, against, out));
      VARVE_INVARIANT(out.size() <= payload.size() + kFrameOverheadMax);
      ByteWriter apart;
      const auto is_whole = encoder.encode_unless_apart(kKey, payload, against, apart);
      VARVE_INVARIANT(is_whole && (*is_whole || apart.size() == 0));
      if (!*is_whole) {
        const HashedBytes rest(Bytes::copy_of(payload));
        apart.bytes(encoder.raw_start(kKey, rest, against));
        apart.bytes(payload);
      }
      VARVE_INVARIANT(equal(apart.view(), out.view()));
      const auto back = decode_payload(kKey, out.take(), save().sources);
      VARVE_INVARIANT(back && equal(*back, payload));
    }
  }
}

}  // namespace

bool check_input(ByteView in) {
  bool is_accepted = check_frame(Bytes::copy_of(in));
  if (in.size() >= kFrameStartSize) {
    ByteWriter sealed;
    sealed.bytes(in);
    seal_frame(kKey, 0, sealed);
    is_accepted = check_frame(sealed.take()) || is_accepted;
  }
  check_payload(in);
  return is_accepted;
}

std::vector<std::string> seeds() {
  std::string edited = save().base_text;
  edited[100] = 'X';
  edited += "and more";
  std::string cells;
  for (int i = 0; i < 600; ++i) cells += {static_cast<char>(i * 7919 >> 3), 'a', 'b', 'c'};
  const PayloadBase base{.generator_number = 1, .payload = save().base};
  std::vector<std::string> out;
  for (const std::string& text :
       {std::string(), std::string("stone"), record(3), cells, edited, std::string(3000, 'a')}) {
    for (const PayloadEncoder& encoder : save().encoders) {
      ByteWriter frame;
      VARVE_INVARIANT(encoder.encode(kKey, as_byte_view(text), &base, frame));
      out.emplace_back(as_text(frame.view()));
    }
  }
  return out;
}

}  // namespace varve::fuzz
