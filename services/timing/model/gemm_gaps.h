// Values for the cells of a grid of m, n and k of which a part is not known.
//
// Along each axis a cell lies between the next known ones. How far known cells are from what their
// own neighbours say differs by axis and region: along m a library's tiles make steps where time
// along n and k is smooth, elsewhere it is the other way round. So each axis counts by the inverse
// square of what it misses of the known cells near by, and less where it is far from the other two.
#pragma once

#include <vector>

#include "services/timing/model/gemm_rows.h"

namespace eidolon::timing::model {

struct Gap {
  double value = 0;
  double error = 0;      // Standard deviation.
  bool reached = false;  // Some line through the cell has a known one.
};

// One for each cell of `rows`, in their order; what it says of known cells is of no use. `values`
// are those of cells with a time in `rows`, and anything elsewhere.
std::vector<Gap> FillGaps(const GemmRows& rows, const std::vector<double>& values);

}  // namespace eidolon::timing::model
