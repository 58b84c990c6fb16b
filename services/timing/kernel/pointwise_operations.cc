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
  if (functor.find("Gelu") != functor.npos && functor.find("(c10::") != functor.npos) {
    return kNarrowGeluOperations;
  }
  for (const char* word :
       {"gelu", "Gelu", "GELU", "tanh", "exp", "sigmoid", "silu", "log", "sin", "cos", "erf"}) {
    if (functor.find(word) != functor.npos) return 40;
  }
  return 5;
}

}  // namespace eidolon::timing::kernel
