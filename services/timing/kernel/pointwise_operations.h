// How much element-wise functors compute.
#pragma once

#include <string_view>

namespace eidolon::timing::kernel {

// Of x ** y with an exponent that is not 2, 3 or -2, per element: its code for 9.0 runs 75
// instructions
// (`eidolon values explain`; exp 11, tanh 17, sigmoid and SiLU 22, GELU 25). On an A100 of 40 GB
// such a power is as fast as 107 operations at the FP32 rate of products (NeuSight's powu).
inline constexpr double kPowerOperations = 107;
// Of GELU on 16-bit types, both approximations: published kernels on H100 do 603 and 633 G
// elements/s (e2e/validation/operators.csv).
inline constexpr double kNarrowGeluOperations = 80;

// Operations at the GPU's FP32 rate per element. Matters only for powers, and for transcendental
// functions where memory is fast beside the cores.
double OperationsPerElement(std::string_view functor);

}  // namespace eidolon::timing::kernel
