// Graphs of cuDNN's backend interface, made as its frontend makes them, and what the agent is told
// of them.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "shim/vendor/cudnn/backend.h"
#include "shim/vendor/cudnn/handle.h"
#include "shim/vendor/cudnn/told_graph_test.h"
#include "shim/vendor/library/submitted_work.h"

namespace eidolon::shim::cudnn {

using Handle = cudnnBackendDescriptor_t;

class CudnnTest : public ::testing::Test {
 protected:
  CudnnTest() : agent_(library::StartAgent()) {
    EXPECT_EQ(handle::Create(&handle_), CUDNN_STATUS_SUCCESS);
  }
  ~CudnnTest() override {
    for (Handle descriptor : made_) backend::DestroyDescriptor(descriptor);
    handle::Destroy(handle_);
  }

  Handle Make(cudnnBackendDescriptorType_t type) {
    Handle descriptor = nullptr;
    EXPECT_EQ(backend::CreateDescriptor(type, &descriptor), CUDNN_STATUS_SUCCESS);
    made_.push_back(descriptor);
    return descriptor;
  }
  template <typename T>
  void Set(Handle descriptor, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
           std::vector<T> values) {
    EXPECT_EQ(backend::SetAttribute(descriptor, name, type, std::ssize(values), values.data()),
              CUDNN_STATUS_SUCCESS)
        << name;
  }
  void Link(Handle descriptor, cudnnBackendAttributeName_t name, Handle other) {
    Set<Handle>(descriptor, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, {other});
  }
  void Finish(Handle descriptor) { EXPECT_EQ(backend::Finalize(descriptor), CUDNN_STATUS_SUCCESS); }
  Handle Tensor(std::int64_t uid, std::vector<std::int64_t> dims,
                std::int32_t type = CUDNN_DATA_BFLOAT16) {
    Handle tensor = Make(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    Describe(tensor, uid, dims, type);
    Finish(tensor);
    return tensor;
  }
  void Describe(Handle tensor, std::int64_t uid, const std::vector<std::int64_t>& dims,
                std::int32_t type) {
    std::vector<std::int64_t> strides(dims.size(), 1);
    for (std::size_t i = dims.size() - 1; i > 0; --i) strides[i - 1] = strides[i] * dims[i];
    Set<std::int32_t>(tensor, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, {type});
    Set(tensor, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, dims);
    Set(tensor, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, strides);
    Set<std::int64_t>(tensor, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, {uid});
  }
  // A 3 x 3 convolution with padding 1, as the graph interface describes it.
  Handle ConvolutionGraph(std::int32_t type = CUDNN_DATA_BFLOAT16) {
    Handle conv = Make(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
    Set<std::int64_t>(conv, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, {2});
    for (const auto name :
         {CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES,
          CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS}) {
      Set<std::int64_t>(conv, name, CUDNN_TYPE_INT64, {1, 1});
    }
    Finish(conv);
    Handle op = Make(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
    Link(op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, conv);
    Link(op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, Tensor('x', {8, 64, 56, 56}, type));
    Link(op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, Tensor('w', {128, 64, 3, 3}, type));
    Link(op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, Tensor('y', {8, 128, 56, 56}, type));
    Finish(op);
    return GraphOf(op);
  }
  // Its queries, keys, values and output are tensors 1 to 4, and the bound of its mask, which is
  // passed by value, is 5; all are `first` more.
  Handle AttentionGraph(std::int64_t first) {
    Handle bound = Make(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    Describe(bound, first + 5, {1, 1, 1, 1}, CUDNN_DATA_INT32);
    Set<char>(bound, CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, {1});
    Finish(bound);
    Handle mask = Make(CUDNN_BACKEND_OPERATION_DIAGONAL_BAND_MASK_DESCRIPTOR);
    Link(mask, CUDNN_ATTR_OPERATION_DIAGONAL_BAND_MASK_XDESC,
         Tensor(first + 20, {4, 16, 512, 512}));
    Link(mask, CUDNN_ATTR_OPERATION_DIAGONAL_BAND_MASK_LEFT_BOUND_DESC, bound);
    Link(mask, CUDNN_ATTR_OPERATION_DIAGONAL_BAND_MASK_YDESC,
         Tensor(first + 21, {4, 16, 512, 512}));
    Finish(mask);
    Handle op = Make(CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR);
    Link(op, CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC, Tensor(first + 1, {4, 16, 512, 64}));
    Link(op, CUDNN_ATTR_OPERATION_SDPA_FWD_KDESC, Tensor(first + 2, {4, 16, 512, 64}));
    Link(op, CUDNN_ATTR_OPERATION_SDPA_FWD_VDESC, Tensor(first + 3, {4, 16, 512, 64}));
    Link(op, CUDNN_ATTR_OPERATION_SDPA_FWD_ODESC, Tensor(first + 4, {4, 16, 512, 64}));
    Link(op, CUDNN_ATTR_OPERATION_SDPA_FWD_SUBGRAPH, GraphOf(mask));
    Set<std::int64_t>(op, CUDNN_ATTR_OPERATION_SDPA_FWD_SUBGRAPH_INPUT_UID, CUDNN_TYPE_INT64,
                      {first + 20});
    Finish(op);
    return GraphOf(op);
  }
  Handle GraphOf(Handle op) {
    Handle graph = Make(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    Link(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, op);
    Finish(graph);
    return graph;
  }
  // The engine is not finished yet.
  Handle EngineOf(Handle graph, std::int64_t index) {
    Handle engine = Make(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    Link(engine, CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph);
    Set<std::int64_t>(engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, {index});
    return engine;
  }
  // What the frontend does: ask the heuristics, then plan with one of the configurations.
  Handle PlanOf(Handle graph, std::size_t chosen = 0, std::int64_t offered = 1) {
    Handle heuristic = Make(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    Link(heuristic, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
    Set<std::int32_t>(heuristic, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE,
                      {CUDNN_HEUR_MODE_A});
    Finish(heuristic);
    std::int64_t count = 0;
    EXPECT_EQ(backend::GetAttribute(heuristic, CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                    CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, &count, nullptr),
              CUDNN_STATUS_SUCCESS);
    EXPECT_EQ(count, offered);
    std::vector<Handle> configurations;
    for (std::int64_t i = 0; i < offered; ++i) {
      configurations.push_back(Make(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR));
    }
    EXPECT_EQ(backend::GetAttribute(heuristic, CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                    CUDNN_TYPE_BACKEND_DESCRIPTOR, offered, &count,
                                    configurations.data()),
              CUDNN_STATUS_SUCCESS);
    Handle first = Make(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    EXPECT_EQ(backend::GetAttribute(heuristic, CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                    CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &first),
              CUDNN_STATUS_SUCCESS);
    EXPECT_EQ(count, 1);  // As many as were asked for.
    Handle plan = Make(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    Link(plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configurations[chosen]);
    Finish(plan);
    return plan;
  }
  cudnnStatus_t Execute(Handle plan, std::vector<std::int64_t> uids) {
    std::vector<void*> pointers;
    for (std::size_t i = 0; i < uids.size(); ++i) pointers.push_back(Buffer(static_cast<int>(i)));
    return ExecuteOn(plan, std::move(uids), std::move(pointers));
  }
  cudnnStatus_t ExecuteOn(Handle plan, std::vector<std::int64_t> uids,
                          std::vector<void*> pointers) {
    Handle pack = Make(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    Set(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, uids);
    Set(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, pointers);
    Finish(pack);
    return backend::Execute(handle_, plan, pack);
  }
  Graph LastGraph() { return LastGraphOf(agent_); }
  static void* Buffer(int i) { return reinterpret_cast<void*>(0x6b0100000000 + i * 0x10000000ll); }

  core::FakeAgent& agent_;
  cudnnHandle_t handle_ = nullptr;
  std::vector<Handle> made_;
};

}  // namespace eidolon::shim::cudnn
