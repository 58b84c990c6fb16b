// Time of a matrix product from the published tables: a surface fitted to them inside, a smooth
// formula's ratio outside and for other GPUs. Increasing in every size.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "services/timing/gpu_model/gpu_model.h"
#include "services/timing/kernel/work_item.h"
#include "services/timing/model/estimate.h"
#include "services/timing/model/gemm_surface.h"

namespace eidolon::timing::model {

// What a table of this GPU and type was measured with: what fitting and checking start from.
struct GemmTable {
  std::string gpu;
  std::string type;
  GemmHardware hardware;
  std::vector<GemmSample> samples;
};

// Immutable but for surfaces made on first use; safe from any thread.
class GemmModel {
 public:
  // The one made from the embedded tables.
  static const GemmModel& Get();

  Prediction Predict(const gpu_model::GpuModel& gpu, const kernel::Gemm& gemm) const;

  // A product of `type` ("bf16", "tf32", ...) with these sizes in row-major order, output bytes per
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
    GaussianScales scales;
    mutable std::once_flag surface_once;
    mutable std::unique_ptr<const GemmSurface> surface;  // Made on first use.

    const GemmSurface& Surface() const;
  };

  static double Smooth(const Reference& reference, const Shape& shape, double bandwidth,
                       double rate);
  static double Interpolate(const Reference& reference, const Shape& shape, Shape& clamped);
  void ReadScales();
  void ReadTable();
  const Reference* Find(const gpu_model::GpuModel& gpu, const std::string& type, bool& exact) const;

  // By GPU model name and type; formulas without a table have the name "".
  std::map<std::pair<std::string, std::string>, Reference> references_;
};

// The type by which a product's rate is known, from its inputs and compute type: "bf16", "tf32"...
std::string GemmType(const kernel::Gemm& gemm);

}  // namespace eidolon::timing::model
