// kernel: what kernels execute, as far as they were counted.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>
#include <vector>

#include "services/base/standard_output.h"
#include "services/base/text.h"
#include "services/base/write_file.h"
#include "services/cli/commands.h"
#include "services/controller/shown/printable.h"
#include "services/timing/count/counted_kernels.h"
#include "services/timing/count/explain.h"
#include "services/timing/count_flags.h"
#include "services/timing/gpu_model/gpu_catalog.h"

namespace eidolon::cli {
namespace {

using base::StrCat;
using controller::shown::ToPrintable;
using timing::count::Record;

struct KernelFlags {
  std::string name;
  std::string gpu;
  std::string gpu_models;
  std::string svg;
  timing::CountFlags counting;
};

std::vector<Record> Matching(const KernelFlags& flags) {
  std::vector<Record> records = timing::count::ReadRecords(flags.counting.folder);
  std::erase_if(records, [&](const Record& record) {
    const bool other_gpu = !flags.gpu.empty() && record.gpu != flags.gpu;
    return other_gpu || record.name.find(flags.name) == std::string::npos;
  });
  return records;
}

int Explain(const KernelFlags& flags) {
  const auto catalog = timing::gpu_model::GpuCatalog::Load(flags.gpu_models);
  if (!catalog) return PrintFailure(catalog.error());
  const std::vector<Record> records = Matching(flags);
  if (records.empty()) {
    return PrintFailure(
        {base::ErrorCode::kNotFound,
         StrCat("no counted kernel has '", flags.name, "' in its name, in '", flags.counting.folder,
                "': kernels that no model knows are counted when a job "
                "launches them, others with 'eidolon run --count-all-kernels'")});
  }
  for (const Record& record : records) {
    const auto gpu = catalog->Find(record.gpu);
    if (!gpu) return PrintFailure(gpu.error());
    base::Print(ToPrintable(timing::count::ExplainText(record, **gpu)));
    if (&record != &records.front() || flags.svg.empty()) continue;
    const auto written = base::WriteFile(flags.svg, timing::count::RooflineSvg(record, **gpu));
    if (!written) return PrintFailure(written.error());
  }
  return 0;
}

}  // namespace

void AddKernelCommands(CLI::App* app, Action* action) {
  CLI::App* kernel = app->add_subcommand("kernel", "what kernels execute, as far as known");
  kernel->require_subcommand(1);
  CLI::App* explain = kernel->add_subcommand(
      "explain", "counts, bounds and error of kernels whose code was counted");
  auto flags = std::make_shared<KernelFlags>();
  explain->add_option("name", flags->name, "a part of the kernel's (mangled) name")->required();
  explain->add_option("--gpu", flags->gpu, "only as counted for this GPU model");
  explain->add_option("--gpu-models", flags->gpu_models, "folder with GPU model files")
      ->envname("EIDOLON_GPU_MODELS");
  explain->add_option("--svg", flags->svg, "write the first kernel's roofline to this file");
  flags->counting.folder = timing::DefaultCountFolder();
  explain->add_option("--kernel-counts", flags->counting.folder, "folder of the counts")
      ->envname("EIDOLON_KERNEL_COUNTS")
      ->capture_default_str();
  explain->callback([flags, action] { *action = [flags] { return Explain(*flags); }; });
}

}  // namespace eidolon::cli
