// Measures how well GEMMs follow from published rows that do not hold them: the tables of
// docs/reference/generated/kernel_times.md. Everything by GPU, type and how long the GEMM takes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/error.h"
#include "services/timing/gpu_model/gpu_catalog.h"

namespace eidolon::timing::fit {

struct KernelErrors {
  std::string gpu;
  std::string type;
  std::string from;   // What is known: other rows, or another GPU's.
  std::string lasts;  // "< 20 us" and so on, by the published time.
  std::size_t rows = 0;
  double mean = 0;  // Absolute relative errors, shares.
  double median = 0;
  double p95 = 0;
  double bias = 0;    // Mean of the signed ones.
  double stated = 0;  // Mean of the error that the model itself states.
  double stacks = 0;  // Mean standard deviation between the software stacks of a row.
};

// Returns whether a shape is tested by HeldOutGemms: one in five, by a hash of its sizes alone.
bool IsHeldOut(double m, double n, double k);

// One row in five, from the others.
std::vector<KernelErrors> HeldOutGemms();
// Each GPU's rows, all of them from other GPUs' and the model files.
std::vector<KernelErrors> LeftOutGpus(const gpu_model::GpuCatalog& catalog);
// Rows of a file "gpu,type,m,n,k,microseconds" from one kernel to the next, as the model predicts
// them: in short bursts, and as they are predicted for jobs, held down by power.
base::Result<std::vector<KernelErrors>> GemmsOfFile(const gpu_model::GpuCatalog& catalog,
                                                    std::string_view csv);

// Markdown.
std::string FormatKernels(const std::vector<KernelErrors>& errors);

}  // namespace eidolon::timing::fit
