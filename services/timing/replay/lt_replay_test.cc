// GEMMs through a cuBLASLt that checks what it is given (fake_cublas_lt.cc).
#include "services/timing/replay/lt_replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "services/timing/replay/player.h"
#include "source_tree.h"

namespace eidolon::timing::replay {
namespace {

using testing::HasSubstr;
using workload::Epilogue;

constexpr const char* kDriver = EIDOLON_BINARY_DIR "/tests/libeidolon_fake_cuda.so";
constexpr const char* kLibraries = EIDOLON_BINARY_DIR "/tests/fake_libraries";

class LtReplayTest : public testing::Test {
 protected:
  static std::unique_ptr<Player> Open(const char* script = "") {
    setenv("EIDOLON_FAKE_LT", script, 1);
    return *Player::Open({.driver = kDriver, .libraries = kLibraries});
  }
  // A linear layer as PyTorch calls it: A transposed, B plain.
  static kernel::Gemm Linear(std::uint32_t type = CUDA_R_16BF) {
    kernel::Gemm gemm;
    gemm.m = 1000;
    gemm.n = 300;
    gemm.k = 256;
    gemm.lda = gemm.ldb = 256;
    gemm.ldc = gemm.ldd = 1000;
    gemm.type_a = gemm.type_b = type;
    gemm.type_c = gemm.type_d = CUDA_R_16BF;
    gemm.compute_type = CUBLAS_COMPUTE_32F;
    gemm.transpose_a = true;
    return gemm;
  }
  // Nothing when it is measured, else why not.
  static std::string RefusalOf(Player& player, const kernel::Gemm& gemm) {
    const auto played = player.Play(gemm, {});
    if (!played) return played.error().message;
    return played->reading.median_ps > 0 ? "" : "a time of nothing";
  }
};

TEST_F(LtReplayTest, EveryEpilogueHasItsOperands) {
  const auto player = Open();
  EXPECT_THAT(player->gpu().libraries, HasSubstr("cublasLt 13.4.1"));
  kernel::Gemm gemm = Linear();
  for (const std::uint64_t batch : {1, 3}) {
    gemm.batch = batch;
    for (const std::uint32_t epilogue : {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 15, 16}) {
      gemm.epilogue = static_cast<Epilogue>(epilogue);
      EXPECT_EQ(RefusalOf(*player, gemm), "") << epilogue << " of " << batch;
    }
  }
}

TEST_F(LtReplayTest, EightBitGemmsHaveScalingFactorsOfTheirMode) {
  const auto player = Open();
  kernel::Gemm gemm = Linear(CUDA_R_8F_E4M3);
  gemm.fast_accumulation = true;
  for (const std::uint32_t mode : {0, 1, 2, 3, 4}) {
    gemm.scale_mode = mode;
    EXPECT_EQ(RefusalOf(*player, gemm), "") << mode;
  }
  gemm.scale_mode = 1;
  gemm.epilogue = Epilogue::kBias;
  EXPECT_EQ(RefusalOf(*player, gemm), "");
  gemm.type_d = CUDA_R_8F_E4M3;
  EXPECT_EQ(RefusalOf(*player, gemm), "");
  gemm.type_b = CUDA_R_8F_E5M2;
  gemm.beta_zero = false;
  EXPECT_EQ(RefusalOf(*player, gemm), "");
}

TEST_F(LtReplayTest, ResultsMayHaveAnotherTypeThanWhatIsAdded) {
  const auto player = Open();
  kernel::Gemm gemm = Linear();
  gemm.type_d = CUDA_R_32F;
  gemm.beta_zero = false;
  EXPECT_EQ(RefusalOf(*player, gemm), "");
}

TEST_F(LtReplayTest, RefusesWhatTheIdentityDoesNotTell) {
  const auto player = Open();
  const auto refusal = [&](auto change) {
    kernel::Gemm gemm = Linear(CUDA_R_8F_E4M3);
    change(gemm);
    return RefusalOf(*player, gemm);
  };
  EXPECT_THAT(refusal([](auto& g) { g.epilogue = Epilogue::kOther; }),
              HasSubstr("epilogue 13 is not replayed"));
  EXPECT_THAT(refusal([](auto& g) { g.epilogue = Epilogue{99}; }),
              HasSubstr("epilogue 99 is not replayed"));
  EXPECT_THAT(refusal([](auto& g) { g.scale_mode = 5; }), HasSubstr("scale mode 4"));
  EXPECT_THAT(refusal([](auto& g) { g.pointer_array = true; }), HasSubstr("arrays of pointers"));
  EXPECT_THAT(refusal([](auto& g) { g.type_c = CUDA_C_32F; }), HasSubstr("data type 4"));
  EXPECT_THAT(refusal([](auto& g) { g.ldb = 0; }), HasSubstr("a size of 0"));
  EXPECT_THAT(refusal([](auto& g) { g.compute_type = 9999; }), HasSubstr("compute type 9999"));
  EXPECT_THAT(refusal([](auto& g) { g.ldb = 1 << 30, g.n = 1 << 30; }), HasSubstr("larger than"));
  EXPECT_THAT(refusal([](auto& g) { g.epilogue = Epilogue::kGeluAux, g.type_d = CUDA_R_8F_E4M3; }),
              HasSubstr("auxiliary matrix"));
}

TEST_F(LtReplayTest, WhatTheLibraryRefusesIsAnErrorAndLeavesTheNextAlone) {
  const auto player = Open("heuristic:none");
  EXPECT_THAT(RefusalOf(*player, Linear(CUDA_R_8F_E4M3)), HasSubstr("has no algorithm"));
  setenv("EIDOLON_FAKE_LT", "heuristic:15", 1);
  EXPECT_THAT(RefusalOf(*player, Linear(CUDA_R_8F_E4M3)), HasSubstr("cuBLASLt status 15"));
  setenv("EIDOLON_FAKE_LT", "desc:3", 1);
  EXPECT_THAT(RefusalOf(*player, Linear(CUDA_R_8F_E4M3)), HasSubstr("cuBLASLt status 3"));
  setenv("EIDOLON_FAKE_LT", "matmul:7", 1);
  EXPECT_THAT(RefusalOf(*player, Linear(CUDA_R_8F_E4M3)), HasSubstr("calling the GEMM"));
  setenv("EIDOLON_FAKE_LT", "", 1);
  EXPECT_EQ(RefusalOf(*player, Linear(CUDA_R_8F_E4M3)), "");
}

TEST_F(LtReplayTest, AFailedExecutionIsALostContext) {
  const auto player = Open("matmul:13");

  const auto played = player->Play(Linear(CUDA_R_8F_E4M3), {});

  ASSERT_FALSE(played);
  EXPECT_EQ(played.error().code, base::ErrorCode::kUnavailable);
}

TEST_F(LtReplayTest, WithoutTheLibraryItSaysSo) {
  const auto player = *Player::Open({.driver = kDriver, .libraries = "/nowhere"});
  EXPECT_THAT(RefusalOf(*player, Linear(CUDA_R_8F_E4M3)), HasSubstr("no cuBLASLt"));
}

}  // namespace
}  // namespace eidolon::timing::replay
