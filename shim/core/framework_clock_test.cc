// The framework's work before calls, in the fixed host model.
#include <gtest/gtest.h>

#include "shim/core/enter.h"
#include "shim/core/fake_agent.h"
#include "shim/core/frame_count.h"
#include "shim/core/operator_count.h"
#include "shim/core/rank_clock.h"
#include "shim/core/session.h"

namespace eidolon::shim::core {
namespace {

using ring::CallClass;

std::int64_t CostOf(const char* name, CallClass call_class) {
  const auto before = Now();
  Enter(name, call_class, -1, [] { return 0; });
  return (Now() - before).ps;
}

// One test: what a process counted once stays so.
TEST(FrameworkClockTest, OperatorsCountWhereTheyAreCountedAndCallsElsewhere) {
  FakeAgent::Start({.host_model = ring::HostModel::kCounted,
                    .cost_ps = 1000,
                    .operator_ps = 7,
                    .framework_ps = 500,
                    .frame_ps = 3});
  ASSERT_NE(Session::Get(), nullptr);

  // A program of another framework.
  EXPECT_EQ(CostOf("cudaLaunchKernel", CallClass::kLaunch), 1500);
  EXPECT_EQ(CostOf("cudaMemcpyAsync", CallClass::kCopy), 1500);
  EXPECT_EQ(CostOf("cudaEventRecord", CallClass::kStream), 1000);

  for (int i = 0; i < 3; ++i) CountOperator();
  EXPECT_EQ(CostOf("cudaLaunchKernel", CallClass::kLaunch), 1021);
  // An operator's second kernel.
  EXPECT_EQ(CostOf("cudaLaunchKernel", CallClass::kLaunch), 1000);
  // A kernel of torch.compile.
  EXPECT_EQ(CostOf("cuLaunchKernelEx", CallClass::kLaunch), 1500);
  // The operator counts whatever call comes next.
  CountOperator();
  EXPECT_EQ(CostOf("cudaEventRecord", CallClass::kStream), 1007);
}

void RunFunctions(std::uint64_t number) { internal::frame_count.ran += number; }

TEST(FrameworkClockTest, PythonFunctionsCountBeforeWhateverCallComesNext) {
  FakeAgent::Start({.host_model = ring::HostModel::kCounted,
                    .cost_ps = 1000,
                    .operator_ps = 7,
                    .framework_ps = 500,
                    .frame_ps = 3});
  ASSERT_NE(Session::Get(), nullptr);
  CountOperator();
  RunFunctions(10);
  EXPECT_EQ(CostOf("cudaLaunchKernel", CallClass::kLaunch), 1037);
  RunFunctions(10);
  EXPECT_EQ(CostOf("cudaLaunchKernel", CallClass::kLaunch), 1030);
  RunFunctions(10);
  EXPECT_EQ(CostOf("cudaEventRecord", CallClass::kStream), 1030);
  // Of a compiler's kernel the usual work is known, unless more of it was seen.
  RunFunctions(10);
  EXPECT_EQ(CostOf("cuLaunchKernelEx", CallClass::kLaunch), 1500);
  RunFunctions(1000);
  EXPECT_EQ(CostOf("cuLaunchKernelEx", CallClass::kLaunch), 4000);
  RunFunctions(1'000'000);
  EXPECT_EQ(CostOf("cudaLaunchKernel", CallClass::kLaunch), 1000 + 3 * 65536);
}

TEST(FrameworkClockTest, WhatIsNotFollowedByCallsCountsToALimit) {
  FakeAgent::Start({.host_model = ring::HostModel::kCounted,
                    .cost_ps = 1000,
                    .operator_ps = 7,
                    .framework_ps = 500,
                    .frame_ps = 3});
  ASSERT_NE(Session::Get(), nullptr);
  for (int i = 0; i < 100'000; ++i) CountOperator();

  EXPECT_EQ(CostOf("cudaLaunchKernel", CallClass::kLaunch), 1000 + 256 * 7);
}

}  // namespace
}  // namespace eidolon::shim::core
