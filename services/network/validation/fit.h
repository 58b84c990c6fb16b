// Fitting correction curves to published logs.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "services/network/collective/correction.h"
#include "services/network/validation/log_set.h"

namespace eidolon::network::validation {

// A curve and what it was fitted to.
struct FittedCurve {
  collective::CurveKey key;
  std::uint32_t first_octave = 0;
  std::vector<float> ratios;          // Rounded to 1/1000.
  std::vector<std::string> log_sets;  // Names.
};

// The curves of the sets whose role is fit, in key order: for each octave of size the mean, in
// logarithms, of measured over tabled time, smoothed with its neighbours by weights 1 2 1; octaves
// without a measurement between two with one are interpolated. An octave belongs to the algorithm
// that NCCL's table chooses for it.
std::vector<FittedCurve> FitCurves(std::span<const LogSet> sets);

// The text of services/network/collective/correction_table.inc.
std::string FormatTable(std::span<const FittedCurve> curves);

}  // namespace eidolon::network::validation
