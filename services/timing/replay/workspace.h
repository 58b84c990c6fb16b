// The workspace that PyTorch gives cuBLAS and cuBLASLt, which choose kernels by its size.
// Stateless; any thread may call it.
#pragma once

#include <cstdint>

namespace eidolon::timing::replay {

// PyTorch's defaults (ATen/cuda/CublasHandlePool.cpp, parseChosenWorkspaceSize): 32 MiB since
// compute capability 9, ":4096:2:16:8" before.
constexpr std::uint64_t WorkspaceBytes(std::uint32_t compute_major) {
  constexpr std::uint64_t kKib = 1024;
  return compute_major >= 9 ? 8 * 4096 * kKib : 2 * 4096 * kKib + 8 * 16 * kKib;
}

}  // namespace eidolon::timing::replay
