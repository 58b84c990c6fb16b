// The weights of a network are one buffer whose layout is the library's own: PyTorch asks where
// each matrix lies and copies into it. Here all matrices come first, by layer, direction and kind,
// and then all biases. An offset is found by adding up all parts, so asking for every matrix is
// quadratic in the number of layers, which are few. Without a buffer the offsets themselves are the
// answer, as in the real library. Gates are counted by the cell: four of an LSTM, three of a GRU,
// one of a plain network.
#include "shim/vendor/cudnn/rnn_descriptor.h"

#include <algorithm>
#include <array>

#include "shim/vendor/cudnn/descriptor.h"
#include "shim/vendor/cudnn/descriptor_handle.h"
#include "shim/vendor/cudnn/handle.h"
#include "shim/vendor/library/element_type.h"

namespace eidolon::shim::cudnn {
namespace {

// One matrix of a layer and direction, row by row, and its bias; those that are not there have no
// rows.
struct Part {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t bias = 0;
};

int PartsOf(const RnnDescriptor& network) {
  return 2 * network.gates() + (network.projects() ? 1 : 0);
}

Part PartOf(const RnnDescriptor& network, int layer, int linear) {
  const int gates = network.gates();
  if (linear == 2 * gates) {
    return {.rows = network.output_size, .columns = network.hidden_size, .bias = 0};
  }
  Part part{.rows = network.hidden_size, .columns = network.output_size, .bias = 0};
  const bool of_input = linear < gates;
  if (of_input) {
    part.columns = network.InputOf(layer);
    if (!network.MultipliesInput(layer)) part.rows = part.columns = 0;
  }
  const bool has_bias =
      network.bias == CUDNN_RNN_DOUBLE_BIAS ||
      network.bias == (of_input ? CUDNN_RNN_SINGLE_INP_BIAS : CUDNN_RNN_SINGLE_REC_BIAS);
  if (has_bias) part.bias = network.hidden_size;
  return part;
}

// Elements before a part's matrix and bias. `pseudo` counts layers and directions, one past the
// last for the ends.
struct Place {
  std::int64_t matrix = 0;
  std::int64_t bias = 0;
};

Place PlaceOf(const RnnDescriptor& network, int pseudo, int linear) {
  Place place;
  std::int64_t matrices = 0;
  const int all = network.layers * network.directions();
  for (int i = 0; i < all; ++i) {
    for (int j = 0; j < PartsOf(network); ++j) {
      const Part part = PartOf(network, i / network.directions(), j);
      const bool before = i < pseudo || (i == pseudo && j < linear);
      matrices += part.rows * part.columns;
      if (!before) continue;
      place.matrix += part.rows * part.columns;
      place.bias += part.bias;
    }
  }
  place.bias += matrices;
  return place;
}

bool IsSet(const RnnDescriptor* network) { return network != nullptr && network->layers > 0; }

template <typename T>
void Tell(T* out, T value) {
  if (out != nullptr) *out = value;
}

std::uint64_t ElementBytes(cudnnDataType_t type) { return library::BytesOf(CudaTypeOf(type), 1); }

void SetShape(cudnnTensorDescriptor_t descriptor, cudnnDataType_t type, std::int64_t rows,
              std::int64_t columns) {
  const std::array<int, 3> dims = {1, static_cast<int>(rows), static_cast<int>(columns)};
  const std::array<int, 3> strides = {dims[1] * dims[2], dims[2], 1};
  tensor::SetNd(descriptor, type, 3, dims.data(), strides.data());
}

}  // namespace

std::int64_t RnnDataDescriptor::Steps() const {
  std::int64_t all = 0;
  for (const int length : lengths) all += length;
  return all;
}

std::int64_t RnnDataDescriptor::MembersAt(int step) const {
  return std::ranges::count_if(lengths, [step](int length) { return length > step; });
}

std::uint64_t RnnDataDescriptor::Bytes() const {
  const bool packed = layout == CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED;
  const std::int64_t steps = packed ? Steps() : std::int64_t{max_length} * batch;
  return static_cast<std::uint64_t>(steps * vector_size) * ElementBytes(type);
}

namespace rnn {

cudnnStatus_t Create(cudnnRNNDescriptor_t* descriptor) { return Give<RnnDescriptor>(descriptor); }
cudnnStatus_t Destroy(cudnnRNNDescriptor_t descriptor) { return Take<RnnDescriptor>(descriptor); }

cudnnStatus_t Set(cudnnRNNDescriptor_t handle, cudnnRNNAlgo_t algorithm, cudnnRNNMode_t cell,
                  cudnnRNNBiasMode_t bias, cudnnDirectionMode_t direction,
                  cudnnRNNInputMode_t input_mode, cudnnDataType_t type, cudnnDataType_t precision,
                  cudnnMathType_t math, std::int32_t input_size, std::int32_t hidden_size,
                  std::int32_t projection_size, std::int32_t layers,
                  cudnnDropoutDescriptor_t dropout, std::uint32_t flags) {
  RnnDescriptor* network = RnnDescriptor::Find(handle);
  if (network == nullptr) return Fail(CUDNN_STATUS_BAD_PARAM, "not a descriptor of a network");
  const bool projects = projection_size > 0 && projection_size != hidden_size;
  if (input_size < 1 || hidden_size < 1 || layers < 1 || projection_size > hidden_size ||
      cell < CUDNN_RNN_RELU || cell > CUDNN_GRU || ElementBytes(type) == 0) {
    return Fail(CUDNN_STATUS_BAD_PARAM, "a size or a mode of the network is out of range");
  }
  if (projects && cell != CUDNN_LSTM) {
    return Fail(CUDNN_STATUS_NOT_SUPPORTED, "only LSTM cells project");
  }
  if (input_mode == CUDNN_SKIP_INPUT && input_size != hidden_size) {
    return Fail(CUDNN_STATUS_BAD_PARAM, "an input that is skipped is as wide as the state");
  }
  network->algorithm = algorithm;
  network->cell = cell;
  network->bias = bias;
  network->direction = direction;
  network->input_mode = input_mode;
  network->type = type;
  network->precision = precision;
  network->math = math;
  network->input_size = input_size;
  network->hidden_size = hidden_size;
  network->output_size = projects ? projection_size : hidden_size;
  network->layers = layers;
  network->dropout = dropout;
  network->flags = flags;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t Get(cudnnRNNDescriptor_t handle, cudnnRNNAlgo_t* algorithm, cudnnRNNMode_t* cell,
                  cudnnRNNBiasMode_t* bias, cudnnDirectionMode_t* direction,
                  cudnnRNNInputMode_t* input_mode, cudnnDataType_t* type,
                  cudnnDataType_t* precision, cudnnMathType_t* math, std::int32_t* input_size,
                  std::int32_t* hidden_size, std::int32_t* projection_size, std::int32_t* layers,
                  cudnnDropoutDescriptor_t* dropout, std::uint32_t* flags) {
  const RnnDescriptor* network = RnnDescriptor::Find(handle);
  if (!IsSet(network)) return Fail(CUDNN_STATUS_BAD_PARAM, "the network was not described");
  Tell(algorithm, network->algorithm);
  Tell(cell, network->cell);
  Tell(bias, network->bias);
  Tell(direction, network->direction);
  Tell(input_mode, network->input_mode);
  Tell(type, network->type);
  Tell(precision, network->precision);
  Tell(math, network->math);
  Tell(input_size, network->input_size);
  Tell(hidden_size, network->hidden_size);
  Tell(projection_size, network->output_size);
  Tell(layers, network->layers);
  Tell(dropout, network->dropout);
  Tell(flags, network->flags);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t CreateData(cudnnRNNDataDescriptor_t* descriptor) {
  return Give<RnnDataDescriptor>(descriptor);
}
cudnnStatus_t DestroyData(cudnnRNNDataDescriptor_t descriptor) {
  return Take<RnnDataDescriptor>(descriptor);
}

cudnnStatus_t SetData(cudnnRNNDataDescriptor_t handle, cudnnDataType_t type,
                      cudnnRNNDataLayout_t layout, int max_length, int batch, int vector_size,
                      const int* lengths, void* padding) {
  RnnDataDescriptor* data = RnnDataDescriptor::Find(handle);
  if (data == nullptr || lengths == nullptr) return CUDNN_STATUS_BAD_PARAM;
  if (max_length < 1 || batch < 1 || vector_size < 1 || ElementBytes(type) == 0) {
    return Fail(CUDNN_STATUS_BAD_PARAM, "a size of the sequences is out of range");
  }
  if (std::any_of(lengths, lengths + batch,
                  [max_length](int length) { return length < 0 || length > max_length; })) {
    return Fail(CUDNN_STATUS_BAD_PARAM, "a sequence is longer than the longest");
  }
  data->type = type;
  data->layout = layout;
  data->max_length = max_length;
  data->batch = batch;
  data->vector_size = vector_size;
  data->lengths.assign(lengths, lengths + batch);
  data->padding = 0;
  if (padding != nullptr && type == CUDNN_DATA_DOUBLE) {
    data->padding = *static_cast<const double*>(padding);
  } else if (padding != nullptr && type == CUDNN_DATA_FLOAT) {
    data->padding = static_cast<double>(*static_cast<const float*>(padding));
  }
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t GetData(cudnnRNNDataDescriptor_t handle, cudnnDataType_t* type,
                      cudnnRNNDataLayout_t* layout, int* max_length, int* batch, int* vector_size,
                      int requested, int* lengths, void* padding) {
  const RnnDataDescriptor* data = RnnDataDescriptor::Find(handle);
  if (data == nullptr || data->max_length == 0) return CUDNN_STATUS_BAD_PARAM;
  Tell(type, data->type);
  Tell(layout, data->layout);
  Tell(max_length, data->max_length);
  Tell(batch, data->batch);
  Tell(vector_size, data->vector_size);
  const int told = std::clamp(requested, 0, data->batch);
  if (lengths != nullptr) std::copy_n(data->lengths.begin(), told, lengths);
  if (padding != nullptr && data->type == CUDNN_DATA_DOUBLE) {
    *static_cast<double*>(padding) = data->padding;
  } else if (padding != nullptr && data->type == CUDNN_DATA_FLOAT) {
    *static_cast<float*>(padding) = static_cast<float>(data->padding);
  }
  return CUDNN_STATUS_SUCCESS;
}

std::uint64_t WeightBytes(const RnnDescriptor& network) {
  const Place end = PlaceOf(network, network.layers * network.directions(), 0);
  return static_cast<std::uint64_t>(end.bias) * ElementBytes(network.type);
}

cudnnStatus_t GetWeightSpaceSize(cudnnHandle_t handle, cudnnRNNDescriptor_t descriptor,
                                 std::size_t* bytes) {
  const RnnDescriptor* network = RnnDescriptor::Find(descriptor);
  if (Context::Find(handle) == nullptr || !IsSet(network) || bytes == nullptr) {
    return Fail(CUDNN_STATUS_BAD_PARAM, "the network was not described");
  }
  *bytes = WeightBytes(*network);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t GetWeightParams(cudnnHandle_t handle, cudnnRNNDescriptor_t descriptor,
                              std::int32_t pseudo_layer, std::size_t weight_bytes,
                              const void* weights, std::int32_t linear,
                              cudnnTensorDescriptor_t matrix_descriptor, void** matrix,
                              cudnnTensorDescriptor_t bias_descriptor, void** bias) {
  const RnnDescriptor* network = RnnDescriptor::Find(descriptor);
  if (Context::Find(handle) == nullptr || !IsSet(network)) {
    return Fail(CUDNN_STATUS_BAD_PARAM, "the network was not described");
  }
  if (pseudo_layer < 0 || pseudo_layer >= network->layers * network->directions() || linear < 0 ||
      linear >= PartsOf(*network)) {
    return Fail(CUDNN_STATUS_BAD_PARAM, "the network has no such layer");
  }
  if (weight_bytes < WeightBytes(*network)) {
    return Fail(CUDNN_STATUS_BAD_PARAM, "the weights are smaller than the network's");
  }
  const Part part = PartOf(*network, pseudo_layer / network->directions(), linear);
  const Place place = PlaceOf(*network, pseudo_layer, linear);
  const std::uint64_t width = ElementBytes(network->type);
  // Offsets when there are no weights yet, as in the real library.
  const auto at = [&](std::int64_t element) {
    return reinterpret_cast<void*>(reinterpret_cast<std::uint64_t>(weights) +
                                   static_cast<std::uint64_t>(element) * width);
  };
  Tell(matrix, part.rows > 0 ? at(place.matrix) : nullptr);
  Tell(bias, part.bias > 0 ? at(place.bias) : nullptr);
  if (matrix_descriptor != nullptr && part.rows > 0) {
    SetShape(matrix_descriptor, network->type, part.rows, part.columns);
  }
  if (bias_descriptor != nullptr && part.bias > 0) {
    SetShape(bias_descriptor, network->type, part.bias, 1);
  }
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace rnn
}  // namespace eidolon::shim::cudnn
