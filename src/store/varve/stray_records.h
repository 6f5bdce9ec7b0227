// Records a listing cannot show, since what names them is lost. They are counted, so that whoever
// lists everything learns that there is more than was shown.
#pragma once

#include <cstdint>
#include <optional>

#include "varve/result.h"

namespace varve {

class StrayRecords {
 public:
  // `why` makes an Error that names the record. Only the first one is told, so only it is made.
  template <class Why>
  void add(const Why& why) {
    if (count_++ == 0) first_ = why();
  }

  // What the listing ends with: success, or corruption if there is any.
  Status status() const;

 private:
  std::uint64_t count_ = 0;
  std::optional<Error> first_;
};

}  // namespace varve
