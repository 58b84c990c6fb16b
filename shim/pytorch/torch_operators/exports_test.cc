// Questions of a library that asks as PyTorch's does, for its own answers.
#include <gtest/gtest.h>

#include <thread>

#include "shim/core/operator_count.h"

int Observed(int scope);

namespace eidolon::shim::core {
namespace {

TEST(TorchOperatorsTest, AnswersArePyTorchs) {
  EXPECT_EQ(Observed(0), -1);
  EXPECT_EQ(Observed(1), 701);
  EXPECT_EQ(Observed(0), -1);
}

TEST(TorchOperatorsTest, OperatorsAreCountedByThread) {
  TakeOperators();
  Observed(0);
  Observed(1);
  std::uint32_t others = 0;
  std::thread([&others] {
    Observed(0);
    others = TakeOperators();
  }).join();

  EXPECT_EQ(others, 1u);
  EXPECT_EQ(TakeOperators(), 2u);
  EXPECT_EQ(TakeOperators(), 0u);
  EXPECT_TRUE(OperatorsAreCounted());
}

}  // namespace
}  // namespace eidolon::shim::core
