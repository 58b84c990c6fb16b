#include "services/agent/launch/environment.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>

namespace eidolon::agent::launch {
namespace {

namespace fs = std::filesystem;

class EnvironmentTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) /
              testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder_);
    fs::create_directories(folder_ / "eidolon" / "triton");
    fs::create_directories(folder_ / "eidolon" / "first");
    fs::create_directories(folder_ / "eidolon" / "folded");
  }
  void Make(const std::string& name) { std::ofstream(folder_ / name) << "x"; }

  fs::path folder_;
};

TEST_F(EnvironmentTest, TheCoreIsPreloadedBeforeTheFacades) {
  for (const char* name : {"libeidolon_shim.so", "eidolon/nccl.so", "eidolon/cublas.so",
                           "eidolon/triton/libcuda.so.1"}) {
    Make(name);
  }

  const auto shim = FindShim(folder_.string());

  ASSERT_TRUE(shim.has_value()) << shim.error().message;
  ASSERT_EQ(shim->preload.size(), 3u);
  EXPECT_TRUE(shim->preload[0].ends_with("/libeidolon_shim.so"));
  EXPECT_TRUE(shim->preload[1].ends_with("/eidolon/cublas.so"));
}

TEST_F(EnvironmentTest, WhatMustAnswerFirstIsPreloadedBeforeTheCore) {
  for (const char* name : {"libeidolon_shim.so", "eidolon/nccl.so", "eidolon/first/runtime_12.so",
                           "eidolon/triton/libcuda.so.1"}) {
    Make(name);
  }

  const auto shim = FindShim(folder_.string());

  ASSERT_TRUE(shim.has_value()) << shim.error().message;
  ASSERT_EQ(shim->preload.size(), 3u);
  EXPECT_TRUE(shim->preload[0].ends_with("/eidolon/first/runtime_12.so"));
  EXPECT_EQ(shim->preload[1], shim->core);
}

TEST_F(EnvironmentTest, WhatFoldedJobsNeedIsPreloadedNowhereElse) {
  for (const char* name : {"libeidolon_shim.so", "eidolon/nccl.so", "eidolon/folded/gloo.so",
                           "eidolon/triton/libcuda.so.1"}) {
    Make(name);
  }

  const auto shim = FindShim(folder_.string());

  ASSERT_TRUE(shim.has_value()) << shim.error().message;
  EXPECT_EQ(shim->preload.size(), 2u);
  ASSERT_EQ(shim->folded.size(), 1u);
  EXPECT_TRUE(shim->folded[0].ends_with("/eidolon/folded/gloo.so"));
}

TEST_F(EnvironmentTest, AMissingLibraryIsNamedWithTheTargetThatBuildsIt) {
  const auto no_core = FindShim(folder_.string());
  ASSERT_FALSE(no_core.has_value());
  EXPECT_NE(no_core.error().message.find("libeidolon_shim.so"), std::string::npos);

  Make("libeidolon_shim.so");
  const auto no_facades = FindShim(folder_.string());
  ASSERT_FALSE(no_facades.has_value());
  EXPECT_NE(no_facades.error().message.find("eidolon_facades"), std::string::npos);
}

TEST_F(EnvironmentTest, TheRendezvousIsToldInBothSpellings) {
  const Variables variables =
      ServerEnvironment({.core = "/a.so", .preload = {"/a.so", "/b.so"}, .triton_folder = "/t"},
                        {.run_directory = "/run/x",
                         .index_directory = "/run/x/index",
                         .server = 1,
                         .servers = 2,
                         .ranks_per_server = 4,
                         .master_address = "127.0.0.1",
                         .master_port = 29500},
                        "/user.so");
  const std::map<std::string, std::string> found(variables.begin(), variables.end());

  EXPECT_EQ(found.at("LD_PRELOAD"), "/a.so:/b.so:/user.so");
  EXPECT_EQ(found.at("NVTX_INJECTION64_PATH"), "/a.so");
  EXPECT_EQ(found.at("EIDOLON_RUN_DIR"), "/run/x");
  EXPECT_EQ(found.at("EIDOLON_INDEX_DIR"), "/run/x/index");
  EXPECT_EQ(found.at("PET_NODE_RANK"), "1");
  EXPECT_EQ(found.at("PET_NNODES"), "2");
  EXPECT_EQ(found.at("PET_NPROC_PER_NODE"), "4");
  EXPECT_EQ(found.at("MASTER_PORT"), found.at("PET_MASTER_PORT"));
}

}  // namespace
}  // namespace eidolon::agent::launch
