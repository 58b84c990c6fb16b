#include "services/timing/model/convolution_shape.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

#include "services/contract/cudnn_numbers/operation.h"
#include "services/timing/kernel/element_type.h"
#include "services/timing/model/dnn_tensors.h"

namespace eidolon::timing::model {
namespace {

using kernel::DnnGraph;
using kernel::DnnOperation;
using kernel::DnnTensor;
using enum cudnn_numbers::Operation;

bool All(std::span<const std::int64_t> sizes, std::int64_t wanted) {
  return std::all_of(sizes.begin(), sizes.end(), [&](std::int64_t s) { return s == wanted; });
}

// 1 where there is none.
double Most(std::span<const std::int64_t> numbers) {
  std::int64_t most = 1;
  for (const std::int64_t number : numbers) most = std::max(most, number);
  return static_cast<double>(most);
}

}  // namespace

double Convolution::channels() const { return Dim(*filter, 1); }
double Convolution::filters() const { return Dim(*filter, 0); }
double Convolution::window() const { return Elements(*filter) / (filters() * channels()); }
double Convolution::places() const { return Elements(*response) / Dim(*response, 1); }
double Convolution::image_places() const { return Elements(*image) / Dim(*image, 1); }
double Convolution::groups() const {
  return std::max(1.0, std::round(Dim(*image, 1) / channels()));
}
double Convolution::element() const { return kernel::CudaTypeBytes(filter->type); }

std::string Convolution::type() const {
  const std::string name(kernel::CudaTypeName(filter->type));
  return name == "fp32" && !without_tensor_cores ? "tf32" : name;
}

double Convolution::stride_max() const { return Most(operation->Strides()); }

double Convolution::dilation_max() const { return Most(operation->Dilations()); }

double Convolution::stride_places() const {
  double places = 1;
  for (const std::int64_t stride : operation->Strides()) {
    places *= static_cast<double>(std::max<std::int64_t>(stride, 1));
  }
  return places;
}

bool Convolution::is_channels_first() const { return IsChannelsFirst(*image); }

bool Convolution::is_of_points() const {
  return window() == 1 && groups() == 1 && All(operation->Strides(), 1) &&
         All(operation->Pads(), 0) && All(operation->PostPads(), 0);
}

bool Convolution::is_depthwise() const {
  return groups() > 1 && channels() == 1 && filters() == groups();
}

std::optional<Convolution> RolesOf(const DnnGraph& graph, const DnnOperation& op) {
  const DnnTensor* a = Input(graph, op, 0);
  const DnnTensor* b = Input(graph, op, 1);
  const DnnTensor* out = Output(graph, op);
  if (a == nullptr || b == nullptr || out == nullptr) return std::nullopt;
  const auto roles = [&](const DnnTensor* image, const DnnTensor* filter,
                         const DnnTensor* response) {
    return Convolution{image, filter, response, &op, graph.WithoutTensorCores()};
  };
  if (op.kind == kConvolutionForward) return roles(a, b, out);
  // Data first, filter second; the other order only where this one makes no sense.
  if (op.kind == kConvolutionBackwardData) {
    const bool usual = Dim(*a, 0) == Dim(*out, 0) && Dim(*a, 1) == Dim(*b, 0);
    return usual ? roles(out, b, a) : roles(out, a, b);
  }
  return Dim(*b, 1) == Dim(*out, 0) ? roles(a, out, b) : roles(b, out, a);
}

}  // namespace eidolon::timing::model
