// Time of a matrix product from the published tables: log-log interpolation inside, a smooth
// formula's ratio outside and for other GPUs. Increasing in every size.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "services/timing/gpu_model/gpu_model.h"
#include "services/timing/kernel/work_item.h"
#include "services/timing/model/estimate.h"

namespace eidolon::timing::model {

// Immutable; safe from any thread.
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

 private:
  GemmModel();

  struct Reference {
    double fixed = 0;  // Seconds.
    double per_k = 0;  // Seconds.
    double efficiency = 1;
    double bandwidth = 0;
    double rate = 0;
    std::vector<double> log_seconds;  // [batch][m][n][k], or empty: formula only.
  };

  static double Smooth(const Reference& reference, const Shape& shape, double bandwidth,
                       double rate);
  static double Interpolate(const Reference& reference, const Shape& shape, Shape& clamped);
  const Reference* Find(const gpu_model::GpuModel& gpu, const std::string& type, bool& exact) const;

  // By GPU model name and type; formulas without a table have the name "".
  std::map<std::pair<std::string, std::string>, Reference> references_;
};

// The type by which a product's rate is known, from its inputs and compute type: "bf16", "tf32"...
std::string GemmType(const kernel::Gemm& gemm);

}  // namespace eidolon::timing::model
