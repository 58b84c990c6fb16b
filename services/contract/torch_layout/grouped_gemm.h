// Parameters of prepare_grouped_gemm_data of PyTorch 2.8 to 2.15,
// ATen/native/cuda/GroupMMCommon.cuh, which writes the sizes of a grouped matrix multiplication to
// where the multiplication reads them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace eidolon::torch_layout {

struct PrepareGroupedGemm {
  static constexpr std::size_t kParameters = 27;
  // Parameters by number.
  static constexpr std::size_t kSizes = 10;  // The address that the sizes are written to.
  // int32, -1 for the dimension that differs from group to group.
  static constexpr std::size_t kM = 15;
  static constexpr std::size_t kN = 16;
  static constexpr std::size_t kK = 17;
  // int64[3]: shapes of the operands, in which that dimension's sum stands.
  static constexpr std::size_t kShapeA = 21;
  static constexpr std::size_t kShapeB = 22;

  static constexpr std::uint32_t BytesOf(std::size_t parameter) {
    if (parameter >= kParameters - 2) return 1;  // Flags.
    if (parameter >= kM && parameter <= kK) return 4;
    if (parameter > kK && parameter <= kShapeB) return 24;
    return 8;
  }
};

}  // namespace eidolon::torch_layout
