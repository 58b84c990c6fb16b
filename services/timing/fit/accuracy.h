// How well the models do on published measurements that they were not fitted to: the error table of
// docs/reference/generated/timing_accuracy.md. Every figure separates the rows that a model was
// fitted to from the rows that it is tested on.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "services/base/error.h"
#include "services/timing/fit/accuracy_row.h"
#include "services/timing/gpu_model/gpu_catalog.h"

namespace eidolon::timing::fit {

// Fits on a random half of the shapes and tests on the other, for each table of the GEMM model;
// `steps` of search for the process' scales.
std::vector<Accuracy> GemmHalves(int steps);
// The B200 table from the H100 table and the two model files.
std::vector<Accuracy> GemmAcrossGpus(const gpu_model::GpuCatalog& catalog);
// Each length of each published curve from the other lengths.
std::vector<Accuracy> AttentionLengths();
// NeuSight's FP32 kernels (the text of fit/data/neusight_fp32.csv): GEMMs fitted on A100 and
// predicted on H100; the others, for which no H100 was published, by the models as they are.
base::Result<std::vector<Accuracy>> NeusightFamilies(const gpu_model::GpuCatalog& catalog,
                                                     std::string_view csv);
// GEMMs that ran for seconds (the text of fit/data/long_runs.csv), one row a GPU: the large ones
// from its best rate and the steady share of the other GPUs of its kind (Blackwell or not); GB200
// has no other. Then all of its rows by the model as it is.
base::Result<std::vector<Accuracy>> LongRuns(const gpu_model::GpuCatalog& catalog,
                                             std::string_view csv);

// Markdown.
std::string FormatAccuracies(const std::vector<Accuracy>& rows);

// data/gemm_scales.csv of the models, fitted to the whole tables.
std::string GemmScales(int steps);

}  // namespace eidolon::timing::fit
