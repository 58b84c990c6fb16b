// gpus, presets, fabrics: what clusters can be made of.
#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "services/base/standard_output.h"
#include "services/base/text.h"
#include "services/cli/columns.h"
#include "services/cli/commands.h"
#include "services/cli/names.h"
#include "services/contract/estimate/source.h"
#include "services/controller/job/status.h"
#include "services/controller/shown/report_line.h"
#include "services/timing/gpu_model/gpu_catalog.h"
#include "services/timing/model/estimator.h"

namespace eidolon::cli {
namespace {

using base::StrCat;
using controller::shown::Percent;
using controller::shown::Print;
using timing::gpu_model::GpuModel;

constexpr std::uint32_t kBfloat16 = 14;      // CUDA_R_16BF.
constexpr std::uint32_t kComputeFloat = 68;  // CUBLAS_COMPUTE_32F.
constexpr std::uint64_t kSize = 4096;

// Estimates a GEMM of kSize x kSize x kSize.
timing::model::Estimate GemmOn(const GpuModel& gpu) {
  timing::kernel::Gemm gemm;
  gemm.m = gemm.n = gemm.k = kSize;
  gemm.lda = gemm.ldb = gemm.ldc = gemm.ldd = kSize;
  gemm.type_a = gemm.type_b = gemm.type_c = gemm.type_d = kBfloat16;
  gemm.compute_type = kComputeFloat;
  gemm.transpose_a = true;
  return timing::model::Estimator(nullptr).Of(gpu, timing::kernel::WorkItem{gemm});
}

std::string Rate(const GpuModel& gpu, const char* type) {
  const auto found = gpu.peak_flops.find(type);
  return found == gpu.peak_flops.end() ? "-" : Print("%.0f TFLOP/s", found->second * 1e-12);
}

std::vector<std::string> RowOf(const GpuModel& gpu) {
  const timing::model::Estimate time = GemmOn(gpu);
  const double bytes_per_second = static_cast<double>(gpu.memory_bytes_per_second);
  return {gpu.name,
          controller::job::FormatBytes(gpu.memory_bytes),
          Print("%.2f TB/s", bytes_per_second * 1e-12),
          Rate(gpu, "bf16"),
          Rate(gpu, "fp8"),
          gpu.nvlink_count == 0 ? "-" : StrCat(gpu.nvlink_generation),
          std::string(estimate::Name(time.source)),
          Percent(time.relative_error)};
}

int ListGpus(const std::string& folder) {
  const auto catalog = timing::gpu_model::GpuCatalog::Load(folder);
  if (!catalog) return PrintFailure(catalog.error());
  std::vector<std::vector<std::string>> rows = {
      {"GPU", "MEMORY", "BANDWIDTH", "BF16", "FP8", "NVLINK", "SOURCE", "ERROR"}};
  for (const std::string& name : catalog->names()) rows.push_back(RowOf(**catalog->Find(name)));
  base::Print(StrCat(FormatColumns(rows),
                     "\nBF16 and FP8 are dense peaks. SOURCE and ERROR are of "
                     "a BF16 GEMM of ",
                     kSize, "x", kSize, "x", kSize,
                     ":\nwhere its time comes from, and its standard deviation.\n"));
  return 0;
}

int Show(const std::string& text) {
  base::Print(text);
  return 0;
}

}  // namespace

void CompleteGpu(const std::string& folder, std::string* gpu) {
  const auto catalog = timing::gpu_model::GpuCatalog::Load(folder);
  // Whoever loads the models for more than names says what is wrong with them.
  if (catalog) *gpu = CompleteName(*gpu, catalog->names()).value_or(*gpu);
}

void AddNamesCommands(CLI::App* app, Action* action) {
  auto folder = std::make_shared<std::string>();
  CLI::App* gpus = app->add_subcommand(
      "gpus", "list the GPUs that can be emulated: memory, peak rates, source and error of times");
  gpus->add_option("--gpu-models", *folder, "folder with GPU model files");
  gpus->callback([=] { *action = [folder] { return ListGpus(*folder); }; });
  app->add_subcommand("presets", "list the server presets")->callback([=] {
    *action = [] { return Show(FormatPresets()); };
  });
  app->add_subcommand("fabrics", "list the kinds of networks")->callback([=] {
    *action = [] { return Show(FormatFabrics()); };
  });
}

}  // namespace eidolon::cli
