#include "services/timing/kernel/pointwise_operations.h"

namespace eidolon::timing::kernel {
namespace {

// The exponents 2, 3 and -2 are the first three lambdas of pow_tensor_scalar_kernel_impl.
bool IsShortPower(std::string_view functor) {
  if (functor.find("pow_tensor_scalar_kernel_impl") == functor.npos) return false;
  return functor.find("#1}") != functor.npos || functor.find("#2}") != functor.npos ||
         functor.find("#3}") != functor.npos;
}

}  // namespace

double OperationsPerElement(std::string_view functor) {
  if (functor.find("pow_") != functor.npos) return IsShortPower(functor) ? 5 : kPowerOperations;
  const bool is_narrow = functor.find("(c10::") != functor.npos;
  if (is_narrow && functor.find("Gelu") != functor.npos) return kNarrowGeluOperations;
  if (functor.find("silu") != functor.npos) {
    return is_narrow ? kNarrowSiluOperations : kSiluOperations;
  }
  const bool is_sine = functor.find("sin_") != functor.npos || functor.find("cos_") != functor.npos;
  if (is_narrow && is_sine) return kNarrowSineOperations;
  for (const char* word :
       {"gelu", "Gelu", "GELU", "tanh", "exp", "sigmoid", "silu", "log", "sin", "cos", "erf"}) {
    if (functor.find(word) != functor.npos) return 40;
  }
  return 5;
}

}  // namespace eidolon::timing::kernel
