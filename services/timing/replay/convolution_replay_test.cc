// Convolutions through a cuDNN that checks what it is given (fake_cudnn.cc).
#include "services/timing/replay/convolution_replay.h"
#include "services/timing/kernel/dnn_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "services/timing/replay/player.h"
#include "source_tree.h"

namespace eidolon::timing::replay {
namespace {

using testing::HasSubstr;

constexpr const char* kDriver = EIDOLON_BINARY_DIR "/tests/libeidolon_fake_cuda.so";
constexpr const char* kLibraries = EIDOLON_BINARY_DIR "/tests/fake_libraries";

class ConvolutionReplayTest : public testing::Test {
 protected:
  static std::unique_ptr<Player> Open(const char* script = "") {
    setenv("EIDOLON_FAKE_DNN", script, 1);
    return *Player::Open({.driver = kDriver, .libraries = kLibraries});
  }
  static kernel::DnnTensor Tensor(std::int64_t uid, const std::vector<std::int64_t>& dims,
                                  std::uint32_t type = CUDA_R_16BF) {
    std::vector<std::int64_t> strides(dims.size(), 1);
    for (std::size_t i = dims.size() - 1; i > 0; --i) strides[i - 1] = strides[i] * dims[i];
    return kernel::TensorOf(uid, dims, type, false, strides);
  }
  // Inputs and output in the order of the identity, for x, w and y of a strided 3x3 convolution.
  static kernel::DnnGraph Graph(std::uint32_t kind, std::uint32_t type = CUDA_R_16BF) {
    const auto x = Tensor(1, {4, 16, 57, 56}, type);
    const auto w = Tensor(2, {32, 16, 3, 3}, type);
    const auto y = Tensor(3, {4, 32, 29, 28}, type);
    kernel::DnnGraph graph;
    const auto operation = [kind](const kernel::DnnNumbers& inputs, std::int64_t output) {
      return kernel::ConvolutionOf(
          kernel::OperationOf(kind, inputs, {output}, CUDNN_CROSS_CORRELATION), 2, 1, 2, 1);
    };
    switch (kind) {
      case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
        graph.operations = {operation({3, 2}, 1)};
        break;
      case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR:
        graph.operations = {operation({1, 3}, 2)};
        break;
      default:
        graph.operations = {operation({1, 2}, 3)};
        break;
    }
    graph.tensors = {x, w, y};
    return graph;
  }
  static kernel::DnnGraph Forward() {
    return Graph(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
  }
  // Nothing when it is measured, else why not.
  static std::string RefusalOf(Player& player, const kernel::DnnGraph& graph) {
    const auto played = player.Play(graph, {});
    if (!played) return played.error().message;
    return played->reading.median_ps > 0 ? "" : "a time of nothing";
  }
};

TEST_F(ConvolutionReplayTest, ForwardAndBothGradientsHaveTheirTensors) {
  const auto player = Open();
  EXPECT_THAT(player->gpu().libraries, HasSubstr("cudnn 9.20.1"));
  for (const auto kind : {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
                          CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
                          CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR}) {
    for (const auto type : {CUDA_R_16BF, CUDA_R_16F, CUDA_R_32F, CUDA_R_64F}) {
      EXPECT_EQ(RefusalOf(*player, Graph(kind, type)), "") << kind << " " << type;
    }
  }
}

TEST_F(ConvolutionReplayTest, PaddingBehindMayDiffer) {
  const auto player = Open();
  kernel::DnnGraph graph = Forward();
  std::ranges::fill(graph.operations[0].post_pads, 0);
  EXPECT_NE(RefusalOf(*player, graph), "");  // The height of 57 needs one row behind.
  graph.operations[0].post_pads[0] = 1;
  EXPECT_EQ(RefusalOf(*player, graph), "");
}

TEST_F(ConvolutionReplayTest, AnEngineThatDoesNotWorkIsPassedOver) {
  const auto player = Open("plan:first");
  EXPECT_EQ(RefusalOf(*player, Forward()), "");
  setenv("EIDOLON_FAKE_DNN", "plan:3000", 1);
  EXPECT_THAT(RefusalOf(*player, Forward()), HasSubstr("no engine for this convolution"));
  setenv("EIDOLON_FAKE_DNN", "heuristic:3000", 1);
  EXPECT_THAT(RefusalOf(*player, Forward()), HasSubstr("no engine for this convolution"));
  setenv("EIDOLON_FAKE_DNN", "execute:2000", 1);
  EXPECT_THAT(RefusalOf(*player, Forward()), HasSubstr("cuDNN status 2000"));
  setenv("EIDOLON_FAKE_DNN", "", 1);
  EXPECT_EQ(RefusalOf(*player, Forward()), "");
}

TEST_F(ConvolutionReplayTest, AFailedExecutionIsALostContext) {
  const auto player = Open("execute:5003");

  const auto played = player->Play(Forward(), {});

  ASSERT_FALSE(played);
  EXPECT_EQ(played.error().code, base::ErrorCode::kUnavailable);
}

TEST_F(ConvolutionReplayTest, RefusesWhatTheIdentityDoesNotTell) {
  const auto player = Open();
  const auto refusal = [&](auto change) {
    kernel::DnnGraph graph = Forward();
    change(graph);
    return RefusalOf(*player, graph);
  };
  EXPECT_THAT(refusal([](auto& g) { g.operations.clear(); }), HasSubstr("graphs of 0 operations"));
  EXPECT_THAT(refusal([](auto& g) { g.operations.push_back(g.operations[0]); }),
              HasSubstr("graphs of 2 operations"));
  EXPECT_THAT(
      refusal([](auto& g) { g.operations[0].kind = CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR; }),
      HasSubstr("cuDNN operations of kind"));
  EXPECT_THAT(refusal([](auto& g) { g.operations[0].convolution_rank = 0; }),
              HasSubstr("its sizes"));
  EXPECT_THAT(refusal([](auto& g) { g.operations[0].inputs[1] = 9; }), HasSubstr("its tensors"));
  EXPECT_THAT(refusal([](auto& g) { g.tensors[0].type = CUDA_C_32F; }), HasSubstr("data type 4"));
  EXPECT_THAT(refusal([](auto& g) { g.tensors[2].is_virtual = true; }), HasSubstr("in memory"));
  EXPECT_THAT(refusal([](auto& g) { g.tensors[0].dims[0] = 0; }), HasSubstr("a dimension of 0"));
  EXPECT_THAT(refusal([](auto& g) { g.tensors[0].strides[0] = -1; }), HasSubstr("a stride of -1"));
  EXPECT_THAT(refusal([](auto& g) { g.operations[0].conv_strides[1] = 0; }),
              HasSubstr("absurd sizes"));
  EXPECT_THAT(refusal([](auto& g) { g.operations[0].pads[0] = -1; }), HasSubstr("absurd sizes"));
  EXPECT_THAT(refusal([](auto& g) { --g.tensors[0].rank; }), HasSubstr("3 dimensions"));
  EXPECT_THAT(refusal([](auto& g) { g.tensors[0].strides[0] = std::int64_t{1} << 62; }),
              HasSubstr("larger than any memory"));
}

TEST_F(ConvolutionReplayTest, WithoutTheLibraryItSaysSo) {
  const auto player = *Player::Open({.driver = kDriver, .libraries = "/nowhere"});
  EXPECT_THAT(RefusalOf(*player, Forward()), HasSubstr("no cuDNN"));
}

}  // namespace
}  // namespace eidolon::timing::replay
