// Lists kernels of PyTorch and XLA whose result the host is likely to read and that cannot be zero,
// with plausible results: of the right sign and order, from the launch's parameters where they show
// it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "shim/value/plausible.h"

namespace eidolon::shim::compute {

enum class PlausibleKind {
  kNone,
  kClassLoss,  // nll_loss_forward_reduce_cuda_kernel_1d and _2d: the loss of a model that knows
               // nothing.
  kMean,       // reduce_kernel with MeanOps: a mean squared error, say.
  kNorm,       // reduce_kernel with NormOps, NormOneOps or NormTwoOps.
  kSum,        // reduce_kernel with sum_functor: a loss that is divided by its terms later, say.
  // XLA's, where one thread gives one number: the product, quotient or negation that ends a mean,
  // and the root that ends a norm.
  kMeanOfXla,
  kNormOfXla
};

// The kernel's name tells its kind only where the whole launch is one thread.
constexpr bool IsOfOneThread(PlausibleKind kind) {
  return kind == PlausibleKind::kMeanOfXla || kind == PlausibleKind::kNormOfXla;
}

// Determines the kind by the kernel's mangled name.
PlausibleKind PlausibleKindOf(std::string_view mangled);

// Returns what such a kernel gives. `parameters` as the device reads them. Nothing: its types or
// parameters are not those that are known here. A loss over C classes: ln C, as of equal
// probabilities, for each of the frames that are added up. A mean: 0.5, which may be an error as
// well as a share. A norm: 1. So is a sum of everything, of whose order nothing is known, but which
// programs divide by; of sums that are many, gradients of biases say, nobody knows anything.
std::optional<value::PlausibleResult> PlausibleResultOf(PlausibleKind kind,
                                                        std::string_view mangled,
                                                        std::span<const std::byte> parameters);

}  // namespace eidolon::shim::compute
