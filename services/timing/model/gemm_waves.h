// GEMMs on a GPU that has no published table: whole waves of tiles, with the GPU's own numbers.
// The constants are those of H100's BF16 rows (data/gemm_waves.csv, written by fit/fit_gemm.py).
#pragma once

#include "services/timing/model/gemm_grid.h"
#include "services/timing/model/gemm_surface.h"

namespace eidolon::timing::model {

struct WaveConstants {
  double fixed = 0;       // Seconds of the kernel.
  double wave = 0;        // Seconds to fill and drain a wave of tiles.
  double efficiency = 1;  // Of the sustained rate, inside a wave.
  double memory = 1;      // Of the bandwidth.
  double small = 0;       // A tile of a share s of 128 x 256 elements attains s^small of the rate.
};

// Those of the data file.
WaveConstants PublishedWaveConstants();

// The best of the usual tile shapes against the bytes, rounded off. Grows in every size.
double WaveSeconds(const WaveConstants& constants, const GemmHardware& hardware,
                   const GemmSample& shape);

// The growing surface of another GPU times the ratio of both formulas: for GPUs for which the
// libraries choose the same kernels.
GemmGrid CarriedGrid(const WaveConstants& constants, const GemmHardware& hardware,
                     const GemmSurface& surface, const GemmHardware& surface_hardware);

}  // namespace eidolon::timing::model
