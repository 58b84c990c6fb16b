// Scratch memory that executing an operation graph takes, which the program must provide. It
// decides a job's peak memory, so what is asked for follows what cuDNN asks for. Stateless.
#pragma once

#include <cstdint>
#include <span>

#include "services/contract/workload/work.h"

namespace eidolon::shim::cudnn {

// Bytes for:
//   - filter gradients in types under 32 bits, whose split reductions are added in single
//     precision first;
//   - the backward pass of attention that keeps its score gradients, which is what cuDNN's frontend
//     builds when the program asks for a deterministic one: batch x heads x queries x keys numbers
//     of 16 bits, both lengths rounded up to 64 (cudnn-frontend,
//     scaled_dot_product_flash_attention.h: the dP workspace). Attention in FP8 has none
//     (sdpa_fp8_bwd.h).
// Everything else runs without.
std::int64_t WorkspaceOf(std::span<const workload::DnnTensor> tensors,
                         std::span<const workload::DnnOperation> operations);

}  // namespace eidolon::shim::cudnn
