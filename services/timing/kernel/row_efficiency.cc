#include "services/timing/kernel/row_efficiency.h"

namespace eidolon::timing::kernel {
namespace {

double Between(double x, double x0, double y0, double x1, double y1) {
  if (x <= x0) return y0;
  return x >= x1 ? y1 : y0 + (y1 - y0) * (x - x0) / (x1 - x0);
}

}  // namespace

double LayerNormEfficiency(double row_bytes) { return Between(row_bytes, 8192, 0.9, 20480, 0.64); }

double SoftmaxEfficiency(double row_bytes, bool backward) {
  // Backward reads one of its two inputs twice, forward its only one three times.
  return Between(row_bytes, 32768, 0.82, 65536, backward ? 0.67 : 0.5);
}

}  // namespace eidolon::timing::kernel
