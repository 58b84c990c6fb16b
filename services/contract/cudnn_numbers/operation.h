// Operations of cuDNN's backend graphs as numbers, for readers without the vendor's headers:
// CUDNN_BACKEND_OPERATION_..._DESCRIPTOR and CUDNN_POINTWISE_... of cudnn_graph_v9.h; a test of the
// shim compares them. Those that the timing models tell apart.
#pragma once

#include <cstdint>

namespace eidolon::cudnn_numbers {

enum Operation : std::uint32_t {
  kConvolutionForward = 10,
  kConvolutionBackwardFilter = 11,
  kConvolutionBackwardData = 12,
  kPointwise = 13,
  kMatmul = 19,
  kReduction = 22,
  kResampleForward = 25,
  kResampleBackward = 26,
  kNormForward = 29,
  kNormBackward = 30,
  kRandom = 33,
  kSdpaForward = 41,
  kSdpaBackward = 43,
  kDiagonalBandMask = 44,
  kSoftmax = 45,
};

enum PointwiseMode : std::uint32_t {
  kPointwiseExp = 13,
  kPointwiseGenIndex = 501,
};

}  // namespace eidolon::cudnn_numbers
