// All arms, loaded with the same data, ready to be measured side by side.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "harness/workload.h"
#include "kv_arm.h"
#include "kv_data.h"

namespace varve::bench {

class KvContest {
 public:
  // 10,000 records, or a few for a quick run.
  explicit KvContest(const Context& context);

  KvData& data() noexcept { return data_; }
  std::size_t arm_count() const noexcept { return arms_.size(); }
  KvArm& arm(std::size_t index) noexcept { return *arms_[index]; }
  const std::string& dir(std::size_t index) const noexcept { return dirs_[index]; }
  // One series per arm. An arm that could not be opened or loaded has failed.
  std::vector<Series>& series() noexcept { return series_; }

  // Opens every arm in a folder of its own and saves all records.
  void load();
  // The same for one arm.
  Status load(std::size_t arm_index);
  // Does `work` for every arm that has not failed; where it fails, the arm has.
  void for_each(const std::function<Status(std::size_t arm_index)>& work);
  // Closes every arm, opens it again and reads every record: an arm that lost or
  // changed one has failed, however fast it was.
  void verify_and_close();

 private:
  std::string root_;
  KvData data_;
  std::vector<std::unique_ptr<KvArm>> arms_;
  std::vector<std::string> dirs_;
  std::vector<Series> series_;
};

// Opens `arm` in `dir`, which is made, and saves all records of `data`.
Status load_arm(KvArm& arm, const std::string& dir, const KvData& data);

}  // namespace varve::bench
