// Knows how much element-wise functors compute.
#pragma once

#include <string_view>

namespace eidolon::timing::kernel {

// Of x ** y with an exponent that is not 2, 3 or -2, per element: its code for 9.0 runs 75
// instructions
// (`eidolon values explain`; exp 11, tanh 17, sigmoid and SiLU 22, GELU 25). On an A100 of 40 GB
// such a power is as fast as 107 operations at the FP32 rate of products (NeuSight's powu).
inline constexpr double kPowerOperations = 107;
// Operations of GELU, SiLU, and sines on 16-bit types, and of SiLU on 32-bit ones, which divides:
// on H200 1.29, 1.96, 1.16 and 2.77 ps an element (e2e/measured).
inline constexpr double kNarrowGeluOperations = 66;
inline constexpr double kNarrowSiluOperations = 100;
inline constexpr double kSiluOperations = 141;
inline constexpr double kNarrowSineOperations = 59;

// Operations at the GPU's FP32 rate per element. Matters only for powers, and for transcendental
// functions where memory is fast beside the cores.
double OperationsPerElement(std::string_view functor);

}  // namespace eidolon::timing::kernel
