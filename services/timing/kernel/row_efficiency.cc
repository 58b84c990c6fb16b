#include "services/timing/kernel/row_efficiency.h"

namespace eidolon::timing::kernel {
namespace {

double Between(double x, double x0, double y0, double x1, double y1) {
  if (x <= x0) return y0;
  return x >= x1 ? y1 : y0 + (y1 - y0) * (x - x0) / (x1 - x0);
}

}  // namespace

double LayerNormEfficiency(double row_bytes) { return Between(row_bytes, 8192, 0.8, 32768, 0.62); }

double LayerNormBackwardEfficiency(double row_bytes, double element_bytes) {
  // Rows that the first-level cache does not hold are read twice.
  constexpr double kWide = 4;
  if (element_bytes < kWide) return Between(row_bytes, 4096, 0.8, 16384, 0.6);
  return Between(row_bytes, 4096, 0.95, 8192, 0.63);
}

double SoftmaxEfficiency(double row_bytes, bool backward) {
  // Backward reads one of its two inputs twice, forward its only one three times: rows of 64 KiB
  // are still found in L2 (e2e/measured), longer ones less and less.
  return backward ? Between(row_bytes, 65536, 0.8, 131072, 0.67)
                  : Between(row_bytes, 65536, 0.77, 131072, 0.5);
}

}  // namespace eidolon::timing::kernel
