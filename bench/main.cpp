// varve_bench: see bench/README.md.
//
// Exit: 0 measured, 1 an arm or a workload failed, 2 wrong usage.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "base/try.h"
#include "harness/data_folder.h"
#include "harness/environment.h"
#include "harness/options.h"
#include "harness/report_json.h"
#include "harness/table.h"
#include "harness/workload.h"
#include "io/path.h"
#include "io/vfs.h"
#include "kv_arm.h"
#include "kv_child.h"
#include "workloads.h"

namespace varve::bench {
namespace {

Environment full_environment(const Options& options, const std::string& data_dir) {
  Environment environment = describe_environment(data_dir);
  environment.emplace_back("seed", fmt::format("{}", kSeed));
  if (options.quick) environment.emplace_back("quick", "yes: these figures mean nothing");
  for (const KvArmKind& kind : kv_arm_kinds()) {
    const std::string version = kind.version.empty() ? "" : kind.version + ": ";
    environment.emplace_back("arm " + kind.name, version + kind.settings);
  }
  if (const auto absent = absent_kv_arms(); !absent.empty()) {
    environment.emplace_back("absent", fmt::format("{}", fmt::join(absent, ", ")));
  }
  return environment;
}

WorkloadReport run_workload(const Workload& workload, const Options& options,
                            const std::string& run_dir) {
  WorkloadReport report{.workload = workload.name, .error = {}, .measurements = {}};
  // A folder of its own, gone before the next workload needs the space.
  Result<DataFolder> folder = DataFolder::create(run_dir, true);
  if (!folder) {
    report.error = folder.error().message();
    return report;
  }
  auto measured = workload.run(
      {.dir = folder->path(), .quick = options.quick, .round_count = options.round_count});
  if (measured) {
    report.measurements = *std::move(measured);
  } else {
    report.error = measured.error().message();
  }
  return report;
}

bool failed(const WorkloadReport& report) {
  return !report.error.empty() ||
         std::any_of(report.measurements.begin(), report.measurements.end(), [](const auto& m) {
           return std::any_of(m.series.begin(), m.series.end(),
                              [](const Series& series) { return series.failed(); });
         });
}

Status write_file(const std::string& path, std::string_view text) {
  VARVE_ASSIGN(const auto file, posix_vfs().open(path, OpenMode::replace));
  VARVE_TRY(file->append(as_byte_view(text)));
  return file->close();
}

int fail(const Error& error, int exit_code) {
  fmt::print(stderr, "varve_bench: {}\n", error.message());
  return exit_code;
}

// Usage errors are found before anything runs for minutes.
int run(const Options& options, const Workloads& workloads) {
  Result<DataFolder> folder = DataFolder::create(options.dir, options.quick);
  if (!folder) return fail(folder.error(), 2);
  if (!options.json_path.empty()) {
    if (const Status writable = write_file(options.json_path, ""); !writable) {
      return fail(writable.error(), 2);
    }
  }
  const Environment environment = full_environment(options, folder->path());
  for (const auto& [name, value] : environment) fmt::print("{:<18} {}\n", name, value);
  std::fflush(stdout);
  warm_memory(options.quick);

  std::vector<WorkloadReport> reports;
  for (const Workload& workload : workloads) {
    if (!options.workloads.empty() && std::find(options.workloads.begin(), options.workloads.end(),
                                                workload.name) == options.workloads.end()) {
      continue;
    }
    reports.push_back(run_workload(workload, options, folder->path()));
    fmt::print("\n== {}\n", workload.name);
    for (const Measurement& m : reports.back().measurements) {
      fmt::print("{}\n", format_measurement(m));
    }
    if (!reports.back().error.empty()) fmt::print("FAILED: {}\n", reports.back().error);
    std::fflush(stdout);
  }
  if (!options.json_path.empty()) {
    const Status written = write_file(options.json_path, format_json(environment, reports));
    if (!written) return fail(written.error(), 1);
  }
  return std::any_of(reports.begin(), reports.end(), failed) ? 1 : 0;
}

int main_with(std::span<const char* const> arguments) {
  if (const auto exit_code = run_as_child(arguments)) return *exit_code;
  const Workloads workloads = all_workloads();
  std::vector<std::string> names;
  for (const Workload& workload : workloads) names.push_back(workload.name);
  const Result<Options> options = parse_options(arguments, names);
  if (!options) return fail(options.error(), 2);
  if (options->help) {
    fmt::print("{}", usage_text());
    return 0;
  }
  if (options->list) {
    for (const Workload& w : workloads) fmt::print("{:<12} {}\n", w.name, w.summary);
    return 0;
  }
  return run(*options, workloads);
}

}  // namespace
}  // namespace varve::bench

int main(int argc, char** argv) {
  return varve::bench::main_with({argv + 1, static_cast<std::size_t>(argc - 1)});
}
