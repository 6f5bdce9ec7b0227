// A format, as the contract suite needs it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "varve/format.h"

namespace varve::test {

class StoreSubject {
 public:
  virtual ~StoreSubject() = default;

  virtual const Format& format() const = 0;
  // A path nothing was at before.
  virtual std::string fresh_path() = 0;
  // Where the Nth backup of a save opens; the newest is the first.
  virtual std::string backup_path(std::string_view path, std::uint32_t number) const;
  // Bytes the format takes for a record of this kind, different for different texts. A
  // format that demands more of a payload than that it be bytes wraps the text.
  virtual Bytes payload(RecordKind kind, std::string_view text) const;
};

// What the nebula format takes: an entity is a record of its own kind.
Bytes nebula_payload(RecordKind kind, std::string_view text);

struct SubjectMaker {
  std::string name;  // letters and digits: it becomes part of the names of tests
  std::function<std::unique_ptr<StoreSubject>()> make;
};

// Every format the suite runs on. A new format adds itself here.
std::vector<SubjectMaker> all_subjects();

}  // namespace varve::test
