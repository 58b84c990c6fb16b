// Which rows are held out follows from a hash of their sizes: the same shapes for every GPU and
// type, today and after rows were added, so errors stay comparable. Errors are kept apart by how
// long a GEMM takes. The stated error is shown beside the real one, because reports use it; the
// scatter between software stacks shows how far the rows themselves agree.
#include "services/timing/fit/gemm_kernels.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <string>
#include <utility>

#include "services/base/hash.h"
#include "services/base/text.h"
#include "services/timing/fit/errors.h"
#include "services/timing/model/gemm_model.h"
#include "services/timing/model/measured_gemms.h"
#include "services/timing/model/published_gemms.h"

namespace eidolon::timing::fit {
namespace {

using base::StrCat;
using model::EmbeddedRows;
using model::GemmModel;
using model::GemmRows;
using model::MeasuredGemms;

constexpr std::size_t kClasses = 3;
constexpr double kEnds[] = {20e-6, 200e-6};
constexpr const char* kNames[kClasses] = {"< 20 us", "20 to 200 us", "> 200 us"};

// Errors of one GPU and type in the three classes.
class Classes {
 public:
  void Add(double predicted, double measured, double stated, double spread) {
    const std::size_t at = measured < kEnds[0] ? 0 : (measured < kEnds[1] ? 1 : 2);
    errors_[at].Add(predicted, measured);
    stated_[at] += stated;
    spread_[at] += spread;
  }

  // `row` with its classes filled in, those without rows left out.
  void Append(const KernelErrors& row, std::vector<KernelErrors>& all) const {
    for (std::size_t i = 0; i < kClasses; ++i) {
      const Errors& errors = errors_[i];
      if (errors.size() == 0) continue;
      KernelErrors one = row;
      const auto count = static_cast<double>(errors.size());
      one.lasts = kNames[i];
      one.rows = errors.size();
      one.mean = errors.Mean();
      one.median = errors.Median();
      one.p95 = errors.Percentile95();
      one.bias = errors.Bias();
      one.stated = stated_[i] / count;
      one.stacks = spread_[i] / count;
      all.push_back(one);
    }
  }

 private:
  std::array<Errors, kClasses> errors_;
  std::array<double, kClasses> stated_ = {};
  std::array<double, kClasses> spread_ = {};
};

// Calls `visit(cell, m, n, k, seconds)` for each measured row.
template <typename Visit>
void ForEachRow(const GemmRows& rows, const Visit& visit) {
  for (std::size_t i = 0; i < rows.cells(); ++i) {
    if (rows.microseconds[i] == 0) continue;
    visit(i, rows.SizeOf(i, 0), rows.SizeOf(i, 1), rows.SizeOf(i, 2),
          static_cast<double>(rows.microseconds[i]) * 1e-6);
  }
}

}  // namespace

bool IsHeldOut(double m, double n, double k) {
  const std::string shape = StrCat(std::llround(m), "x", std::llround(n), "x", std::llround(k));
  return base::Hash64(shape.data(), shape.size()) % 5 == 0;
}

std::vector<KernelErrors> HeldOutGemms() {
  std::vector<KernelErrors> all;
  for (const EmbeddedRows& file : model::EmbeddedGemmRows()) {
    const GemmRows rows = model::ReadEmbedded(file);
    GemmRows known = rows;
    ForEachRow(rows, [&](std::size_t cell, double m, double n, double k, double) {
      if (IsHeldOut(m, n, k)) known.microseconds[cell] = 0;
    });
    const MeasuredGemms gemms(known);
    Classes classes;
    ForEachRow(rows, [&](std::size_t cell, double m, double n, double k, double seconds) {
      if (!IsHeldOut(m, n, k)) return;
      const MeasuredGemms::Answer answer = gemms.Read(m, n, k);
      classes.Add(answer.seconds, seconds, answer.relative_error,
                  static_cast<double>(rows.spread[cell]));
    });
    classes.Append({.gpu = rows.gpu, .type = rows.type, .from = "four fifths of its rows"}, all);
  }
  return all;
}

std::vector<KernelErrors> LeftOutGpus(const gpu_model::GpuCatalog& catalog) {
  std::vector<KernelErrors> all;
  for (const EmbeddedRows& file : model::EmbeddedGemmRows()) {
    const auto gpu = catalog.Find(std::string(file.gpu));
    if (!gpu) continue;
    const auto carried = model::PublishedGemms::Get().CarriedTo(**gpu, std::string(file.type));
    if (carried.gemms == nullptr) continue;
    const GemmRows rows = model::ReadEmbedded(file);
    Classes classes;
    ForEachRow(rows, [&](std::size_t cell, double m, double n, double k, double seconds) {
      const MeasuredGemms::Answer answer = carried.gemms->Read(m, n, k);
      classes.Add(answer.seconds, seconds, answer.relative_error,
                  static_cast<double>(rows.spread[cell]));
    });
    std::string from(carried.reference_gpu);
    if (carried.reference_gpus > 1) {
      from = carried.same_architecture ? "its architecture" : "other architectures";
    }
    classes.Append({.gpu = rows.gpu, .type = rows.type, .from = from}, all);
  }
  return all;
}

base::Result<std::vector<KernelErrors>> GemmsOfFile(const gpu_model::GpuCatalog& catalog,
                                                    std::string_view csv) {
  // Errors in bursts and for jobs.
  std::map<std::pair<std::string, std::string>, std::array<Classes, 2>> found;
  std::size_t line = 0;
  for (const std::string_view text : base::Split(csv, '\n')) {
    ++line;
    if (line == 1 || text.empty() || text.starts_with('#')) continue;
    const auto cells = base::Split(text, ',');
    std::array<double, 4> numbers = {};
    bool valid = cells.size() == 6;
    for (std::size_t i = 0; valid && i < numbers.size(); ++i) {
      const auto number = base::ParseNumber(cells[i + 2]);
      valid = number && *number > 0;
      if (valid) numbers[i] = *number;
    }
    if (!valid) {
      return base::Fail(base::ErrorCode::kInvalidArgument,
                        StrCat("line ", line, " is not 'gpu,type,m,n,k,microseconds'"));
    }
    const auto gpu = catalog.Find(std::string(cells[0]));
    if (!gpu) return std::unexpected(gpu.error());
    const std::string type(cells[1]);
    const auto [m, n, k, us] = numbers;
    const GemmModel::Shape shape = {
        .m = m, .n = n, .k = k, .type = type, .input_bytes = type == "fp8" ? 1.0 : 2.0};
    gpu_model::GpuModel burst = **gpu;
    burst.power.reset();
    burst.steady_product_share = 100;  // No bound.
    const auto in_burst = GemmModel::Get().Predict(burst, shape);
    auto in_job = GemmModel::Get().Predict(**gpu, shape);
    in_job.seconds = model::GemmModel::SecondsWithoutPause(**gpu, shape, in_job.seconds);
    auto& classes = found[{burst.name, type}];
    classes[0].Add(in_burst.seconds, us * 1e-6, in_burst.relative_error, 0);
    classes[1].Add(in_job.seconds, us * 1e-6, in_job.relative_error, 0);
  }
  std::vector<KernelErrors> all;
  for (const auto& [key, classes] : found) {
    classes[0].Append({.gpu = key.first, .type = key.second, .from = "the model, bursts"}, all);
    classes[1].Append({.gpu = key.first, .type = key.second, .from = "the model, for jobs"}, all);
  }
  return all;
}

std::string FormatKernels(const std::vector<KernelErrors>& errors) {
  std::string text =
      "| GPU | type | from | lasts | rows | mean error | median | 95th percentile | bias | stated "
      "| "
      "stacks |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n";
  for (const KernelErrors& e : errors) {
    text += StrCat("| ", e.gpu, " | ", e.type, " | ", e.from, " | ", e.lasts, " | ", e.rows, " | ");
    text += StrCat(Percent(e.mean), " | ", Percent(e.median), " | ", Percent(e.p95), " | ");
    text += StrCat(Percent(e.bias), " | ", Percent(e.stated), " | ");
    text += e.stacks > 0 ? Percent(e.stacks) + " |\n" : "- |\n";
  }
  return text;
}

}  // namespace eidolon::timing::fit
