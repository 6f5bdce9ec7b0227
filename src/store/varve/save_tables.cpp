#include "store/varve/save_tables.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/byte_reader.h"
#include "base/byte_writer.h"
#include "base/try.h"
#include "store/varve/payload.h"
#include "store/varve/payload_frame.h"

namespace varve {
namespace {

// Nobody compares how plain frames were made.
constexpr std::uint16_t kNoRecipe = 0;

constexpr std::uint32_t kSpaceCountMax = 65'535;
constexpr std::uint64_t kNumberMax = 0xffff'ffff;

// Calls `use(number, payload)` for each record with this tag; what cannot be read is a problem.
// `next` is above every number there is, also of those: what refers to one must never be taken for
// something of another.
template <class Use>
Status for_each_plain(const ReadView& view, KeyTag tag, std::size_t number_size,
                      std::uint64_t& next, std::string_view what,
                      std::vector<RecordProblem>& problems, Use use) {
  RangeQuery query{.prefix = SaveKey(tag).copy()};
  for (std::optional<Bytes> from = Bytes(); from;) {
    query.from = *from;
    VARVE_ASSIGN(RangePage page, view.range(query));
    for (const RangeEntry& entry : page.entries) {
      Status used = [&]() -> Status {
        VARVE_ASSIGN(const std::uint32_t number, decode_number_key(entry.key, number_size));
        next = std::max(next, std::uint64_t{number} + 1);
        if (number == 0) return corruption("a record of number 0, which is never given");
        if (!entry.value) return entry.value.error();
        VARVE_ASSIGN(const Bytes payload, read_plain_frame(entry.key, *entry.value));
        return use(number, payload);
      }();
      if (!used && used.error().code() == ErrorCode::unsupported) return used;
      if (!used) problems.push_back({std::string(what), used.error()});
    }
    from = std::move(page.next);
  }
  return {};
}

}  // namespace

Bytes plain_frame(ByteView key, ByteView payload) {
  ByteWriter out;
  out.reserve(kFrameOverheadMax + payload.size());
  begin_frame({.recipe = kNoRecipe, .payload_size = payload.size()}, out);
  out.bytes(payload);
  seal_frame(key, 0, out);
  return out.take();
}

BatchValue plain_frame(ByteView key, const HashedBytes& payload) {
  return {Bytes::copy_of(raw_frame_start(key, kNoRecipe, payload)), payload};
}

Result<Bytes> read_plain_frame(ByteView key, const Bytes& frame) {
  return decode_payload(key, frame, {});
}

Bytes encode_generator(const GeneratorId& id) {
  ByteWriter w;
  w.u32_le(id.version);
  w.text(id.name);
  return w.take();
}

Result<GeneratorId> decode_generator(ByteView in) {
  ByteReader r(in);
  GeneratorId id;
  id.version = r.u32_le();
  VARVE_TRY(r.status("generator of a save"));
  id.name = std::string(as_text(r.rest()));
  return id;
}

Result<SaveTables> SaveTables::load(const ReadView& view, std::vector<RecordProblem>& problems) {
  SaveTables tables;
  const std::size_t problem_count = problems.size();
  VARVE_TRY(for_each_plain(view, KeyTag::space, 2, tables.next_space_, "table of spaces", problems,
                           [&](std::uint32_t number, const Bytes& payload) {
                             return tables.load_space(number, payload);
                           }));
  tables.has_lost_space_ = problems.size() != problem_count;
  VARVE_TRY(for_each_plain(view, KeyTag::generator, 4, tables.next_generator_,
                           "table of generators", problems,
                           [&](std::uint32_t number, const Bytes& payload) -> Status {
                             VARVE_ASSIGN(GeneratorId id, decode_generator(payload));
                             return tables.generators_.add(number, std::move(id));
                           }));
  VARVE_TRY(for_each_plain(view, KeyTag::dictionary, 4, tables.next_dictionary_, "dictionaries",
                           problems, [&](std::uint32_t number, const Bytes& payload) -> Status {
                             VARVE_ASSIGN(auto dictionary,
                                          PayloadDictionary::make(number, payload));
                             return tables.dictionaries_.add(std::move(dictionary));
                           }));
  return tables;
}

Status SaveTables::load_space(std::uint32_t number, const Bytes& name) {
  VARVE_ASSIGN(const Space space, Space::named(name.text()));
  if (space == Space() || numbers_.contains(space.id())) {
    return corruption(fmt::format("space {} is called like another", number));
  }
  spaces_.emplace(static_cast<SpaceNumber>(number), space);
  numbers_.emplace(space.id(), static_cast<SpaceNumber>(number));
  return {};
}

std::optional<SpaceNumber> SaveTables::number_of(Space space) const {
  if (space == Space()) return SpaceNumber{0};
  const auto found = numbers_.find(space.id());
  return found != numbers_.end() ? std::optional(found->second) : std::nullopt;
}

Result<Space> SaveTables::space(SpaceNumber number) const {
  if (number == 0) return Space();
  const auto found = spaces_.find(number);
  if (found != spaces_.end()) return found->second;
  return corruption(fmt::format("the save has no space of number {}", number));
}

std::vector<std::pair<Space, SpaceNumber>> SaveTables::spaces_by_name() const {
  std::vector<std::pair<Space, SpaceNumber>> all{{Space(), SpaceNumber{0}}};
  for (const auto& [number, space] : spaces_) all.emplace_back(space, number);
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return all;
}

Result<SpaceNumber> SaveTables::add_space(Space space) {
  if (next_space_ > kSpaceCountMax) {
    return unsupported(fmt::format("a varve save has at most {} spaces", kSpaceCountMax));
  }
  const auto number = static_cast<SpaceNumber>(next_space_);
  spaces_.emplace(number, space);
  numbers_.emplace(space.id(), number);
  ++next_space_;
  return number;
}

Result<std::uint32_t> SaveTables::add_generator(const GeneratorId& id) {
  if (next_generator_ > kNumberMax) return unsupported("this save has no number for a generator");
  const auto number = static_cast<std::uint32_t>(next_generator_);
  VARVE_TRY(generators_.add(number, id));
  ++next_generator_;
  return number;
}

Status SaveTables::add_dictionary(std::shared_ptr<const PayloadDictionary> dictionary) {
  const std::uint32_t number = dictionary->number();
  VARVE_TRY(dictionaries_.add(std::move(dictionary)));
  next_dictionary_ = std::max(next_dictionary_, std::uint64_t{number} + 1);
  return {};
}

Result<std::uint32_t> SaveTables::next_dictionary_number() const {
  if (next_dictionary_ > kNumberMax) return unsupported("this save has no number for a dictionary");
  return static_cast<std::uint32_t>(next_dictionary_);
}

void SaveTables::use_generator(std::shared_ptr<const Generator> generator) {
  current_ = generator;
  if (generator == nullptr) return;
  std::erase_if(known_, [&](const auto& known) { return known->id() == generator->id(); });
  known_.push_back(std::move(generator));
}

std::shared_ptr<const Generator> SaveTables::find_generator(const GeneratorId& id) const {
  const auto found = std::find_if(known_.begin(), known_.end(),
                                  [&](const auto& known) { return known->id() == id; });
  return found != known_.end() ? *found : nullptr;
}

}  // namespace varve
