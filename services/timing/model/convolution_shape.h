// The sizes of a convolution or one of its gradients, by the roles of its tensors.
#pragma once

#include <cmath>
#include <optional>
#include <string>

#include "services/timing/kernel/work_item.h"

namespace eidolon::timing::model {

// Three tensors of a graph, which must outlive it, whatever order the operation lists them in.
// Sizes are doubles: they go into formulas.
struct Convolution {
  const kernel::DnnTensor* image = nullptr;     // [N, C, ...]
  const kernel::DnnTensor* filter = nullptr;    // [K, C / groups, ...]
  const kernel::DnnTensor* response = nullptr;  // [N, K, ...]
  const kernel::DnnOperation* operation = nullptr;
  bool without_tensor_cores = false;  // The program forbids TF32.

  double channels() const;  // Of a group.
  double filters() const;
  double window() const;  // Places of a filter.
  double places() const;  // Of the response, of all pictures.
  double image_places() const;
  double groups() const;
  double element() const;  // Bytes.
  // Returns what is multiplied: "bf16", "tf32", "fp32". TF32 is cuDNN's default in PyTorch.
  std::string type() const;
  double stride_max() const;
  double dilation_max() const;
  double stride_places() const;  // Places of the image for one of the response.
  bool is_channels_first() const;
  // A place of the image for each of the response, and one group.
  bool is_of_points() const;
  // A filter for each channel.
  bool is_depthwise() const;
};

// cuDNN's kernels for tensor cores move 16 bytes of channels at a time, and a place of a window
// takes whole pieces of 64.
inline constexpr double kVectorBytes = 16;
inline constexpr double kPieceBytes = 64;

// The least multiple of `step` that holds `size`.
inline double RoundUp(double size, double step) { return std::ceil(size / step) * step; }

// Nothing when the operation's tensors do not fit together.
std::optional<Convolution> RolesOf(const kernel::DnnGraph& graph, const kernel::DnnOperation& op);

}  // namespace eidolon::timing::model
