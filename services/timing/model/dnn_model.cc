#include "services/timing/model/dnn_model.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <string>

#include "services/timing/kernel/element_type.h"
#include "services/timing/model/attention_model.h"
#include "services/timing/model/gemm_model.h"
#include "services/timing/model/memory_model.h"

namespace eidolon::timing::model {
namespace {

using kernel::DnnGraph;
using kernel::DnnOperation;
using kernel::DnnTensor;
using kernel::Family;

// CUDNN_BACKEND_OPERATION_*_DESCRIPTOR and CUDNN_POINTWISE_* numbers, cudnn_graph_v9.h.
enum Kind : std::uint32_t {
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
  kSdpaForward = 41,
  kSdpaBackward = 43,
  kDiagonalBandMask = 44,
  kSoftmax = 45,
};
constexpr std::uint32_t kPointwiseExp = 13;
constexpr std::uint32_t kPointwiseGenIndex = 501;

// Convolutions reach this share of a product of the same shape (cuDNN on A100 and H100, published
// ResNet traces); the filter gradient reduces over pixels and reaches less.
constexpr double kConvolutionShare = 0.7;
constexpr double kFilterGradientShare = 0.55;

double Elements(const DnnTensor& tensor) {
  double count = tensor.dims.empty() ? 0 : 1;
  for (const std::int64_t dim : tensor.dims)
    count *= static_cast<double>(std::max<std::int64_t>(dim, 0));
  return count;
}

double Dim(const DnnTensor& tensor, std::size_t index) {
  return index < tensor.dims.size()
             ? static_cast<double>(std::max<std::int64_t>(tensor.dims[index], 1))
             : 1;
}

const DnnTensor* Find(const DnnGraph& graph, std::int64_t uid) {
  for (const DnnTensor& tensor : graph.tensors) {
    if (tensor.uid == uid) return &tensor;
  }
  return nullptr;
}

const DnnTensor* Input(const DnnGraph& graph, const DnnOperation& op, std::size_t index) {
  return index < op.inputs.size() ? Find(graph, op.inputs[index]) : nullptr;
}

const DnnTensor* Output(const DnnGraph& graph, const DnnOperation& op) {
  return op.outputs.empty() ? nullptr : Find(graph, op.outputs[0]);
}

double MemoryBytes(const DnnGraph& graph) {
  double bytes = 0;
  for (const DnnTensor& tensor : graph.tensors) {
    if (!tensor.is_virtual) bytes += Elements(tensor) * kernel::CudaTypeBytes(tensor.type);
  }
  return bytes;
}

std::size_t Count(const DnnGraph& graph, std::uint32_t kind) {
  return static_cast<std::size_t>(
      std::count_if(graph.operations.begin(), graph.operations.end(),
                    [&](const DnnOperation& op) { return op.kind == kind; }));
}

std::size_t CountPointwise(const DnnGraph& graph, std::uint32_t mode) {
  return static_cast<std::size_t>(std::count_if(
      graph.operations.begin(), graph.operations.end(),
      [&](const DnnOperation& op) { return op.kind == kPointwise && op.mode == mode; }));
}

const DnnOperation* First(const DnnGraph& graph, std::uint32_t kind) {
  for (const DnnOperation& op : graph.operations) {
    if (op.kind == kind) return &op;
  }
  return nullptr;
}

// Attention as one operation, or as products with a softmax between. The first product is queries
// by keys: A is [..., queries, head], B [..., head, keys].
std::optional<kernel::Demand> Attention(const DnnGraph& graph) {
  const DnnOperation* op = First(graph, kSdpaForward);
  bool backward = false;
  if (op == nullptr && (op = First(graph, kSdpaBackward)) != nullptr) backward = true;
  const bool one = op != nullptr;
  if (!one) {
    const std::size_t products = Count(graph, kMatmul);
    const bool softmax = CountPointwise(graph, kPointwiseExp) > 0 || Count(graph, kSoftmax) > 0;
    if (products < 2 || !softmax) return std::nullopt;
    backward = products >= 4;
    op = First(graph, kMatmul);
  }
  const DnnTensor* a = Input(graph, *op, 0);
  const DnnTensor* b = Input(graph, *op, 1);
  if (a == nullptr || b == nullptr || a->dims.size() < 3 || b->dims.size() < 3) return std::nullopt;
  const std::size_t last = a->dims.size() - 1;
  kernel::Demand demand;
  demand.family = backward ? Family::kAttentionBackward : Family::kAttentionForward;
  demand.query_length = Dim(*a, last - 1);
  demand.head_size = Dim(*a, last);
  // Products have keys transposed; the single operation may have them either way.
  const bool transposed = !one || Dim(*b, last) != demand.head_size;
  demand.key_length = Dim(*b, transposed ? last : last - 1);
  demand.batch_heads = Elements(*a) / (demand.query_length * demand.head_size);
  demand.causal = CountPointwise(graph, kPointwiseGenIndex) >= 2 ||
                  Count(graph, kDiagonalBandMask) > 0 || (one && op->mode != 0);
  demand.flops = (backward ? 10 : 4) * demand.query_length * demand.key_length * demand.head_size *
                 demand.batch_heads;
  demand.bytes = MemoryBytes(graph);
  if (demand.batch_heads < 1) return std::nullopt;
  return demand;
}

// The backward pass that a program asked to be deterministic: instead of adding the queries'
// gradients up in single precision, it keeps the score gradients and multiplies them in a kernel of
// its own (cudnn-frontend, scaled_dot_product_flash_attention.h: the dP workspace).
bool KeepsScoreGradients(const DnnGraph& graph) {
  std::size_t products = 0;
  for (const DnnOperation& op : graph.operations) {
    if (op.kind != kMatmul) continue;
    const DnnTensor* out = Output(graph, op);
    if (out == nullptr) return false;
    if (!out->is_virtual && kernel::CudaTypeName(out->type) == "fp32") return false;
    ++products;
  }
  return products >= 5;
}

// Four of the five products with the score gradients on their way out, then the fifth with them on
// their way in. Masked tiles are neither written nor read.
Prediction PredictInTwoKernels(const gpu_model::GpuModel& gpu, kernel::Demand demand) {
  double scores = 2 * demand.batch_heads * demand.query_length * demand.key_length;
  if (demand.causal) scores /= 2;
  const double row_bytes =
      2 * demand.batch_heads * demand.head_size * (demand.query_length + demand.key_length);
  kernel::Demand last = demand;
  demand.flops *= 0.8;
  demand.bytes += scores;
  last.flops *= 0.2;
  last.bytes = scores + row_bytes;
  Prediction sum = PredictAttention(gpu, demand, AttentionLibrary::kCudnn);
  sum.seconds += PredictAttention(gpu, last, AttentionLibrary::kCudnn).seconds;
  sum.relative_error += 0.1;
  return sum;
}

// The tensors of a convolution by role, whatever order the operation lists them in.
struct Convolution {
  const DnnTensor* image = nullptr;     // [N, C, ...]
  const DnnTensor* filter = nullptr;    // [K, C / groups, ...]
  const DnnTensor* response = nullptr;  // [N, K, ...]
};

std::optional<Convolution> Roles(const DnnGraph& graph, const DnnOperation& op) {
  const DnnTensor* a = Input(graph, op, 0);
  const DnnTensor* b = Input(graph, op, 1);
  const DnnTensor* out = Output(graph, op);
  if (a == nullptr || b == nullptr || out == nullptr) return std::nullopt;
  if (op.kind == kConvolutionForward) return Convolution{a, b, out};
  // Data first, filter second; the other order only where this one makes no sense.
  if (op.kind == kConvolutionBackwardData) {
    const bool usual = Dim(*a, 0) == Dim(*out, 0) && Dim(*a, 1) == Dim(*b, 0);
    return usual ? Convolution{out, b, a} : Convolution{out, a, b};
  }
  return Dim(*b, 1) == Dim(*out, 0) ? Convolution{a, out, b} : Convolution{b, out, a};
}

// Channels are not what lies next to each other in memory: [N, C, ...] as PyTorch makes it.
bool IsChannelsFirst(const DnnTensor& tensor) {
  return tensor.strides.size() == tensor.dims.size() && tensor.dims.size() > 2 &&
         tensor.dims[1] > 1 && tensor.strides[1] != 1;
}

// cuDNN's tensor-core kernels want channels last: tensors that are not go through kernels that
// rewrite them, 1.85 to 2.15 of 3.35 TB/s on H100 (published, e2e/validation/operators.csv).
double LayoutSeconds(const gpu_model::GpuModel& gpu, const Convolution& roles) {
  constexpr double kRewriteEfficiency = 0.66;
  double seconds = 0;
  for (const DnnTensor* tensor : {roles.image, roles.filter, roles.response}) {
    const double element = kernel::CudaTypeBytes(tensor->type);
    if (element > 2 || !IsChannelsFirst(*tensor)) continue;
    seconds += gpu.kernel_floor.Seconds() +
               MemorySeconds(gpu, 2 * Elements(*tensor) * element, kRewriteEfficiency);
  }
  return seconds;
}

std::optional<Prediction> PredictConvolution(const gpu_model::GpuModel& gpu, const DnnGraph& graph,
                                             const DnnOperation& op) {
  const auto roles = Roles(graph, op);
  if (!roles) return std::nullopt;
  const double filters = Dim(*roles->filter, 0);
  const double per_pixel = Elements(*roles->filter) / filters;
  const double pixels = Elements(*roles->response) / Dim(*roles->response, 1);
  const double groups = std::max(1.0, std::round(Dim(*roles->image, 1) / Dim(*roles->filter, 1)));
  const double total = pixels * filters * per_pixel;
  if (!(total > 0)) return std::nullopt;
  GemmModel::Shape shape;
  shape.batch = groups;
  if (op.kind == kConvolutionBackwardFilter) {
    shape.m = filters / groups;
    shape.n = per_pixel;
    shape.k = pixels;
  } else if (op.kind == kConvolutionForward) {
    shape.m = pixels;
    shape.n = filters / groups;
    shape.k = per_pixel;
  } else {
    shape.m = Elements(*roles->image) / Dim(*roles->image, 1);
    shape.n = Dim(*roles->filter, 1);
    shape.k = std::max(1.0, total / groups / (shape.m * shape.n));
  }
  shape.type = std::string(kernel::CudaTypeName(roles->filter->type));
  if (shape.type == "fp32") shape.type = "tf32";  // cuDNN's default in PyTorch.
  // The product is implicit: overlapping windows are read from memory once, not once a window.
  const double element = kernel::CudaTypeBytes(roles->filter->type);
  const DnnTensor& written = *Output(graph, op);
  const double read = Elements(*roles->image) + Elements(*roles->filter) +
                      Elements(*roles->response) - Elements(written);
  shape.input_bytes = element * read / (groups * (shape.m + shape.n) * shape.k);
  shape.output_bytes = element;
  Prediction prediction = GemmModel::Get().Predict(gpu, shape);
  const double share =
      op.kind == kConvolutionBackwardFilter ? kFilterGradientShare : kConvolutionShare;
  const double memory = gpu.kernel_floor.Seconds() + MemorySeconds(gpu, MemoryBytes(graph), 0.85);
  prediction.seconds = std::max(prediction.seconds / share, memory) + LayoutSeconds(gpu, *roles);
  prediction.source = Source::kModelled;
  prediction.relative_error = 0.3;
  return prediction;
}

std::optional<Prediction> PredictProducts(const gpu_model::GpuModel& gpu, const DnnGraph& graph) {
  Prediction sum;
  for (const DnnOperation& op : graph.operations) {
    if (op.kind != kMatmul) continue;
    const DnnTensor* a = Input(graph, op, 0);
    const DnnTensor* b = Input(graph, op, 1);
    if (a == nullptr || b == nullptr || a->dims.size() < 2 || b->dims.size() < 2) {
      return std::nullopt;
    }
    GemmModel::Shape shape;
    shape.m = Dim(*a, a->dims.size() - 2);
    shape.k = Dim(*a, a->dims.size() - 1);
    shape.n = Dim(*b, b->dims.size() - 1);
    shape.batch = std::max(1.0, Elements(*a) / (shape.m * shape.k));
    shape.type = std::string(kernel::CudaTypeName(a->type));
    shape.input_bytes = shape.output_bytes = kernel::CudaTypeBytes(a->type);
    sum.seconds += GemmModel::Get().Predict(gpu, shape).seconds;
  }
  sum.relative_error = 0.2;
  return sum;
}

DnnPrediction Memory(const gpu_model::GpuModel& gpu, const DnnGraph& graph, Family family,
                     double passes) {
  const double bytes = MemoryBytes(graph);
  DnnPrediction result;
  result.family = family;
  result.prediction.seconds = gpu.kernel_floor.Seconds() + MemorySeconds(gpu, passes * bytes, 0.8);
  result.prediction.relative_error = 0.3;
  if (bytes == 0) result.prediction.source = Source::kAssumed;
  return result;
}

}  // namespace

DnnPrediction PredictDnn(const gpu_model::GpuModel& gpu, const DnnGraph& graph) {
  if (const auto attention = Attention(graph)) {
    if (attention->family == Family::kAttentionBackward && KeepsScoreGradients(graph)) {
      return {PredictInTwoKernels(gpu, *attention), attention->family};
    }
    return {PredictAttention(gpu, *attention, AttentionLibrary::kCudnn), attention->family};
  }
  for (const DnnOperation& op : graph.operations) {
    const bool convolution = op.kind >= kConvolutionForward && op.kind <= kConvolutionBackwardData;
    if (!convolution) continue;
    if (const auto prediction = PredictConvolution(gpu, graph, op)) {
      return {*prediction, Family::kConvolution};
    }
  }
  if (Count(graph, kMatmul) > 0) {
    if (const auto prediction = PredictProducts(gpu, graph)) return {*prediction, Family::kGemm};
  }
  // Statistics need the tensor once, applying them once more.
  if (Count(graph, kNormForward) > 0) return Memory(gpu, graph, Family::kNormalization, 1.4);
  if (Count(graph, kNormBackward) > 0) return Memory(gpu, graph, Family::kNormalization, 1.6);
  if (Count(graph, kResampleForward) + Count(graph, kResampleBackward) > 0) {
    return Memory(gpu, graph, Family::kPooling, 1.1);
  }
  if (Count(graph, kReduction) > 0) return Memory(gpu, graph, Family::kReduction, 1);
  return Memory(gpu, graph, Family::kElementwise, 1);
}

}  // namespace eidolon::timing::model
