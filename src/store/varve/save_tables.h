// What the records of a save refer to by number: spaces, generators and dictionaries. Numbers are
// given once and never again, so that the newest tables serve every older generation too.
//
// Thread safety: immutable once shared. A store changes a copy and swaps it.
#pragma once

#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "store/varve/payload_sources.h"
#include "store/varve/save_keys.h"
#include "varve/backend.h"
#include "varve/generator.h"

namespace varve {

class SaveTables {
 public:
  // What the backend holds. Damage to one of them is a problem in the list, and what refers to it
  // cannot be read; only what a newer program made is an error.
  static Result<SaveTables> load(const ReadView& view, std::vector<RecordProblem>& problems);

  // nullopt if the save knows nothing of it.
  std::optional<SpaceNumber> number_of(Space space) const;
  // corruption if the table has none of that number.
  Result<Space> space(SpaceNumber number) const;
  // All of them, by name.
  std::vector<std::pair<Space, SpaceNumber>> spaces_by_name() const;
  // unsupported if there are 65,535 already.
  Result<SpaceNumber> add_space(Space space);
  // Whether a space of the save has lost its name: then nobody knows whether one that is not in
  // the table was never saved.
  bool has_lost_space() const noexcept { return has_lost_space_; }

  const GeneratorTable& generators() const noexcept { return generators_; }
  // unsupported if there is no number left.
  Result<std::uint32_t> add_generator(const GeneratorId& id);
  const DictionarySet& dictionaries() const noexcept { return dictionaries_; }
  Status add_dictionary(std::shared_ptr<const PayloadDictionary> dictionary);
  // unsupported if there is none left.
  Result<std::uint32_t> next_dictionary_number() const;

  // A generator the game has. The last one is what new deltas are made against.
  void use_generator(std::shared_ptr<const Generator> generator);
  const std::shared_ptr<const Generator>& generator() const noexcept { return current_; }
  std::shared_ptr<const Generator> find_generator(const GeneratorId& id) const;

 private:
  Status load_space(std::uint32_t number, const Bytes& name);

  std::unordered_map<SpaceNumber, Space> spaces_;
  std::unordered_map<std::uint32_t, SpaceNumber> numbers_;  // by Space::id()
  // Above every number that was ever given, whatever became of its record.
  std::uint64_t next_space_ = 1;
  bool has_lost_space_ = false;
  GeneratorTable generators_;
  std::uint64_t next_generator_ = 1;
  DictionarySet dictionaries_;
  std::uint64_t next_dictionary_ = 1;
  std::vector<std::shared_ptr<const Generator>> known_;
  std::shared_ptr<const Generator> current_;
};

using SharedSaveTables = std::shared_ptr<const SaveTables>;

// A generator in its record: version, then name.
Bytes encode_generator(const GeneratorId& id);
Result<GeneratorId> decode_generator(ByteView in);

// Small records of the store itself are frames like all others, stored as they are.
Bytes plain_frame(ByteView key, ByteView payload);
// In two pieces, of which frames of the same payload under several keys share the second.
BatchValue plain_frame(ByteView key, const HashedBytes& payload);
Result<Bytes> read_plain_frame(ByteView key, const Bytes& frame);

}  // namespace varve
