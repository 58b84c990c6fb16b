#include <gtest/gtest.h>

#include <cstdint>

#include "shim/vendor/cudnn/backend.h"
#include "shim/vendor/cudnn/graph_test.h"

namespace eidolon::shim::cudnn {
namespace {

using EnginesTest = CudnnTest;

TEST_F(EnginesTest, AProgramThatForbidsTf32FindsAnEngineWithoutTensorCores) {
  const Handle graph = ConvolutionGraph(CUDNN_DATA_FLOAT);
  for (const std::int64_t index : {0, 1}) {
    Handle engine = EngineOf(graph, index);
    Finish(engine);
    std::int64_t notes = -1;
    EXPECT_EQ(backend::GetAttribute(engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
                                    CUDNN_TYPE_NUMERICAL_NOTE, 0, &notes, nullptr),
              CUDNN_STATUS_SUCCESS);
    EXPECT_EQ(notes, index == 0 ? 1 : 0);
  }

  ASSERT_EQ(Execute(PlanOf(graph, 0, 2), {'x', 'w', 'y'}), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(LastGraph().header.engine, 0u);
  ASSERT_EQ(Execute(PlanOf(graph, 1, 2), {'x', 'w', 'y'}), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(LastGraph().header.engine, workload::kPlainDnnEngine);
}

TEST_F(EnginesTest, AFrontendMayNameTheEngineOfAnAttention) {
  const Handle attention = AttentionGraph(0);
  for (const std::int64_t index : {5, 17}) Finish(EngineOf(attention, index));

  std::int64_t engines = 0, count = 0;
  EXPECT_EQ(backend::GetAttribute(attention, CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT,
                                  CUDNN_TYPE_INT64, 1, &count, &engines),
            CUDNN_STATUS_SUCCESS);
  EXPECT_GT(engines, 17);
  for (const std::int64_t index : {std::int64_t{-1}, engines}) {
    EXPECT_EQ(backend::Finalize(EngineOf(attention, index)), CUDNN_STATUS_NOT_SUPPORTED);
  }
  EXPECT_EQ(backend::Finalize(EngineOf(ConvolutionGraph(), 5)), CUDNN_STATUS_NOT_SUPPORTED);
}

TEST_F(EnginesTest, TheSecondEngineOfAnAttentionHasTensorCores) {
  Handle engine = EngineOf(AttentionGraph(0), 1);
  Finish(engine);
  std::int64_t notes = 0;
  EXPECT_EQ(backend::GetAttribute(engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
                                  CUDNN_TYPE_NUMERICAL_NOTE, 0, &notes, nullptr),
            CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(notes, 1);
}

}  // namespace
}  // namespace eidolon::shim::cudnn
