// Time of a GEMM: from the rows that were published for this GPU and type (measured_gemms.h); else
// from the tables of data/, a surface fitted to them inside, a smooth formula's ratio outside and
// for other GPUs. Increasing in every size.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "services/timing/gpu_model/gpu_model.h"
#include "services/timing/kernel/work_item.h"
#include "services/timing/model/estimate.h"
#include "services/timing/model/gemm_surface.h"
#include "services/timing/model/gemm_waves.h"
#include "services/timing/model/measured_gemms.h"

namespace eidolon::timing::model {

// Source of a table of this GPU and type: what fitting and checking start from.
struct GemmTable {
  std::string gpu;
  std::string type;
  GemmHardware hardware;
  std::vector<GemmSample> samples;
};

// Immutable but for surfaces and grids made on first use; safe from any thread.
class GemmModel {
 public:
  // The one made from the embedded tables.
  static const GemmModel& Get();

  Prediction Predict(const gpu_model::GpuModel& gpu, const kernel::Gemm& gemm) const;

  // A GEMM of `type` ("bf16", "tf32", ...) with these sizes in row-major order, output bytes per
  // element given: what convolutions and attention templates call.
  struct Shape {
    double batch = 1;
    double m = 1;
    double n = 1;
    double k = 1;
    std::string type = "bf16";
    double input_bytes = 2;
    double output_bytes = 2;
  };
  Prediction Predict(const gpu_model::GpuModel& gpu, const Shape& shape) const;

  // One of a short burst, which power does not bound, from `gemms`, rows of this GPU or carried to
  // it. docs/reference/generated/kernel_times.md says why the gap between kernels is left in.
  static Prediction PredictBurst(const MeasuredGemms& gemms, const gpu_model::GpuModel& gpu,
                                 const Shape& shape);

  // Answers for GEMMs of this shape that run without pause for long, each `burst` seconds at the
  // burst clock.
  static double SecondsWithoutPause(const gpu_model::GpuModel& gpu, const Shape& shape,
                                    double burst);

  // Answers as if of all published tables only those of `table_gpu` were known.
  Prediction PredictFrom(const std::string& table_gpu, const gpu_model::GpuModel& gpu,
                         const Shape& shape) const;

  std::vector<GemmTable> Tables() const;

 private:
  GemmModel();

  struct Reference {
    double fixed = 0;  // Seconds.
    double per_k = 0;  // Seconds.
    double efficiency = 1;
    double bandwidth = 0;
    double rate = 0;
    // Of the GPU and type whose table there is; without samples the formula alone counts.
    GemmHardware hardware;
    std::vector<GemmSample> samples;
    GemmScales scales;
    mutable std::once_flag surface_once;
    mutable std::unique_ptr<const GemmSurface> surface;  // Made on first use.

    const GemmSurface& Surface() const;
  };

  // One table's GPU and type, or only a formula, and whether that is the very GPU asked for.
  struct Basis {
    const Reference* reference;
    bool exact;
    bool same_kernels;  // Libraries choose the same kernels for both.
  };

  static double Smooth(const Reference& reference, const Shape& shape, double bandwidth,
                       double rate);
  static GemmSample Clamped(const Shape& shape);
  void ReadScales();
  void ReadTable();
  const std::string& TableGpuFor(const gpu_model::GpuModel& gpu) const;
  Basis Find(const gpu_model::GpuModel& gpu, const std::string& type) const;
  Basis FindFrom(const std::string& table_gpu, const gpu_model::GpuModel& gpu,
                 const std::string& type) const;
  Prediction PredictWith(const Basis& basis, const gpu_model::GpuModel& gpu,
                         const Shape& shape) const;
  // Seconds of a burst, from the table of this very GPU, of one of its kind, or from waves alone.
  double TableSeconds(const Basis& basis, const gpu_model::GpuModel& gpu, const Shape& shape) const;
  double WavesAlone(const gpu_model::GpuModel& gpu, const Shape& shape) const;
  const GemmGrid& CarriedTo(const gpu_model::GpuModel& gpu, const Reference& reference,
                            const std::string& type) const;

  // By GPU model name and type; formulas without a table have the name "".
  std::map<std::pair<std::string, std::string>, Reference> references_;
  std::map<std::uint32_t, std::string> table_gpus_;  // By compute capability.
  WaveConstants waves_;
  // Grids of GPUs of a table's kind, made on first use: by multiprocessors, bandwidth, rate, table.
  using CarriedKey = std::tuple<double, double, double, const Reference*>;
  mutable std::mutex carried_mutex_;
  mutable std::map<CarriedKey, const GemmGrid> carried_;
};

// Rate of a multiprocessor, for GEMMs of 16-bit types whose rows do not begin where 16 bytes do:
// CUTLASS kernels of older architectures. Aligned to one element, with short sums, 51 to 71 TFLOP/s
// (published on H100, e2e/validation/operators.csv); with long ones 95 to 147, and aligned to two,
// 247 to 262 (on H200, e2e/measured: logits of 50257 and 30522 words).
inline constexpr double kOddRowsFlopsPerClock = 243;
inline constexpr double kLongOddRowsFlopsPerClock = 430;
inline constexpr double kEvenRowsFlopsPerClock = 950;

// The type by which a GEMM's rate is known, from its inputs and compute type: "bf16", "tf32"...
std::string GemmType(const kernel::Gemm& gemm);

}  // namespace eidolon::timing::model
