#include "services/timing/kernel/work_key.h"

#include <gtest/gtest.h>

#include "services/base/hex.h"
#include "services/contract/workload/dnn_value.h"
#include "services/timing/kernel/dnn_test.h"

namespace eidolon::timing::kernel {
namespace {

TEST(WorkKeyTest, EveryFieldOfALaunchCounts) {
  KernelLaunch launch;
  launch.name = "k";
  launch.parameters = "abcd";
  const auto key = WorkKey(launch);

  KernelLaunch other = launch;
  other.parameters = "abce";
  EXPECT_NE(WorkKey(other), key);
  other = launch;
  other.grid.x = 2;
  EXPECT_NE(WorkKey(other), key);
  EXPECT_EQ(ClassKey(other), ClassKey(launch));
  other = launch;
  other.block.x = 2;
  EXPECT_NE(ClassKey(other), ClassKey(launch));
}

TEST(WorkKeyTest, KindsDoNotCollide) {
  EXPECT_NE(WorkKey(Gemm{}), WorkKey(Copy{}));
  EXPECT_NE(WorkKey(DnnGraph{}), WorkKey(LibraryCall{}));
  DnnGraph plain;
  plain.engine = workload::kPlainDnnEngine;
  EXPECT_NE(WorkKey(DnnGraph{}), WorkKey(plain));
}

TEST(WorkKeyTest, OnlyTheAlignmentOfALeadingDimensionCounts) {
  Gemm a{.m = 8, .n = 8, .k = 8, .lda = 64};
  Gemm b = a;
  b.lda = 128;
  EXPECT_EQ(WorkKey(a), WorkKey(b));
  b.lda = 65;
  EXPECT_NE(WorkKey(a), WorkKey(b));
}

TEST(WorkKeyTest, WhatOlderProfilesDoNotKnowChangesTheKeyOnlyWhereItIsSet) {
  Gemm fast{.m = 8, .n = 8, .k = 8};
  fast.fast_accumulation = true;
  EXPECT_NE(WorkKey(fast), WorkKey(Gemm{.m = 8, .n = 8, .k = 8}));
  DnnGraph graph;
  graph.operations = {ConvolutionOf({}, 1, 1, 1, 1)};
  const auto symmetric = WorkKey(graph);
  graph.operations[0].post_pads[0] = 2;
  EXPECT_NE(WorkKey(graph), symmetric);
}

TEST(WorkKeyTest, TheDescriptorsOfAGraphTellItFromOthersOfTheSameTensors) {
  const auto with = [](std::uint32_t attribute, const std::string& value) {
    DnnGraph graph;
    graph.nodes.push_back({41, {{attribute, 5, value, {}}}});
    return graph;
  };
  constexpr std::uint32_t kProbability = 2818, kStrides = 903;
  EXPECT_NE(WorkKey(DnnGraph{}), WorkKey(with(kProbability, "a")));
  EXPECT_NE(WorkKey(with(kProbability, "a")), WorkKey(with(kProbability, "b")));
  // Of one class are graphs that differ in sizes, not those that mask another share.
  EXPECT_NE(WorkKey(with(kStrides, "a")), WorkKey(with(kStrides, "b")));
  EXPECT_EQ(ClassKey(with(kStrides, "a")), ClassKey(with(kStrides, "b")));
  EXPECT_NE(ClassKey(with(workload::kDnnValue, "a")), ClassKey(with(workload::kDnnValue, "b")));
}

// Profiles are stored under these keys: a change needs a new kSchema.
TEST(WorkKeyTest, StaysTheSameAcrossVersions) {
  const Gemm gemm{.m = 1, .n = 2, .k = 3, .batch = 4, .type_a = 14};

  EXPECT_EQ(CanonicalBytes(gemm).size(), 22u * 8);
  EXPECT_EQ(base::Hex(WorkKey(gemm)), "bb1ab95f8e27d309290f20df6c232b18");
  EXPECT_EQ(kSchema, 2);
}

}  // namespace
}  // namespace eidolon::timing::kernel
