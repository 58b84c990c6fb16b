// A call is a graph of one bilinear resampling with the picture and the grid as inputs. The grid
// has no descriptor of its own: it is as large as the output, with two numbers for each point, and
// dense. A small forward call with alpha 1 and beta 0 is computed; gradients are not.
#include "shim/vendor/cudnn/spatial_transformer.h"

#include <algorithm>
#include <cstdint>
#include <initializer_list>

#include "shim/gpu/stream/submit.h"
#include "shim/value/compute/launch.h"
#include "shim/value/compute/sampling.h"
#include "shim/vendor/cudnn/descriptor.h"
#include "shim/vendor/cudnn/descriptor_handle.h"
#include "shim/vendor/cudnn/graph_work.h"
#include "shim/vendor/cudnn/handle.h"
#include "shim/vendor/library/gemm.h"
#include "shim/vendor/library/work.h"

namespace eidolon::shim::cudnn::spatial_transformer {
namespace {

struct Sides {
  const TensorDescriptor* input = nullptr;
  const TensorDescriptor* output = nullptr;
};

bool AreValid(const Sides& sides) {
  if (sides.input == nullptr || sides.output == nullptr) return false;
  const std::vector<int>& in = sides.input->dims;
  const std::vector<int>& out = sides.output->dims;
  return in.size() == 4 && out.size() == 4 && in[0] == out[0] && in[1] == out[1] &&
         sides.input->type == sides.output->type;
}

Tensor GridOf(const TensorDescriptor& output) {
  const std::int64_t batch = output.dims[0];
  const std::int64_t height = output.dims[2];
  const std::int64_t width = output.dims[3];
  return {.dims = {batch, height, width, 2},
          .strides = {height * width * 2, width * 2, 2, 1},
          .type = CudaTypeOf(output.type)};
}

cudnnStatus_t Submit(const Context& context, cudnnBackendDescriptorType_t kind,
                     std::initializer_list<Tensor> inputs, std::initializer_list<Tensor> outputs) {
  GraphWork work;
  workload::DnnOperation operation{};
  operation.kind = kind;
  operation.mode = CUDNN_RESAMPLE_BILINEAR;
  std::int64_t uid = 0;
  for (const Tensor& tensor : inputs) GraphWork::AddInput(operation, work.Add(++uid, tensor));
  for (const Tensor& tensor : outputs) GraphWork::AddOutput(operation, work.Add(++uid, tensor));
  work.Add(operation);
  const gpu::Status status = gpu::Submit(context.stream, work.Bytes(0, {}));
  library::NameWriter("cudnn.spatial_sampler");
  return ToCudnn(status);
}

compute::Picture PictureOf(const TensorDescriptor& descriptor, const void* address) {
  compute::Picture picture{.address = reinterpret_cast<std::uint64_t>(address)};
  std::ranges::copy(descriptor.dims, picture.dims.begin());
  std::ranges::copy(descriptor.strides, picture.strides.begin());
  return picture;
}

// Host scalars are double precision for that type only.
bool Is(const void* scalar, cudnnDataType_t type, double value) {
  if (scalar == nullptr) return false;
  if (type == CUDNN_DATA_DOUBLE) return *static_cast<const double*>(scalar) == value;
  return static_cast<double>(*static_cast<const float*>(scalar)) == value;
}

}  // namespace

cudnnStatus_t Create(cudnnSpatialTransformerDescriptor_t* descriptor) {
  return Give<SpatialTransformerDescriptor>(descriptor);
}

cudnnStatus_t Destroy(cudnnSpatialTransformerDescriptor_t descriptor) {
  return Take<SpatialTransformerDescriptor>(descriptor);
}

cudnnStatus_t Set(cudnnSpatialTransformerDescriptor_t handle, cudnnSamplerType_t sampler,
                  cudnnDataType_t type, int rank, const int* dims) {
  SpatialTransformerDescriptor* descriptor = SpatialTransformerDescriptor::Find(handle);
  if (descriptor == nullptr || dims == nullptr) return CUDNN_STATUS_BAD_PARAM;
  if (sampler != CUDNN_SAMPLER_BILINEAR) return CUDNN_STATUS_BAD_PARAM;
  if (rank != 4) return CUDNN_STATUS_NOT_SUPPORTED;
  if (!std::all_of(dims, dims + rank, [](int dim) { return dim > 0; })) {
    return CUDNN_STATUS_BAD_PARAM;
  }
  descriptor->type = type;
  descriptor->dims.assign(dims, dims + rank);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t SamplerForward(cudnnHandle_t handle, cudnnSpatialTransformerDescriptor_t descriptor,
                             const void* alpha, const cudnnTensorDescriptor_t x_desc, const void* x,
                             const void* grid, const void* beta, cudnnTensorDescriptor_t y_desc,
                             void* y) {
  const Context* context = Context::Find(handle);
  if (context == nullptr) return Fail(CUDNN_STATUS_BAD_PARAM, "not a handle");
  const Sides sides{TensorDescriptor::Find(x_desc), TensorDescriptor::Find(y_desc)};
  if (SpatialTransformerDescriptor::Find(descriptor) == nullptr || !AreValid(sides)) {
    return Fail(CUDNN_STATUS_BAD_PARAM, "the descriptors do not fit");
  }
  if (x == nullptr || grid == nullptr || y == nullptr) return CUDNN_STATUS_BAD_PARAM;
  const Tensor output = ShapeOf(*sides.output);
  const cudnnStatus_t status = Submit(*context, CUDNN_BACKEND_OPERATION_RESAMPLE_FWD_DESCRIPTOR,
                                      {ShapeOf(*sides.input), GridOf(*sides.output)}, {output});
  if (status != CUDNN_STATUS_SUCCESS) return status;
  const cudnnDataType_t type = sides.output->type;
  const compute::Sampling sampling{.type = library::ElementOf(output.type),
                                   .input = PictureOf(*sides.input, x),
                                   .output = PictureOf(*sides.output, y),
                                   .grid = reinterpret_cast<std::uint64_t>(grid)};
  const bool plain = Is(alpha, type, 1) && Is(beta, type, 0);
  if (plain && compute::IsOn() && compute::IsSmall(sampling)) {
    library::AfterWork(context->stream, [sampling] { compute::Record(sampling); });
  } else {
    library::NoteWritten(context->stream, y, ExtentOf(output));
  }
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t SamplerBackward(cudnnHandle_t handle, cudnnSpatialTransformerDescriptor_t descriptor,
                              const void*, const cudnnTensorDescriptor_t x_desc, const void* x,
                              const void*, const cudnnTensorDescriptor_t dx_desc, void* dx,
                              const void*, const cudnnTensorDescriptor_t dy_desc, const void* dy,
                              const void* grid, const void*, void* dgrid) {
  const Context* context = Context::Find(handle);
  if (context == nullptr) return Fail(CUDNN_STATUS_BAD_PARAM, "not a handle");
  const Sides sides{TensorDescriptor::Find(x_desc), TensorDescriptor::Find(dy_desc)};
  const TensorDescriptor* const gradient = TensorDescriptor::Find(dx_desc);
  if (SpatialTransformerDescriptor::Find(descriptor) == nullptr || !AreValid(sides) ||
      gradient == nullptr || gradient->dims != sides.input->dims) {
    return Fail(CUDNN_STATUS_BAD_PARAM, "the descriptors do not fit");
  }
  if (x == nullptr || dx == nullptr || dy == nullptr || grid == nullptr || dgrid == nullptr) {
    return CUDNN_STATUS_BAD_PARAM;
  }
  const Tensor points = GridOf(*sides.output);
  const Tensor result = ShapeOf(*gradient);
  const cudnnStatus_t status =
      Submit(*context, CUDNN_BACKEND_OPERATION_RESAMPLE_BWD_DESCRIPTOR,
             {ShapeOf(*sides.input), ShapeOf(*sides.output), points}, {result, points});
  if (status != CUDNN_STATUS_SUCCESS) return status;
  library::NoteWritten(context->stream, dx, ExtentOf(result));
  library::NoteWritten(context->stream, dgrid, ExtentOf(points));
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace eidolon::shim::cudnn::spatial_transformer
