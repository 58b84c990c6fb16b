// The work is that of cuDNN's standard algorithm, issued as the GEMMs and element-wise passes that
// it consists of, because a recurrent network has no single kernel whose time could be known.
// Sequences of a batch may have different lengths, so a step has the members that reach it
// (MembersAt). Inputs of several steps are multiplied together, which does not depend on the
// recursion, while the state's GEMM waits for the step before. Sizes of the work and reserve spaces
// are what these passes keep; a program allocates them and gives them back.
#include "shim/vendor/cudnn/rnn.h"

#include <cublas_v2.h>

#include <algorithm>

#include "shim/vendor/cudnn/descriptor.h"
#include "shim/vendor/cudnn/handle.h"
#include "shim/vendor/cudnn/rnn_descriptor.h"
#include "shim/vendor/library/element_type.h"
#include "shim/vendor/library/work.h"

namespace eidolon::shim::cudnn::rnn {
namespace {

// Operations of a cell for each gate and hidden element: sigmoids and the state's update.
constexpr std::uint64_t kCellFlops = 10;

// Parameters that the three calls have in common.
struct Problem {
  const Context* context = nullptr;
  const RnnDescriptor* network = nullptr;
  const RnnDataDescriptor* x = nullptr;
  bool training = false;

  std::int64_t gate_rows() const { return std::int64_t{network->gates()} * network->hidden_size; }
};

struct Spaces {
  std::uint64_t work = 0;
  std::uint64_t reserve = 0;
};

std::uint64_t BytesOf(const Problem& problem, std::int64_t elements) {
  return library::BytesOf(CudaTypeOf(problem.network->type), static_cast<std::uint64_t>(elements));
}

Spaces SpacesOf(const Problem& problem) {
  const RnnDescriptor& network = *problem.network;
  const std::int64_t steps = std::int64_t{problem.x->max_length} * problem.x->batch;
  const std::int64_t wide = steps * network.directions();
  Spaces spaces{.work = BytesOf(problem, wide * problem.gate_rows()), .reserve = 0};
  if (!problem.training) return spaces;
  const std::int64_t cell = network.cell == CUDNN_LSTM ? network.hidden_size : 0;
  const std::int64_t kept = problem.gate_rows() + cell + network.output_size;
  spaces.reserve = BytesOf(problem, network.layers * wide * kept) +
                   static_cast<std::uint64_t>((network.layers - 1) * wide * network.output_size);
  return spaces;
}

// A matrix in column major order whose number of rows is its leading dimension.
struct Gemm {
  std::int64_t m, n, k;
  bool transpose_a = false;
  bool transpose_b = false;
  bool adds = false;  // To what is there.
};

// Puts work on the stream until some fails.
class Issuer {
 public:
  explicit Issuer(const Problem& problem)
      : problem_(problem), type_(CudaTypeOf(problem.network->type)) {}

  void Multiply(const Gemm& gemm) {
    if (gemm.m == 0 || gemm.n == 0 || gemm.k == 0) return;
    workload::Gemm work{};
    work.m = static_cast<std::uint64_t>(gemm.m);
    work.n = static_cast<std::uint64_t>(gemm.n);
    work.k = static_cast<std::uint64_t>(gemm.k);
    work.batch = 1;
    work.lda = gemm.transpose_a ? work.k : work.m;
    work.ldb = gemm.transpose_b ? work.n : work.k;
    work.ldc = work.ldd = work.m;
    work.type_a = work.type_b = work.type_c = work.type_d = type_;
    work.compute_type = ComputeType();
    work.transpose_a = gemm.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N;
    work.transpose_b = gemm.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N;
    work.beta_zero = gemm.adds ? 0 : 1;
    if (status_ == gpu::Status::kSuccess) status_ = library::Submit(problem_.context->stream, work);
  }
  // `elements` are read and written, each with `flops` operations.
  void PassOver(std::string_view name, std::int64_t elements, std::uint64_t flops) {
    if (elements == 0 || status_ != gpu::Status::kSuccess) return;
    status_ = library::Submit(
        problem_.context->stream,
        library::Call{.name = name,
                      .type = type_,
                      .flops = flops * static_cast<std::uint64_t>(elements),
                      .memory_bytes = BytesOf(problem_, elements),
                      .numbers = {problem_.network->cell, elements, problem_.training ? 1 : 0}});
  }
  gpu::Status status() const { return status_; }

 private:
  // Single precision uses TF32 unless the program forbids it, as in the real library.
  std::uint32_t ComputeType() const {
    if (problem_.network->type == CUDNN_DATA_DOUBLE) return CUBLAS_COMPUTE_64F;
    const bool tf32 =
        problem_.network->type == CUDNN_DATA_FLOAT && problem_.network->math != CUDNN_FMA_MATH;
    return tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
  }

  const Problem& problem_;
  std::uint32_t type_;
  gpu::Status status_ = gpu::Status::kSuccess;
};

// A cell reads its gates' sums over the input and over the state, and the state, and writes the
// state; for training it keeps the gates too. A gradient reads what was kept and writes the gates'
// gradients.
void Cell(const Problem& problem, std::int64_t members, bool gradient, Issuer& issuer) {
  const RnnDescriptor& network = *problem.network;
  const int states = network.cell == CUDNN_LSTM ? 2 : 1;
  const int gate_passes = gradient ? 2 : problem.training ? 3 : 2;
  const std::int64_t elements =
      members * (gate_passes * problem.gate_rows() + 2 * states * network.hidden_size);
  issuer.PassOver(gradient ? "cudnn.rnn_cell_gradient" : "cudnn.rnn_cell", elements, kCellFlops);
}

// Steps whose inputs are multiplied together, so that the next layer can begin before this one ends
// (Appleyard et al., "Optimizing Performance of Recurrent Neural Networks on GPUs", 2016); as many
// as cuDNN 9.19 takes for an LSTM of 1024 on 64 sequences of 256 (e2e/measured, both GPUs).
constexpr int kForwardGroup = 32;
constexpr int kBackwardGroup = 8;

std::int64_t MembersOfGroup(const Problem& problem, int first, int group) {
  std::int64_t members = 0;
  const int end = std::min(first + group, problem.x->max_length);
  for (int step = first; step < end; ++step) members += problem.x->MembersAt(step);
  return members;
}

bool DropsBetween(const RnnDescriptor& network) {
  const DropoutDescriptor* dropout = DropoutDescriptor::Find(network.dropout);
  return dropout != nullptr && dropout->probability > 0;
}

void ForwardLayer(const Problem& problem, int layer, Issuer& issuer) {
  const RnnDescriptor& network = *problem.network;
  const std::int64_t gates = problem.gate_rows();
  for (int direction = 0; direction < network.directions(); ++direction) {
    for (int step = 0; step < problem.x->max_length; ++step) {
      const std::int64_t members = problem.x->MembersAt(step);
      if (network.MultipliesInput(layer) && step % kForwardGroup == 0) {
        issuer.Multiply({.m = gates,
                         .n = MembersOfGroup(problem, step, kForwardGroup),
                         .k = network.InputOf(layer),
                         .transpose_a = true});
      }
      issuer.Multiply({.m = gates, .n = members, .k = network.output_size, .transpose_a = true});
      Cell(problem, members, false, issuer);
      if (!network.projects()) continue;
      issuer.Multiply(
          {.m = network.output_size, .n = members, .k = network.hidden_size, .transpose_a = true});
    }
  }
  if (problem.training && layer + 1 < network.layers && DropsBetween(network)) {
    issuer.PassOver("cudnn.rnn_dropout", 2 * problem.x->Steps() * network.InputOf(layer + 1), 2);
  }
}

void BackwardLayer(const Problem& problem, int layer, Issuer& issuer) {
  const RnnDescriptor& network = *problem.network;
  const std::int64_t gates = problem.gate_rows();
  if (layer + 1 < network.layers && DropsBetween(network)) {
    issuer.PassOver("cudnn.rnn_dropout", 2 * problem.x->Steps() * network.InputOf(layer + 1), 1);
  }
  for (int direction = 0; direction < network.directions(); ++direction) {
    for (int step = problem.x->max_length; step-- > 0;) {
      const std::int64_t members = problem.x->MembersAt(step);
      if (network.projects()) {
        issuer.Multiply({.m = network.hidden_size, .n = members, .k = network.output_size});
      }
      Cell(problem, members, true, issuer);
      issuer.Multiply({.m = network.output_size, .n = members, .k = gates, .adds = true});
      if (!network.MultipliesInput(layer) || step % kBackwardGroup != 0) continue;
      issuer.Multiply({.m = network.InputOf(layer),
                       .n = MembersOfGroup(problem, step, kBackwardGroup),
                       .k = gates,
                       .adds = direction > 0});
    }
  }
}

void WeightsOfLayer(const Problem& problem, int layer, bool adds, Issuer& issuer) {
  const RnnDescriptor& network = *problem.network;
  const std::int64_t gates = problem.gate_rows();
  const std::int64_t steps = problem.x->Steps();
  for (int direction = 0; direction < network.directions(); ++direction) {
    const auto gradient = [&](std::int64_t rows, std::int64_t columns) {
      issuer.Multiply({.m = rows, .n = columns, .k = steps, .transpose_b = true, .adds = adds});
    };
    if (network.MultipliesInput(layer)) gradient(network.InputOf(layer), gates);
    gradient(network.output_size, gates);
    if (network.projects()) gradient(network.hidden_size, network.output_size);
    if (network.bias == CUDNN_RNN_NO_BIAS) continue;
    issuer.PassOver("cudnn.rnn_bias_gradient", steps * gates, 1);
  }
}

struct Arguments {
  cudnnHandle_t handle;
  cudnnRNNDescriptor_t descriptor;
  cudnnRNNDataDescriptor_t x;
  cudnnRNNDataDescriptor_t y = nullptr;
  std::size_t weight_bytes = 0;
  std::size_t work_bytes = 0;
  std::size_t reserve_bytes = 0;
  bool training = true;
};

cudnnStatus_t Check(const Arguments& arguments, Problem* problem) {
  *problem = {.context = Context::Find(arguments.handle),
              .network = RnnDescriptor::Find(arguments.descriptor),
              .x = RnnDataDescriptor::Find(arguments.x),
              .training = arguments.training};
  const auto* y = RnnDataDescriptor::Find(arguments.y);
  if (problem->context == nullptr || problem->network == nullptr || problem->x == nullptr ||
      y == nullptr || problem->network->layers == 0) {
    return Fail(CUDNN_STATUS_BAD_PARAM, "a handle or a descriptor is missing");
  }
  const RnnDescriptor& network = *problem->network;
  if (problem->x->vector_size != network.input_size ||
      y->vector_size != network.output_size * network.directions() ||
      y->lengths != problem->x->lengths) {
    return Fail(CUDNN_STATUS_BAD_PARAM, "the sequences do not fit the network");
  }
  const Spaces spaces = SpacesOf(*problem);
  if (arguments.weight_bytes < WeightBytes(network) || arguments.work_bytes < spaces.work ||
      arguments.reserve_bytes < spaces.reserve) {
    return Fail(CUDNN_STATUS_BAD_PARAM, "the weights or the work space are too small");
  }
  return CUDNN_STATUS_SUCCESS;
}

void NoteTensor(const Problem& problem, cudnnTensorDescriptor_t descriptor, const void* address) {
  const TensorDescriptor* shape = TensorDescriptor::Find(descriptor);
  if (shape == nullptr) return;
  library::NoteWritten(problem.context->stream, address, ExtentOf(ShapeOf(*shape)));
}

}  // namespace

cudnnStatus_t GetTempSpaceSizes(cudnnHandle_t handle, cudnnRNNDescriptor_t descriptor,
                                cudnnForwardMode_t mode, cudnnRNNDataDescriptor_t x_desc,
                                std::size_t* work_bytes, std::size_t* reserve_bytes) {
  const Problem problem{.context = Context::Find(handle),
                        .network = RnnDescriptor::Find(descriptor),
                        .x = RnnDataDescriptor::Find(x_desc),
                        .training = mode == CUDNN_FWD_MODE_TRAINING};
  if (problem.context == nullptr || problem.network == nullptr || problem.x == nullptr ||
      problem.network->layers == 0) {
    return Fail(CUDNN_STATUS_BAD_PARAM, "a handle or a descriptor is missing");
  }
  const Spaces spaces = SpacesOf(problem);
  if (work_bytes != nullptr) *work_bytes = spaces.work;
  if (reserve_bytes != nullptr) *reserve_bytes = spaces.reserve;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t Forward(cudnnHandle_t handle, cudnnRNNDescriptor_t descriptor,
                      cudnnForwardMode_t mode, const std::int32_t*, cudnnRNNDataDescriptor_t x_desc,
                      const void*, cudnnRNNDataDescriptor_t y_desc, void* y,
                      cudnnTensorDescriptor_t h_desc, const void*, void* hy,
                      cudnnTensorDescriptor_t c_desc, const void*, void* cy,
                      std::size_t weight_bytes, const void*, std::size_t work_bytes, void*,
                      std::size_t reserve_bytes, void* reserve) {
  Problem problem;
  const auto status = Check({.handle = handle,
                             .descriptor = descriptor,
                             .x = x_desc,
                             .y = y_desc,
                             .weight_bytes = weight_bytes,
                             .work_bytes = work_bytes,
                             .reserve_bytes = reserve_bytes,
                             .training = mode == CUDNN_FWD_MODE_TRAINING},
                            &problem);
  if (status != CUDNN_STATUS_SUCCESS) return status;
  Issuer issuer(problem);
  for (int layer = 0; layer < problem.network->layers; ++layer) {
    ForwardLayer(problem, layer, issuer);
  }
  if (issuer.status() != gpu::Status::kSuccess) return ToCudnn(issuer.status());
  library::NameWriter("cudnn.rnn_forward");
  const cudaStream_t stream = problem.context->stream;
  library::NoteWritten(stream, y, RnnDataDescriptor::Find(y_desc)->Bytes());
  NoteTensor(problem, h_desc, hy);
  NoteTensor(problem, c_desc, cy);
  if (problem.training) library::NoteWritten(stream, reserve, reserve_bytes);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t BackwardData(cudnnHandle_t handle, cudnnRNNDescriptor_t descriptor,
                           const std::int32_t*, cudnnRNNDataDescriptor_t y_desc, const void*,
                           const void*, cudnnRNNDataDescriptor_t x_desc, void* dx,
                           cudnnTensorDescriptor_t h_desc, const void*, const void*, void* dhx,
                           cudnnTensorDescriptor_t c_desc, const void*, const void*, void* dcx,
                           std::size_t weight_bytes, const void*, std::size_t work_bytes, void*,
                           std::size_t reserve_bytes, void* reserve) {
  Problem problem;
  const auto status = Check({.handle = handle,
                             .descriptor = descriptor,
                             .x = x_desc,
                             .y = y_desc,
                             .weight_bytes = weight_bytes,
                             .work_bytes = work_bytes,
                             .reserve_bytes = reserve_bytes},
                            &problem);
  if (status != CUDNN_STATUS_SUCCESS) return status;
  Issuer issuer(problem);
  for (int layer = problem.network->layers; layer-- > 0;) BackwardLayer(problem, layer, issuer);
  if (issuer.status() != gpu::Status::kSuccess) return ToCudnn(issuer.status());
  library::NameWriter("cudnn.rnn_backward_data");
  const cudaStream_t stream = problem.context->stream;
  library::NoteWritten(stream, dx, problem.x->Bytes());
  NoteTensor(problem, h_desc, dhx);
  NoteTensor(problem, c_desc, dcx);
  library::NoteWritten(stream, reserve, reserve_bytes);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t BackwardWeights(cudnnHandle_t handle, cudnnRNNDescriptor_t descriptor,
                              cudnnWgradMode_t mode, const std::int32_t*,
                              cudnnRNNDataDescriptor_t x_desc, const void*, cudnnTensorDescriptor_t,
                              const void*, cudnnRNNDataDescriptor_t y_desc, const void*,
                              std::size_t weight_bytes, void* weight_gradients,
                              std::size_t work_bytes, void*, std::size_t reserve_bytes, void*) {
  Problem problem;
  const auto status = Check({.handle = handle,
                             .descriptor = descriptor,
                             .x = x_desc,
                             .y = y_desc,
                             .weight_bytes = weight_bytes,
                             .work_bytes = work_bytes,
                             .reserve_bytes = reserve_bytes},
                            &problem);
  if (status != CUDNN_STATUS_SUCCESS) return status;
  Issuer issuer(problem);
  for (int layer = 0; layer < problem.network->layers; ++layer) {
    WeightsOfLayer(problem, layer, mode == CUDNN_WGRAD_MODE_ADD, issuer);
  }
  if (issuer.status() != gpu::Status::kSuccess) return ToCudnn(issuer.status());
  library::NameWriter("cudnn.rnn_backward_weights");
  library::NoteWritten(problem.context->stream, weight_gradients, weight_bytes);
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace eidolon::shim::cudnn::rnn
