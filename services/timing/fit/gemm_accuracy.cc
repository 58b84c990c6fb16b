// An error is only worth something on rows that a model has not seen. Halves are drawn by shape and
// not by row, because a table may have several rows of one shape (FP8's mixes of formats), of which
// one in each half would give the other away. The draw has a fixed seed, so that a changed error
// means a changed model. Carrying one GPU's table to another is tested against a GPU without a
// power limit, since tables are short bursts.
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "services/base/check.h"
#include "services/base/random.h"
#include "services/base/text.h"
#include "services/timing/fit/accuracy.h"
#include "services/timing/fit/errors.h"
#include "services/timing/model/gemm_model.h"

namespace eidolon::timing::fit {
namespace {

using base::StrCat;
using model::GemmModel;
using model::GemmSample;
using model::GemmSurface;
using model::GemmTable;
using Shape = std::tuple<double, double, double, double>;

Shape ShapeOf(const GemmSample& s) { return {s.batch, s.m, s.n, s.k}; }

// A random half of the table's shapes, the same for every table.
std::set<Shape> Half(const GemmTable& table) {
  std::set<Shape> all;
  for (const GemmSample& s : table.samples) all.insert(ShapeOf(s));
  base::Random random(1);
  std::set<Shape> half;
  for (const Shape& shape : all) {
    if (random.Below(2) == 0) half.insert(shape);
  }
  return half;
}

struct Target {
  double mean = 0;
  double p95 = 0;
};

Target TargetOf(const std::string& type) {
  if (type == "bf16") return {0.025, 0.08};
  return {type == "fp8" ? 0.045 : 0.09, 0};
}

}  // namespace

std::vector<Accuracy> GemmHalves(int steps) {
  std::vector<Accuracy> rows;
  for (const GemmTable& table : GemmModel::Get().Tables()) {
    const std::set<Shape> half = Half(table);
    std::vector<GemmSample> known;
    for (const GemmSample& s : table.samples) {
      if (half.contains(ShapeOf(s))) known.push_back(s);
    }
    const auto scales = model::FitGemmScales(table.hardware, known, steps);
    const GemmSurface surface(table.hardware, known, scales);
    Errors fit;
    Errors test;
    for (const GemmSample& s : table.samples) {
      (half.contains(ShapeOf(s)) ? fit : test).Add(surface.Seconds(s), s.seconds);
    }
    const Target target = TargetOf(table.type);
    Accuracy row = {.what = StrCat("GEMM ", table.type, ", ", table.gpu),
                    .fitted = "a random half of the shapes",
                    .tested = "the other half",
                    .fit_rows = fit.size(),
                    .fit_mean = fit.Mean(),
                    .target = target.mean,
                    .target_p95 = target.p95};
    test.Fill(row);
    rows.push_back(row);
  }
  return rows;
}

std::vector<Accuracy> GemmAcrossGpus(const gpu_model::GpuCatalog& catalog) {
  const auto b200 = catalog.Find("B200-SXM-180GB");
  CHECK(b200.has_value());
  // The table holds short bursts, which power does not bound.
  gpu_model::GpuModel burst = **b200;
  burst.power.reset();
  burst.steady_product_share = 1;
  std::vector<Accuracy> rows;
  for (const GemmTable& table : GemmModel::Get().Tables()) {
    if (table.gpu != "B200-SXM-180GB") continue;
    Errors test;
    for (const GemmSample& s : table.samples) {
      const auto prediction = GemmModel::Get().PredictFrom(
          "H100-SXM5-80GB", burst,
          GemmModel::Shape{.batch = s.batch,
                           .m = s.m,
                           .n = s.n,
                           .k = s.k,
                           .type = table.type,
                           .input_bytes = table.hardware.input_bytes,
                           .output_bytes = table.hardware.output_bytes});
      test.Add(prediction.seconds, s.seconds);
    }
    Accuracy row = {.what = StrCat("GEMM ", table.type, ", B200 from H100"),
                    .fitted = "the H100 table and two model files",
                    .tested = "the B200 table",
                    .target = 0.15};
    test.Fill(row);
    rows.push_back(row);
  }
  return rows;
}

std::string GemmScales(int steps) {
  std::string text =
      "# Written by `eidolon profile fit`: the scales of the Gaussian processes over "
      "gemm_table.csv,\n"
      "# in thousandths; rough ones (1) and smooth ones (0), whose mean counts; lengths in octaves "
      "of\n"
      "# batch, m, n, k, batch x m x n and min(m, n), signal and noise of the logarithm of time. "
      "dip:\n"
      "# the share that a larger GEMM may take less than a smaller one which takes less than\n"
      "# grows_from (nanoseconds).\n"
      "gpu,type,multiprocessors,rough,batch,m,n,k,tiles,narrow,signal,noise,loose_noise,dip,"
      "grows_from\n";
  const auto thousandths = [](double value) {
    return "," + std::to_string(std::llround(value * 1000));
  };
  for (const GemmTable& table : GemmModel::Get().Tables()) {
    const auto scales = model::FitGemmScales(table.hardware, table.samples, steps);
    for (const model::GaussianScales& process : scales.processes) {
      text += StrCat(table.gpu, ",", table.type, ",", std::llround(table.hardware.multiprocessors));
      text += process.rough ? ",1" : ",0";
      for (const double length : process.length) text += thousandths(length);
      text += thousandths(process.signal) + thousandths(process.noise);
      text += thousandths(process.loose_noise) + thousandths(scales.growth.dip);
      text += StrCat(",", std::llround(scales.growth.grows_from * 1e9), "\n");
    }
  }
  return text;
}

}  // namespace eidolon::timing::fit
