#include "services/timing/model/gemm_waves.h"

#include <algorithm>
#include <cmath>

#include "services/base/check.h"
#include "services/timing/model/published_tables.h"

namespace eidolon::timing::model {
namespace {

constexpr double kWidths[] = {64, 128, 256};

double RoundedLarger(double a, double b) {
  return std::sqrt(std::sqrt(std::pow(a, 4) + std::pow(b, 4)));
}

}  // namespace

WaveConstants PublishedWaveConstants() {
  const auto rows = CsvRows(GemmWavesCsv(), 5);
  CHECK(rows.size() == 1);
  const CsvRow& row = rows.front();
  return {.fixed = CsvNumber(row[0]) * 1e-12,
          .wave = CsvNumber(row[1]) * 1e-12,
          .efficiency = CsvNumber(row[2]) * 1e-6,
          .memory = CsvNumber(row[3]) * 1e-6,
          .small = CsvNumber(row[4]) * 1e-6};
}

// The same formula as fit/fit_gemm.py.
double WaveSeconds(const WaveConstants& c, const GemmHardware& h, const GemmSample& s) {
  constexpr double kWholeTile = 128 * 256;
  double best = 0;
  for (const double tile_m : kWidths) {
    for (const double tile_n : kWidths) {
      const double tile = tile_m * tile_n;
      const double share = std::pow(std::min(tile / kWholeTile, 1.0), c.small);
      const double rate = h.rate / h.multiprocessors * c.efficiency * share;
      const double tiles = s.batch * std::ceil(s.m / tile_m) * std::ceil(s.n / tile_n);
      const double seconds =
          std::ceil(tiles / h.multiprocessors) * (2 * tile * s.k / rate + c.wave);
      if (best == 0 || seconds < best) best = seconds;
    }
  }
  const double bytes = s.batch * ((s.m + s.n) * s.k * h.input_bytes + s.m * s.n * h.output_bytes);
  return c.fixed + RoundedLarger(best, bytes / (h.bandwidth * c.memory));
}

GemmGrid CarriedGrid(const WaveConstants& constants, const GemmHardware& hardware,
                     const GemmSurface& surface, const GemmHardware& surface_hardware) {
  GemmGrid grid;
  for (std::size_t cell = 0; cell < GemmGrid::kCells; ++cell) {
    const GemmSample shape = GemmGrid::ShapeOf(cell);
    grid[cell] = std::log(surface.GrowingSeconds(shape) * WaveSeconds(constants, hardware, shape) /
                          WaveSeconds(constants, surface_hardware, shape));
  }
  return grid.Growing();
}

}  // namespace eidolon::timing::model
