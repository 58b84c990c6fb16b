// Graphs of several operations through a cuDNN that checks what it is given (fake_cudnn.cc).
#include "services/timing/replay/graph_replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <string>

#include "services/contract/workload/dnn_value.h"
#include "services/timing/replay/player.h"
#include "source_tree.h"

namespace eidolon::timing::replay {
namespace {

using testing::HasSubstr;

using Dims = std::vector<std::int64_t>;

// The descriptors of a graph, as the shim tells them.
class Program {
 public:
  struct Traits {
    std::int32_t type = CUDNN_DATA_BFLOAT16;
    bool is_virtual = false;
    bool by_value = false;
  };

  static kernel::DnnAttribute Plain(std::uint32_t name, std::uint32_t type, std::string bytes) {
    return {.name = name, .type = type, .elements = std::move(bytes), .nodes = {}};
  }
  template <typename T>
  static std::string Bytes(const std::vector<T>& values) {
    return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
  }
  static kernel::DnnAttribute Link(std::uint32_t name, std::uint32_t node) {
    return {.name = name, .type = CUDNN_TYPE_BACKEND_DESCRIPTOR, .elements = "", .nodes = {node}};
  }
  std::uint32_t Add(std::uint32_t type, std::vector<kernel::DnnAttribute> attributes) {
    graph.nodes.push_back({type, std::move(attributes)});
    return static_cast<std::uint32_t>(graph.nodes.size() - 1);
  }
  std::uint32_t Tensor(std::int64_t uid, const Dims& dims) { return Tensor(uid, dims, Traits()); }
  std::uint32_t Tensor(std::int64_t uid, const Dims& dims, const Traits& traits) {
    Dims strides(dims.size(), 1);
    for (std::size_t i = dims.size() - 1; i > 0; --i) strides[i - 1] = strides[i] * dims[i];
    std::vector<kernel::DnnAttribute> attributes = {
        Plain(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE,
              Bytes<std::int32_t>({traits.type})),
        Plain(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, Bytes(dims)),
        Plain(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, Bytes(strides)),
        Plain(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, Bytes<std::int64_t>({uid}))};
    if (traits.is_virtual) {
      attributes.push_back(
          Plain(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, std::string(1, '\1')));
    }
    if (traits.by_value) {
      attributes.push_back(
          Plain(CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, std::string(1, '\1')));
    }
    return Add(CUDNN_BACKEND_TENSOR_DESCRIPTOR, std::move(attributes));
  }
  void Finish(std::uint32_t operation) {
    Add(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, {Link(CUDNN_ATTR_OPERATIONGRAPH_OPS, operation)});
  }

  kernel::DnnGraph graph;
};

// Attention whose mask, a graph inside, has a bound that is passed by value; `more` tensors hang on
// the operation.
kernel::DnnGraph Attention(
    const std::function<std::vector<kernel::DnnAttribute>(Program&)>& more = {}) {
  Program program;
  const Dims scores = {4, 16, 512, 512};
  const auto bound = program.Tensor(
      21, {1, 1, 1, 1}, {.type = CUDNN_DATA_INT32, .is_virtual = false, .by_value = true});
  program.graph.nodes[bound].attributes.push_back(
      Program::Plain(workload::kDnnValue, CUDNN_TYPE_INT32, Program::Bytes<std::int32_t>({-128})));
  const Program::Traits inner{.type = CUDNN_DATA_FLOAT, .is_virtual = true, .by_value = false};
  const auto mask =
      program.Add(CUDNN_BACKEND_OPERATION_DIAGONAL_BAND_MASK_DESCRIPTOR,
                  {Program::Link(CUDNN_ATTR_OPERATION_DIAGONAL_BAND_MASK_XDESC,
                                 program.Tensor(22, scores, inner)),
                   Program::Link(CUDNN_ATTR_OPERATION_DIAGONAL_BAND_MASK_LEFT_BOUND_DESC, bound),
                   Program::Link(CUDNN_ATTR_OPERATION_DIAGONAL_BAND_MASK_YDESC,
                                 program.Tensor(23, scores, inner))});
  program.Finish(mask);
  const auto subgraph = static_cast<std::uint32_t>(program.graph.nodes.size() - 1);
  std::vector<kernel::DnnAttribute> attributes = {
      Program::Link(CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC, program.Tensor(1, {4, 16, 512, 64})),
      Program::Link(CUDNN_ATTR_OPERATION_SDPA_FWD_KDESC, program.Tensor(2, {4, 16, 512, 64})),
      Program::Link(CUDNN_ATTR_OPERATION_SDPA_FWD_VDESC, program.Tensor(3, {4, 16, 512, 64})),
      Program::Link(CUDNN_ATTR_OPERATION_SDPA_FWD_ODESC, program.Tensor(4, {4, 16, 512, 64})),
      Program::Link(CUDNN_ATTR_OPERATION_SDPA_FWD_STATSDESC,
                    program.Tensor(5, {4, 16, 512, 1}, {.type = CUDNN_DATA_FLOAT})),
      Program::Link(
          CUDNN_ATTR_OPERATION_SDPA_FWD_SCALEDESC,
          program.Tensor(6, {1, 1, 1, 1},
                         {.type = CUDNN_DATA_FLOAT, .is_virtual = false, .by_value = true})),
      Program::Link(CUDNN_ATTR_OPERATION_SDPA_FWD_SUBGRAPH, subgraph)};
  if (more) {
    for (auto& attribute : more(program)) attributes.push_back(std::move(attribute));
  }
  program.Finish(program.Add(CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR, attributes));
  return program.graph;
}

kernel::DnnGraph Normalisation() {
  Program program;
  const Program::Traits epsilon{.type = CUDNN_DATA_FLOAT, .is_virtual = false, .by_value = true};
  const Program::Traits statistics{.type = CUDNN_DATA_FLOAT};
  const Dims x = {4096, 1024, 1, 1}, scale = {1, 1024, 1, 1}, row = {4096, 1, 1, 1};
  program.Finish(program.Add(
      CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR,
      {Program::Plain(CUDNN_ATTR_OPERATION_NORM_FWD_MODE, CUDNN_TYPE_NORM_MODE,
                      Program::Bytes<std::int32_t>({CUDNN_LAYER_NORM})),
       Program::Plain(CUDNN_ATTR_OPERATION_NORM_FWD_PHASE, CUDNN_TYPE_NORM_FWD_PHASE,
                      Program::Bytes<std::int32_t>({CUDNN_NORM_FWD_TRAINING})),
       Program::Link(CUDNN_ATTR_OPERATION_NORM_FWD_XDESC, program.Tensor(1, x)),
       Program::Link(CUDNN_ATTR_OPERATION_NORM_FWD_MEAN_DESC, program.Tensor(2, row, statistics)),
       Program::Link(CUDNN_ATTR_OPERATION_NORM_FWD_INV_VARIANCE_DESC,
                     program.Tensor(3, row, statistics)),
       Program::Link(CUDNN_ATTR_OPERATION_NORM_FWD_SCALE_DESC, program.Tensor(4, scale)),
       Program::Link(CUDNN_ATTR_OPERATION_NORM_FWD_EPSILON_DESC,
                     program.Tensor(5, {1, 1, 1, 1}, epsilon)),
       Program::Link(CUDNN_ATTR_OPERATION_NORM_FWD_YDESC, program.Tensor(6, x))}));
  return program.graph;
}

class GraphReplayTest : public testing::Test {
 protected:
  static std::unique_ptr<Player> Open(const char* script = "") {
    setenv("EIDOLON_FAKE_DNN", script, 1);
    return *Player::Open({.driver = EIDOLON_BINARY_DIR "/tests/libeidolon_fake_cuda.so",
                          .libraries = EIDOLON_BINARY_DIR "/tests/fake_libraries"});
  }
  // Nothing when it is measured, else why not.
  static std::string RefusalOf(Player& player, const kernel::DnnGraph& graph) {
    const auto played = player.Play(graph, {});
    if (!played) return played.error().message;
    return played->reading.median_ps > 0 ? "" : "a time of nothing";
  }
};

TEST_F(GraphReplayTest, AttentionAndNormalisationAreMadeAgainFromTheirDescriptors) {
  const auto player = Open();
  EXPECT_EQ(RefusalOf(*player, Attention()), "");
  EXPECT_EQ(RefusalOf(*player, Normalisation()), "");
}

TEST_F(GraphReplayTest, WholeNumbersThatArePassedByValueAreTheProgramsOwn) {
  const auto player = Open("value:-128");
  EXPECT_EQ(RefusalOf(*player, Attention()), "");
  setenv("EIDOLON_FAKE_DNN", "value:-64", 1);
  EXPECT_THAT(RefusalOf(*player, Attention()), HasSubstr("running the plan"));
}

TEST_F(GraphReplayTest, WhatTheLibraryRefusesIsRefused) {
  const auto player = Open("plan:first");
  EXPECT_EQ(RefusalOf(*player, Attention()), "");
  setenv("EIDOLON_FAKE_DNN", "plan:3000", 1);
  EXPECT_THAT(RefusalOf(*player, Attention()), HasSubstr("no engine for this graph"));
  setenv("EIDOLON_FAKE_DNN", "", 1);
  kernel::DnnGraph lame = Normalisation();
  std::erase_if(lame.nodes[lame.nodes.size() - 2].attributes, [](const auto& attribute) {
    return attribute.name == CUDNN_ATTR_OPERATION_NORM_FWD_EPSILON_DESC;
  });
  EXPECT_THAT(RefusalOf(*player, lame), HasSubstr("finishing a descriptor"));
  setenv("EIDOLON_FAKE_DNN", "execute:5003", 1);
  const auto lost = player->Play(Attention(), {});
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, base::ErrorCode::kUnavailable);
}

TEST_F(GraphReplayTest, SeedsMayHoldAnythingButLengthsMayNot) {
  const auto player = Open();
  const auto with = [&](std::uint32_t name, const Dims& dims, std::int32_t type) {
    return RefusalOf(*player, Attention([&](Program& program) {
      return std::vector{Program::Link(name, program.Tensor(30, dims, {.type = type}))};
    }));
  };
  EXPECT_EQ(with(CUDNN_ATTR_OPERATION_SDPA_FWD_DROPOUT_SEED_DESC, {1, 1, 1, 1}, CUDNN_DATA_INT64),
            "");
  EXPECT_EQ(with(CUDNN_ATTR_OPERATION_SDPA_FWD_BLOCK_MASK_DESC, {4, 16, 4, 4}, CUDNN_DATA_FLOAT),
            "");
  EXPECT_THAT(with(CUDNN_ATTR_OPERATION_SDPA_FWD_SEQ_LEN_QDESC, {4, 1, 1, 1}, CUDNN_DATA_INT32),
              HasSubstr("reads whole numbers"));
  EXPECT_THAT(with(CUDNN_ATTR_OPERATION_SDPA_FWD_BLOCK_MASK_DESC, {4, 16, 4, 4}, CUDNN_DATA_UINT8),
              HasSubstr("reads whole numbers"));
  EXPECT_THAT(with(CUDNN_ATTR_OPERATION_SDPA_FWD_STATSDESC, {4, 16, 4, 4}, CUDNN_DATA_INT4),
              HasSubstr("data type"));
}

TEST_F(GraphReplayTest, RefusesDamagedDescriptors) {
  const auto player = Open();
  const auto refusal = [&](auto change) {
    kernel::DnnGraph graph = Attention();
    change(graph);
    return RefusalOf(*player, graph);
  };
  // Returns the query's tensor.
  const auto tensor = [](kernel::DnnGraph& graph, std::uint32_t name) -> std::string& {
    for (auto& attribute : graph.nodes[5].attributes) {
      if (attribute.name == name) return attribute.elements;
    }
    ADD_FAILURE();
    return graph.nodes[5].attributes[0].elements;
  };
  const auto word = [](std::int64_t value) { return Program::Bytes<std::int64_t>({value}); };
  EXPECT_THAT(refusal([](auto& g) { g.nodes.pop_back(); }), HasSubstr("without its descriptors"));
  EXPECT_THAT(refusal([](auto& g) { g.nodes[0].type = CUDNN_BACKEND_ENGINE_DESCRIPTOR; }),
              HasSubstr("a cuDNN descriptor of type"));
  EXPECT_THAT(refusal([](auto& g) { g.nodes.back().attributes[0].nodes[0] = 99; }),
              HasSubstr("refers to 99"));
  EXPECT_THAT(refusal([](auto& g) { g.nodes.back().attributes[0].elements = "x"; }),
              HasSubstr("damaged cuDNN attribute"));
  EXPECT_THAT(refusal([](auto& g) { g.nodes[0].attributes[0].type = CUDNN_TYPE_HANDLE; }),
              HasSubstr("damaged cuDNN attribute"));
  EXPECT_THAT(refusal([](auto& g) { g.nodes[0].attributes[0].name = 1 << 20; }),
              HasSubstr("damaged cuDNN attribute"));
  EXPECT_THAT(refusal([&](auto& g) { tensor(g, CUDNN_ATTR_TENSOR_STRIDES).resize(8); }),
              HasSubstr("4 dimensions and 1 strides"));
  EXPECT_THAT(refusal([&](auto& g) { tensor(g, CUDNN_ATTR_TENSOR_DIMENSIONS).resize(7); }),
              HasSubstr("damaged cuDNN attribute"));
  EXPECT_THAT(
      refusal([&](auto& g) { tensor(g, CUDNN_ATTR_TENSOR_DIMENSIONS).replace(0, 8, word(0)); }),
      HasSubstr("a dimension of 0"));
  EXPECT_THAT(refusal([&](auto& g) {
                tensor(g, CUDNN_ATTR_TENSOR_STRIDES).replace(0, 8, word(std::int64_t{1} << 62));
              }),
              HasSubstr("larger than any memory"));
  EXPECT_THAT(refusal([&](auto& g) { tensor(g, CUDNN_ATTR_TENSOR_UNIQUE_ID).clear(); }),
              HasSubstr("without an identifier"));
  EXPECT_THAT(refusal([&](auto& g) { tensor(g, CUDNN_ATTR_TENSOR_UNIQUE_ID) = word(6); }),
              HasSubstr("a tensor of two types"));
  EXPECT_THAT(
      refusal([](auto& g) {
        g.nodes[5].attributes.push_back(Program::Link(CUDNN_ATTR_TENSOR_RAGGED_OFFSET_DESC, 0));
      }),
      HasSubstr("ragged"));
}

}  // namespace
}  // namespace eidolon::timing::replay
