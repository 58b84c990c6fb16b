#include "services/timing/kernel/demand.h"

namespace eidolon::timing::kernel {

std::string_view Name(Family family) {
  switch (family) {
    case Family::kUnknown:
      return "unknown";
    case Family::kGemm:
      return "gemm";
    case Family::kConvolution:
      return "convolution";
    case Family::kAttentionForward:
      return "attention_forward";
    case Family::kAttentionBackward:
      return "attention_backward";
    case Family::kElementwise:
      return "elementwise";
    case Family::kCopy:
      return "copy";
    case Family::kFill:
      return "fill";
    case Family::kCast:
      return "cast";
    case Family::kReduction:
      return "reduction";
    case Family::kSoftmax:
      return "softmax";
    case Family::kNormalization:
      return "normalization";
    case Family::kLoss:
      return "loss";
    case Family::kOptimizer:
      return "optimizer";
    case Family::kForeach:
      return "foreach";
    case Family::kEmbedding:
      return "embedding";
    case Family::kIndex:
      return "index";
    case Family::kRandom:
      return "random";
    case Family::kSort:
      return "sort";
    case Family::kScan:
      return "scan";
    case Family::kPooling:
      return "pooling";
    case Family::kResample:
      return "resample";
    case Family::kTriton:
      return "triton";
    case Family::kDistributed:
      return "distributed";
    case Family::kSparse:
      return "sparse";
    case Family::kRecurrent:
      return "recurrent";
    case Family::kMisc:
      return "misc";
  }
  return "unknown";
}

}  // namespace eidolon::timing::kernel
