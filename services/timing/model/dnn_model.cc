// A cuDNN graph says what is computed, not by which kernel, so its family is recognised from its
// operations. The order matters: attention contains GEMMs and pointwise operations, a convolution
// may have pointwise ones fused to it. The largest pattern is looked for first, and what remains is
// bound by the bytes of its tensors in memory; virtual tensors stay inside the kernel and cost
// nothing. One graph may be several kernels (cuDNN's backward pass of attention), whose times are
// added here, because programs see a single execution.
#include "services/timing/model/dnn_model.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <string>

#include "services/contract/cudnn_numbers/operation.h"
#include "services/timing/kernel/element_type.h"
#include "services/timing/model/attention_model.h"
#include "services/timing/model/convolution_model.h"
#include "services/timing/model/dnn_tensors.h"
#include "services/timing/model/gemm_model.h"
#include "services/timing/model/memory_model.h"

namespace eidolon::timing::model {
namespace {

using kernel::DnnGraph;
using kernel::DnnOperation;
using kernel::DnnTensor;
using kernel::Family;

using enum cudnn_numbers::Operation;
using enum cudnn_numbers::PointwiseMode;

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

// Attention as one operation, or as GEMMs with a softmax between. The first GEMM is queries
// by keys: A is [..., queries, head], B [..., head, keys].
std::optional<kernel::Demand> Attention(const DnnGraph& graph) {
  const DnnOperation* op = First(graph, kSdpaForward);
  bool backward = false;
  if (op == nullptr && (op = First(graph, kSdpaBackward)) != nullptr) backward = true;
  const bool one = op != nullptr;
  if (!one) {
    const std::size_t gemms = Count(graph, kMatmul);
    const bool softmax = CountPointwise(graph, kPointwiseExp) > 0 || Count(graph, kSoftmax) > 0;
    if (gemms < 2 || !softmax) return std::nullopt;
    backward = gemms >= 4;
    op = First(graph, kMatmul);
  }
  const DnnTensor* a = Input(graph, *op, 0);
  const DnnTensor* b = Input(graph, *op, 1);
  if (a == nullptr || b == nullptr || a->rank < 3 || b->rank < 3) return std::nullopt;
  const std::size_t last = a->rank - 1;
  kernel::Demand demand;
  demand.family = backward ? Family::kAttentionBackward : Family::kAttentionForward;
  demand.query_length = Dim(*a, last - 1);
  demand.head_size = Dim(*a, last);
  // GEMMs have keys transposed; the single operation may have them either way.
  const bool transposed = !one || Dim(*b, last) != demand.head_size;
  demand.key_length = Dim(*b, transposed ? last : last - 1);
  demand.batch_heads = Elements(*a) / (demand.query_length * demand.head_size);
  if (a->rank == 4 && Dim(*b, 1) >= 1) {
    demand.batch = Dim(*a, 0);
    demand.heads_each = std::max(1.0, Dim(*a, 1) / Dim(*b, 1));
  }
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
  std::size_t gemms = 0;
  for (const DnnOperation& op : graph.operations) {
    if (op.kind != kMatmul) continue;
    const DnnTensor* out = Output(graph, op);
    if (out == nullptr) return false;
    if (!out->is_virtual && kernel::CudaTypeName(out->type) == "fp32") return false;
    ++gemms;
  }
  return gemms >= 5;
}

// Four of the five GEMMs with the score gradients on their way out, then the fifth with them on
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

std::optional<Prediction> PredictGemms(const gpu_model::GpuModel& gpu, const DnnGraph& graph) {
  Prediction sum;
  for (const DnnOperation& op : graph.operations) {
    if (op.kind != kMatmul) continue;
    const DnnTensor* a = Input(graph, op, 0);
    const DnnTensor* b = Input(graph, op, 1);
    if (a == nullptr || b == nullptr || a->rank < 2 || b->rank < 2) {
      return std::nullopt;
    }
    GemmModel::Shape shape;
    shape.m = Dim(*a, a->rank - 2);
    shape.k = Dim(*a, a->rank - 1);
    shape.n = Dim(*b, b->rank - 1);
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
  if (bytes == 0) result.prediction.source = estimate::Source::kAssumed;
  return result;
}

}  // namespace

namespace {

// Statistics need the tensor once, applying them once more. With channels first a block has a
// channel, forward in three passes and backward in five, at 20.4 and 13.3 GB/s each (batch norms of
// ResNet-50 on H200, e2e/measured).
DnnPrediction Norm(const gpu_model::GpuModel& gpu, const DnnGraph& graph, const DnnOperation& op,
                   bool backward) {
  constexpr double kForwardSeconds = 3 / 20.4e9, kBackwardSeconds = 5 / 13.3e9;
  DnnPrediction result = Memory(gpu, graph, Family::kNormalization, backward ? 1.6 : 1.7);
  const DnnTensor* tensor = Input(graph, op, 0);
  if (tensor == nullptr || !IsChannelsFirst(*tensor)) return result;
  const double channel = Elements(*tensor) / Dim(*tensor, 1) * kernel::CudaTypeBytes(tensor->type);
  const double seconds = channel * (backward ? kBackwardSeconds : kForwardSeconds) * 1.98e9 /
                         static_cast<double>(gpu.boost_clock_hz);
  result.prediction.seconds = std::max(result.prediction.seconds, seconds);
  return result;
}

// The kernels around cuDNN's backward pass: one reads the output and its gradient and clears what
// the queries' gradients are added up in, one reads that and writes them in 16 bits; at 2.8 and 2.5
// TB/s on H100 (e2e/measured/h100/attention.jsonl.gz).
double AroundBackwardSeconds(const gpu_model::GpuModel& gpu, const kernel::Demand& demand) {
  constexpr double kDotBytes = 8, kDotEfficiency = 0.93;
  constexpr double kConvertBytes = 6, kConvertEfficiency = 0.84;
  const double elements = demand.batch_heads * demand.query_length * demand.head_size;
  return 2 * gpu.kernel_floor.Seconds() + MemorySeconds(gpu, kDotBytes * elements, kDotEfficiency) +
         MemorySeconds(gpu, kConvertBytes * elements, kConvertEfficiency);
}

// A mask or bias that is added to the scores: a tensor of queries by keys among what pointwise
// operations read, or what the single operation reads beside queries, keys and values.
bool AddsToScores(const DnnGraph& graph, const kernel::Demand& attention) {
  for (const DnnOperation& op : graph.operations) {
    const bool one = op.kind == kSdpaForward || op.kind == kSdpaBackward;
    if (!one && op.kind != kPointwise) continue;
    constexpr std::size_t kOwn = 3;
    for (std::size_t i = one ? kOwn : 0; i < op.input_count; ++i) {
      const DnnTensor* tensor = Input(graph, op, i);
      if (tensor == nullptr || tensor->is_virtual || tensor->rank < 3) continue;
      const std::size_t last = tensor->rank - 1;
      if (Dim(*tensor, last) == attention.key_length &&
          Dim(*tensor, last - 1) == attention.query_length && attention.query_length > 1) {
        return true;
      }
    }
  }
  return false;
}

// Returns how much longer cuDNN's attention takes with such a mask: on H100 1.7 to 2.0 times, and
// forward three times where rows of it have an odd length (e2e/measured: three of the ten shapes,
// the others tests).
double MaskFactor(const kernel::Demand& attention) {
  constexpr double kForward = 1.73, kForwardOdd = 3.0, kBackward = 1.77;
  if (attention.family == Family::kAttentionBackward) return kBackward;
  return std::fmod(attention.key_length, 2) == 0 ? kForward : kForwardOdd;
}

// Returns what dropout adds to attention: a random number for each score that is not masked, 1 ps
// on an H200 whatever the direction (e2e/measured: BERT and GPT-2 with heads of 64, 0.7 to 1.3 ps).
double DropoutSeconds(const gpu_model::GpuModel& gpu, const DnnGraph& graph,
                      const kernel::Demand& attention) {
  constexpr double kClocksOfScore = 1e-12 * 132 * 1.98e9;  // Of a multiprocessor.
  if (Count(graph, kRandom) == 0) return 0;
  double scores = attention.batch_heads * attention.query_length * attention.key_length;
  if (attention.causal) scores /= 2;
  return scores * kClocksOfScore / (gpu.multiprocessors * static_cast<double>(gpu.boost_clock_hz));
}

// Rows are of 16 bits, without dropout.
std::optional<Prediction> PredictDecoding(const gpu_model::GpuModel& gpu, const DnnGraph& graph,
                                          const kernel::Demand& attention) {
  const DnnOperation* op = First(graph, kSdpaForward);
  if (op == nullptr) op = First(graph, kMatmul);
  const DnnTensor* queries = op == nullptr ? nullptr : Input(graph, *op, 0);
  if (queries == nullptr || kernel::CudaTypeBytes(queries->type) != 2) return std::nullopt;
  if (Count(graph, kRandom) > 0) return std::nullopt;
  return PredictServedAttention(gpu, attention);
}

}  // namespace

DnnPrediction PredictDnn(const gpu_model::GpuModel& gpu, const DnnGraph& graph) {
  if (const auto attention = Attention(graph)) {
    if (attention->family == Family::kAttentionBackward && KeepsScoreGradients(graph)) {
      return {PredictInTwoKernels(gpu, *attention), attention->family};
    }
    if (const auto served = PredictDecoding(gpu, graph, *attention)) {
      return {*served, attention->family};
    }
    DnnPrediction result{PredictAttention(gpu, *attention, AttentionLibrary::kCudnn),
                         attention->family};
    if (AddsToScores(graph, *attention)) {
      result.prediction.seconds *= MaskFactor(*attention);
      result.prediction.relative_error += 0.1;
    }
    if (attention->family == Family::kAttentionBackward) {
      result.prediction.seconds += AroundBackwardSeconds(gpu, *attention);
    }
    result.prediction.seconds += DropoutSeconds(gpu, graph, *attention);
    return result;
  }
  for (const DnnOperation& op : graph.operations) {
    const bool convolution = op.kind >= kConvolutionForward && op.kind <= kConvolutionBackwardData;
    if (!convolution) continue;
    if (const auto prediction = PredictConvolution(gpu, graph, op)) {
      return {*prediction, Family::kConvolution};
    }
  }
  if (Count(graph, kMatmul) > 0) {
    if (const auto prediction = PredictGemms(gpu, graph)) return {*prediction, Family::kGemm};
  }
  if (const DnnOperation* norm = First(graph, kNormForward)) return Norm(gpu, graph, *norm, false);
  if (const DnnOperation* norm = First(graph, kNormBackward)) return Norm(gpu, graph, *norm, true);
  if (Count(graph, kResampleForward) + Count(graph, kResampleBackward) > 0) {
    return Memory(gpu, graph, Family::kPooling, 1.1);
  }
  if (Count(graph, kReduction) > 0) return Memory(gpu, graph, Family::kReduction, 1);
  return Memory(gpu, graph, Family::kElementwise, 1);
}

double MatrixFlops(const DnnGraph& graph) {
  if (const auto attention = Attention(graph)) return AttentionFlops(*attention);
  double flops = 0;
  for (const DnnOperation& op : graph.operations) {
    if (op.kind >= kConvolutionForward && op.kind <= kConvolutionBackwardData) {
      flops += ConvolutionFlops(graph, op);
    }
    if (op.kind != kMatmul) continue;
    const DnnTensor* a = Input(graph, op, 0);
    const DnnTensor* b = Input(graph, op, 1);
    if (a == nullptr || b == nullptr || a->rank < 2 || b->rank < 2) continue;
    // A is [..., m, k]: all its elements, for each of the n columns of B.
    flops += 2 * Elements(*a) * Dim(*b, b->rank - 1);
  }
  return flops;
}

}  // namespace eidolon::timing::model
