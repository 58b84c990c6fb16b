#include "shim/core/python_line.h"

#include <gtest/gtest.h>

#include <string>

namespace eidolon::shim::core {
namespace {

TEST(PythonLineTest, TheInnermostFrameOutsideOfTorchIsNamed) {
  const std::string stack =
      "Stack (most recent call first):\n"
      "  File \"/env/lib/python3.11/site-packages/torch/_tensor.py\", line 1200 in __iter__\n"
      "  File \"/home/me/model/router.py\", line 120 in route\n"
      "  File \"/home/me/train.py\", line 40 in <module>\n";

  EXPECT_EQ(LineOf(stack), "/home/me/model/router.py:120");
}

TEST(PythonLineTest, APlaceNamesTheFunctionToo) {
  EXPECT_EQ(PlaceOf("  File \"/e/site-packages/torch/x.py\", line 1 in f\n"
                    "  File \"/home/me/train.py\", line 40 in step\n"),
            "/home/me/train.py:40 in step");
  EXPECT_EQ(PlaceOf("  File \"/home/me/train.py\", line 40"), "/home/me/train.py:40");
  EXPECT_EQ(PlaceOf("  File \"/a.py\", line 4 in " + std::string(500, 'f')).size(),
            std::string("/a.py:4 in ").size() + kFunctionBytesMax);
  EXPECT_EQ(PlaceOf(""), "");
}

TEST(PythonLineTest, AStackOfTorchAloneOrOfNothingHasNoLine) {
  EXPECT_EQ(LineOf("  File \"/e/site-packages/torch/x.py\", line 1 in f\n"), "");
  EXPECT_EQ(LineOf(""), "");
  EXPECT_EQ(LineOf("  File \"/a.py\", line in f\n  File \"\", line 1\n\", line 3 File \""), "");
}

TEST(PythonLineTest, OfALongPathTheEndIsKept) {
  const std::string line = LineOf("File \"/" + std::string(400, 'a') + "/b.py\", line 7 in f");

  EXPECT_EQ(line.size(), kLineBytesMax);
  EXPECT_TRUE(line.ends_with("a/b.py:7"));
}

TEST(PythonLineTest, OnlyWhatABackwardPassHasCalledRunsInIt) {
  constexpr std::string_view kStack =
      "  File \"/packages/torch/distributed/fsdp/_fully_shard/_fsdp_param.py\", line 7 in free\n"
      "  File \"/packages/torch/autograd/graph.py\", line 841 in _engine_run_backward\n"
      "  File \"/home/deepspeed/train.py\", line 20 in <module>\n";
  EXPECT_TRUE(BackwardRunsIn(kStack, {"zero", "fsdp"}));
  EXPECT_FALSE(BackwardRunsIn(kStack, {"deepspeed"}));
  EXPECT_FALSE(BackwardRunsIn("", {"fsdp"}));
}

TEST(PythonLineTest, PyTorchsOwnFramesStandInFrontOfTheProgram) {
  constexpr std::string_view kStack =
      "  File \"/e/site-packages/torch/distributed/c10d_logger.py\", line 83 in wrapper\n"
      "  File \"/e/site-packages/torch/distributed/distributed_c10d.py\", line 9 in gather_object\n"
      "  File \"/home/train.py\", line 20 in step\n";
  EXPECT_TRUE(TorchRuns(kStack, {"all_gather_object", "gather_object"}));
  EXPECT_FALSE(TorchRuns(kStack, {"object", "step"}));
  EXPECT_FALSE(TorchRuns("", {"gather_object"}));
}

TEST(PythonLineTest, AProgramWithoutPythonRunsNone) {
  EXPECT_EQ(PythonOfThread(), PythonState::kNotRunning);
}

TEST(PythonLineTest, AProgramWithoutPythonHasNoLine) { EXPECT_EQ(PythonLine(), ""); }

}  // namespace
}  // namespace eidolon::shim::core
