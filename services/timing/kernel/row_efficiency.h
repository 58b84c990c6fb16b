// Share of the bandwidth that kernels with a block a row reach, by the row's bytes: from NeuSight's
// A100 rows (fit/data/neusight_fp32.csv, "ln" and "softmax") and from an H200 (e2e/measured).
// Beyond a size the row does not fit into registers or shared memory and is read again.
#pragma once

namespace eidolon::timing::kernel {

double LayerNormEfficiency(double row_bytes);
double LayerNormBackwardEfficiency(double row_bytes, double element_bytes);
double SoftmaxEfficiency(double row_bytes, bool backward);

}  // namespace eidolon::timing::kernel
