#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <vector>

#include "shim/value/store.h"
#include "shim/vendor/cudnn/backend.h"
#include "shim/vendor/cudnn/batch_norm.h"
#include "shim/vendor/cudnn/convolution.h"
#include "shim/vendor/cudnn/descriptor.h"
#include "shim/vendor/cudnn/graph_test.h"
#include "shim/vendor/cudnn/handle.h"
#include "shim/vendor/library/submitted_work.h"

namespace eidolon::shim::cudnn {
namespace {

TEST_F(CudnnTest, AConvolutionGraphBecomesOneWork) {
  ASSERT_EQ(Execute(PlanOf(ConvolutionGraph()), {'x', 'w', 'y'}), CUDNN_STATUS_SUCCESS);

  const Graph graph = LastGraph();
  ASSERT_EQ(graph.operations.size(), 1u);
  const workload::DnnOperation& op = graph.operations[0];
  EXPECT_EQ(op.kind, CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
  EXPECT_EQ(op.convolution_rank, 2u);
  EXPECT_EQ(op.pads[1], 1);
  ASSERT_EQ(op.input_count, 2u);
  ASSERT_EQ(op.output_count, 1u);
  // Data first, filter second; numbers in order of appearance.
  const auto& image = graph.tensors[static_cast<std::size_t>(op.inputs[0] - 1)];
  const auto& filter = graph.tensors[static_cast<std::size_t>(op.inputs[1] - 1)];
  EXPECT_EQ(image.dims[2], 56);
  EXPECT_EQ(filter.dims[0], 128);
  EXPECT_EQ(image.type, static_cast<std::uint32_t>(CUDA_R_16BF));
}

TEST_F(CudnnTest, EqualGraphsOfOtherDescriptorsAreOneWork) {
  ASSERT_EQ(Execute(PlanOf(ConvolutionGraph()), {'x', 'w', 'y'}), CUDNN_STATUS_SUCCESS);
  ASSERT_EQ(Execute(PlanOf(ConvolutionGraph()), {'x', 'w', 'y'}), CUDNN_STATUS_SUCCESS);

  const auto launches = agent_.RecordsOf(ring::RecordKind::kLaunch);
  ASSERT_EQ(launches.size(), 2u);
  EXPECT_EQ(launches[0].As<ring::LaunchRecord>().work, launches[1].As<ring::LaunchRecord>().work);
}

TEST_F(CudnnTest, APlanOutlivesTheDescriptorsItWasMadeOf) {
  Handle plan = PlanOf(ConvolutionGraph());
  for (Handle& descriptor : made_) {
    if (descriptor != plan) backend::DestroyDescriptor(descriptor);
  }
  made_ = {plan};

  EXPECT_EQ(Execute(plan, {'x', 'w', 'y'}), CUDNN_STATUS_SUCCESS);
}

TEST_F(CudnnTest, AttentionKeepsItsTensorsAndMasks) {
  ASSERT_EQ(Execute(PlanOf(AttentionGraph(0)), {1, 2, 3, 4}), CUDNN_STATUS_SUCCESS);

  const Graph graph = LastGraph();
  ASSERT_EQ(graph.operations.size(), 2u);
  EXPECT_EQ(graph.operations[0].kind, CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR);
  EXPECT_EQ(graph.operations[0].input_count, 3u);
  EXPECT_EQ(graph.operations[1].kind, CUDNN_BACKEND_OPERATION_DIAGONAL_BAND_MASK_DESCRIPTOR);
}

TEST_F(CudnnTest, AGraphBringsItsDescriptorsButForAConvolutionAlone) {
  ASSERT_EQ(Execute(PlanOf(ConvolutionGraph()), {'x', 'w', 'y'}), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(LastGraph().header.node_bytes, 0u);

  ASSERT_EQ(Execute(PlanOf(AttentionGraph(0)), {1, 2, 3, 4}), CUDNN_STATUS_SUCCESS);

  // What a descriptor refers to comes before it: seven tensors, a mask in its graph, attention in
  // its.
  const auto types = NodeTypes(LastGraph());
  EXPECT_EQ(std::ranges::count(types, CUDNN_BACKEND_TENSOR_DESCRIPTOR), 7);
  ASSERT_EQ(types.size(), 11u);
  EXPECT_EQ(types.back(), CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  EXPECT_EQ(types[9], CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR);
}

TEST_F(CudnnTest, EqualGraphsOfOtherIdentifiersAreOneWork) {
  ASSERT_EQ(Execute(PlanOf(AttentionGraph(0)), {1, 2, 3, 4}), CUDNN_STATUS_SUCCESS);
  ASSERT_EQ(Execute(PlanOf(AttentionGraph(100)), {101, 102, 103, 104}), CUDNN_STATUS_SUCCESS);

  const auto launches = agent_.RecordsOf(ring::RecordKind::kLaunch);
  ASSERT_EQ(launches.size(), 2u);
  EXPECT_EQ(launches[0].As<ring::LaunchRecord>().work, launches[1].As<ring::LaunchRecord>().work);
}

TEST_F(CudnnTest, WholeNumbersThatArePassedByValueTellWorkApart) {
  Handle plan = PlanOf(AttentionGraph(0));
  for (std::int32_t bound : {-128, -64, -128}) {
    ASSERT_EQ(
        ExecuteOn(plan, {1, 2, 3, 4, 5}, {Buffer(0), Buffer(1), Buffer(2), Buffer(3), &bound}),
        CUDNN_STATUS_SUCCESS);
  }

  const auto launches = agent_.RecordsOf(ring::RecordKind::kLaunch);
  ASSERT_EQ(launches.size(), 3u);
  const auto work = [&](std::size_t i) { return launches[i].As<ring::LaunchRecord>().work; };
  EXPECT_NE(work(0), work(1));
  EXPECT_EQ(work(0), work(2));
}

TEST_F(CudnnTest, WhatAGraphWritesIsForgotten) {
  const auto y = reinterpret_cast<std::uint64_t>(Buffer(2));
  value::ProcessStore().Fill(y, 0, 4, 64);

  ASSERT_EQ(Execute(PlanOf(ConvolutionGraph()), {'x', 'w', 'y'}), CUDNN_STATUS_SUCCESS);

  EXPECT_FALSE(value::ProcessStore().IsKnown(y, 64));
}

TEST_F(CudnnTest, AttributesAreEchoedAndChecked) {
  Handle tensor = Make(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  const std::int64_t dims[] = {2, 3};
  std::int64_t count = 0;
  std::int64_t back[2] = {};

  EXPECT_EQ(backend::Finalize(tensor), CUDNN_STATUS_BAD_PARAM);
  char message[80];
  handle::GetLastErrorString(message, sizeof(message));
  EXPECT_THAT(message, ::testing::HasSubstr("not set"));
  EXPECT_EQ(backend::SetAttribute(tensor, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_INT64, 1, dims),
            CUDNN_STATUS_BAD_PARAM);
  Handle finished = Tensor(5, {2, 3});
  EXPECT_EQ(backend::GetAttribute(finished, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 2,
                                  &count, back),
            CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(count, 2);
  EXPECT_EQ(back[1], 3);
  EXPECT_EQ(backend::GetAttribute(finished, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_FLOAT, 2,
                                  &count, back),
            CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE);
  EXPECT_EQ(
      backend::SetAttribute(finished, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 2, dims),
      CUDNN_STATUS_NOT_INITIALIZED);
  Handle open = Make(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  Handle op = Make(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
  EXPECT_EQ(backend::SetAttribute(op, CUDNN_ATTR_OPERATION_MATMUL_ADESC,
                                  CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &open),
            CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED);
}

TEST_F(CudnnTest, HeuristicsOfNoGraphFindNothing) {
  Handle heuristic = Make(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  Set<Handle>(heuristic, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR, {});
  Set<std::int32_t>(heuristic, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE,
                    {CUDNN_HEUR_MODE_A});
  Finish(heuristic);

  std::int64_t count = 0;
  EXPECT_EQ(backend::GetAttribute(heuristic, CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                  CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, &count, nullptr),
            CUDNN_STATUS_NOT_SUPPORTED);
}

TEST_F(CudnnTest, GraphsThatMultiplyAreRefused) {
  Handle graph = ConvolutionGraph();
  for (int level = 0; level < 8; ++level) {
    Handle outer = Make(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    Set<Handle>(outer, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                std::vector<Handle>(10, graph));
    Finish(outer);
    graph = outer;
  }
  Handle engine = EngineOf(graph, 0);
  Finish(engine);
  Handle configuration = Make(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  Link(configuration, CUDNN_ATTR_ENGINECFG_ENGINE, engine);
  Finish(configuration);
  Handle plan = Make(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  Link(plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration);

  EXPECT_EQ(backend::Finalize(plan), CUDNN_STATUS_NOT_SUPPORTED);
}

TEST_F(CudnnTest, PlansTellTheirWorkspace) {
  Handle plan = PlanOf(ConvolutionGraph());
  std::int64_t bytes = -1;
  std::int64_t count = 0;
  EXPECT_EQ(backend::GetAttribute(plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64,
                                  1, &count, &bytes),
            CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(bytes, 0);
  std::size_t size = 1;
  EXPECT_EQ(backend::GetPlanWorkspaceSize(handle_, plan, nullptr, &size), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(size, 0u);
}

TEST_F(CudnnTest, TheOlderConvolutionsAreGraphsToo) {
  cudnnTensorDescriptor_t x, y;
  cudnnFilterDescriptor_t w;
  cudnnConvolutionDescriptor_t conv;
  tensor::Create(&x);
  tensor::Create(&y);
  filter::Create(&w);
  convolution_descriptor::Create(&conv);
  tensor::Set4d(x, CUDNN_TENSOR_NHWC, CUDNN_DATA_HALF, 8, 64, 28, 28);
  tensor::Set4d(y, CUDNN_TENSOR_NHWC, CUDNN_DATA_HALF, 8, 64, 28, 28);
  filter::Set4d(w, CUDNN_DATA_HALF, CUDNN_TENSOR_NHWC, 64, 64, 3, 3);
  convolution_descriptor::Set2d(conv, 1, 1, 1, 1, 1, 1, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT);

  ASSERT_EQ(convolution::Forward(handle_, nullptr, x, Buffer(0), w, Buffer(1), conv,
                                 CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM, nullptr, 0, nullptr, y,
                                 Buffer(2)),
            CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(LastGraph().tensors[0].strides[1], 1);
  EXPECT_EQ(LastGraph().operations[0].conv_strides[0], 1);
  ASSERT_EQ(convolution::BackwardFilter(handle_, nullptr, x, Buffer(0), y, Buffer(2), conv,
                                        CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1, nullptr, 0, nullptr, w,
                                        Buffer(1)),
            CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(LastGraph().operations[0].kind,
            CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR);
  std::size_t bytes = 0;
  EXPECT_EQ(convolution::BackwardFilterWorkspace(handle_, x, y, conv, w,
                                                 CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1, &bytes),
            CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(bytes, 64u * 64 * 9 * 4);
  cudnnConvolutionFwdAlgoPerf_t result;
  int count = 0;
  EXPECT_EQ(convolution::GetForward(handle_, x, w, conv, y, 8, &count, &result),
            CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(count, 1);

  tensor::Destroy(x);
  tensor::Destroy(y);
  filter::Destroy(w);
  convolution_descriptor::Destroy(conv);
}

TEST_F(CudnnTest, BatchNormalisationIsANormOperation) {
  cudnnTensorDescriptor_t x, scale;
  tensor::Create(&x);
  tensor::Create(&scale);
  tensor::Set4d(x, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 16, 32, 14, 14);
  tensor::Set4d(scale, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 1, 32, 1, 1);

  ASSERT_EQ(batch_norm::ForwardTraining(handle_, CUDNN_BATCHNORM_SPATIAL, nullptr, nullptr, x,
                                        Buffer(0), x, Buffer(1), scale, Buffer(2), Buffer(3), 0.1,
                                        Buffer(4), Buffer(5), 1e-5, Buffer(6), Buffer(7)),
            CUDNN_STATUS_SUCCESS);

  const Graph graph = LastGraph();
  EXPECT_EQ(graph.operations[0].kind, CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR);
  EXPECT_EQ(graph.operations[0].mode, CUDNN_BATCH_NORM);
  EXPECT_EQ(graph.operations[0].phase, 1u);
  EXPECT_EQ(graph.operations[0].output_count, 5u);

  ASSERT_EQ(batch_norm::Backward(handle_, CUDNN_BATCHNORM_SPATIAL, nullptr, nullptr, nullptr,
                                 nullptr, x, Buffer(0), x, Buffer(1), x, Buffer(2), scale,
                                 Buffer(3), Buffer(4), Buffer(5), 1e-5, Buffer(6), Buffer(7)),
            CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(LastGraph().operations[0].kind, CUDNN_BACKEND_OPERATION_NORM_BACKWARD_DESCRIPTOR);
  std::size_t bytes = 7;
  EXPECT_EQ(batch_norm::ReserveSpace(handle_, CUDNN_BATCHNORM_SPATIAL, CUDNN_BATCHNORM_OPS_BN,
                                     nullptr, x, &bytes),
            CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(bytes, 0u);
  tensor::Destroy(x);
  tensor::Destroy(scale);
}

TEST_F(CudnnTest, DropoutStatesAreSizedAndFilled) {
  std::size_t bytes = 0;
  ASSERT_EQ(dropout::GetStatesSize(handle_, &bytes), CUDNN_STATUS_SUCCESS);
  EXPECT_GT(bytes, 1u << 20);
  cudnnDropoutDescriptor_t descriptor;
  dropout::Create(&descriptor);
  EXPECT_EQ(dropout::Set(descriptor, handle_, 0.1f, Buffer(0), bytes, 7), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(library::LaunchedWork(agent_).size(), 1u);
  EXPECT_EQ(dropout::Set(descriptor, handle_, 2.0f, Buffer(0), bytes, 7), CUDNN_STATUS_BAD_PARAM);
  dropout::Destroy(descriptor);
}

TEST_F(CudnnTest, TheHandleKeepsItsStream) {
  cudaStream_t stream = nullptr;
  EXPECT_EQ(handle::SetStream(handle_, reinterpret_cast<cudaStream_t>(1)), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(handle::GetStream(handle_, &stream), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(stream, reinterpret_cast<cudaStream_t>(1));
  EXPECT_EQ(handle::GetVersion(), static_cast<std::size_t>(CUDNN_VERSION));
  EXPECT_STREQ(handle::GetErrorString(CUDNN_STATUS_BAD_PARAM), "CUDNN_STATUS_BAD_PARAM");
}

}  // namespace
}  // namespace eidolon::shim::cudnn
