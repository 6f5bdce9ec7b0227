// Formats for tests of the tool: the sample disk store under another name, with less than it
// can do and with records that are damaged.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "contract/one_file_store.h"
#include "varve/format.h"

namespace varve::test {

// What is wrong with every save a SampleFormat opens from now on. Tests put it back.
struct Damage {
  std::map<std::string, Error> reads = {};    // by key
  std::map<std::string, Error> commits = {};  // puts of these keys are refused
  OpenReport opening = {};

  static Damage& of_process();
};

// Its saves end in ".NAME", which comes before what the sample store would say of them.
class SampleFormat final : public Format {
 public:
  SampleFormat(std::string_view name, Capabilities can);

  std::string_view name() const override { return name_; }
  Result<bool> detect(std::string_view path) const override;
  Result<std::unique_ptr<Store>> open(std::string_view path) const override;
  Result<std::unique_ptr<Store>> create(std::string_view path) const override;
  Status rename(std::string_view from, std::string_view to) const override;
  Status remove(std::string_view path) const override;

 private:
  const std::string name_;
  const OneFileFormat inner_;
};

}  // namespace varve::test
