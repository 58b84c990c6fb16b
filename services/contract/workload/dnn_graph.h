// The work definition (work.h) of a cuDNN graph.
#pragma once

#include <cstdint>
#include <span>
#include <tuple>

#include "services/contract/workload/fields.h"
#include "services/contract/workload/work_header.h"

namespace eidolon::workload {

inline constexpr int kMaxDnnDims = 8;

struct DnnTensor {
  std::int64_t uid;
  std::int64_t dims[kMaxDnnDims];
  std::int64_t strides[kMaxDnnDims];
  std::uint32_t rank;
  DataType type;
  std::uint32_t is_virtual;  // Lives only inside the graph: never touches memory.
  std::uint32_t by_value;

  std::span<const std::int64_t> Dims() const { return {dims, rank}; }
  std::span<const std::int64_t> Strides() const { return {strides, rank}; }
};
template <>
inline constexpr auto kFields<DnnTensor> = std::tuple{
    Field{"uid", &DnnTensor::uid},
    Field{"dims", &DnnTensor::dims},
    Field{"strides", &DnnTensor::strides},
    Field{"rank", &DnnTensor::rank, Key::kOther, kMaxDnnDims},
    Field{"type", &DnnTensor::type},
    Field{"is_virtual", &DnnTensor::is_virtual},
    Field{"by_value", &DnnTensor::by_value},
};

// An operation of a cuDNN backend graph. `kind` is the descriptor type's number
// (CUDNN_BACKEND_OPERATION_..._DESCRIPTOR); `mode` the pointwise, reduction or normalisation mode.
struct DnnOperation {
  std::uint32_t kind;
  std::uint32_t mode;
  std::uint32_t phase;  // Training or inference for normalisations.
  std::uint32_t input_count;
  std::uint32_t output_count;
  std::uint32_t convolution_rank;  // Spatial dimensions, 0 when not a convolution.
  std::int64_t pads[4], post_pads[4], conv_strides[4], dilations[4];
  std::int64_t inputs[12];  // Tensor uids.
  std::int64_t outputs[8];

  std::span<const std::int64_t> Inputs() const { return {inputs, input_count}; }
  std::span<const std::int64_t> Outputs() const { return {outputs, output_count}; }
  // One number a spatial dimension.
  std::span<const std::int64_t> Pads() const { return {pads, convolution_rank}; }
  std::span<const std::int64_t> PostPads() const { return {post_pads, convolution_rank}; }
  std::span<const std::int64_t> Strides() const { return {conv_strides, convolution_rank}; }
  std::span<const std::int64_t> Dilations() const { return {dilations, convolution_rank}; }
};
template <>
inline constexpr auto kFields<DnnOperation> = std::tuple{
    Field{"kind", &DnnOperation::kind},
    Field{"mode", &DnnOperation::mode},
    Field{"phase", &DnnOperation::phase},
    Field{"input_count", &DnnOperation::input_count, Key::kOther, 12},
    Field{"output_count", &DnnOperation::output_count, Key::kOther, 8},
    Field{"convolution_rank", &DnnOperation::convolution_rank, Key::kOther, 4},
    Field{"pads", &DnnOperation::pads},
    Field{"post_pads", &DnnOperation::post_pads},
    Field{"conv_strides", &DnnOperation::conv_strides},
    Field{"dilations", &DnnOperation::dilations},
    Field{"inputs", &DnnOperation::inputs},
    Field{"outputs", &DnnOperation::outputs},
};

// The engine without tensor cores; all others may use them.
inline constexpr std::uint32_t kPlainDnnEngine = 1;

// Tail: DnnTensor[tensor_count], DnnOperation[operation_count], in the order the program gave; then
// node_bytes of nodes (dnn_nodes.h).
struct DnnGraph {
  WorkHeader header{WorkKind::kDnnGraph, sizeof(DnnGraph)};
  std::uint32_t tensor_count = 0;
  std::uint32_t operation_count = 0;
  std::uint32_t engine = 0;  // Global engine index chosen by the program.
  std::uint32_t node_bytes = 0;

  bool WithoutTensorCores() const { return engine == kPlainDnnEngine; }  // It forbids TF32.
};
template <>
inline constexpr auto kFields<DnnGraph> = std::tuple{
    Field{"tensor_count", &DnnGraph::tensor_count, Key::kOther, 1024},
    Field{"operation_count", &DnnGraph::operation_count, Key::kOther, 1024},
    Field{"engine", &DnnGraph::engine},
    Field{"node_bytes", &DnnGraph::node_bytes, Key::kOther, 4 << 20},
};

}  // namespace eidolon::workload
