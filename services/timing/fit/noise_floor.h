// Measures how far software stacks that ran the same GEMM on the same GPU differ, beside how far a
// model that has not seen a shape is from the median of the stacks.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "services/timing/fit/gemm_kernels.h"

namespace eidolon::timing::fit {

// Limit of a mean error, as a multiple of the noise floor.
inline constexpr double kNoiseFloorShare = 1.3;

// Means of |a - b| / mean(a, b), shares.
struct NoiseFloor {
  std::string_view gpu;
  std::string_view type;
  std::string_view lasts;  // As in KernelErrors.
  std::size_t pairs = 0;
  double all = 0;       // Over all pairs of stacks: the noise floor.
  double versions = 0;  // Over two versions of one stack.
  double stacks = 0;    // Over the newest versions of two stacks. 0: there is one stack only.
};

// Written by gemm_noise_floor.py.
std::vector<NoiseFloor> NoiseFloors();

// Returns whether the mean error is kNoiseFloorShare of the floor at most.
bool HoldsFloor(const KernelErrors& errors, const NoiseFloor& floor);

// Markdown: each floor beside the error of the same GPU, type and class.
std::string FormatNoiseFloor(const std::vector<KernelErrors>& held_out);

}  // namespace eidolon::timing::fit
