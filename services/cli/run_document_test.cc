#include "services/cli/run_document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "services/controller/job/job.h"
#include "services/testing/temporary_directory.h"

namespace eidolon::cli {
namespace {

using controller::job::Describe;
using controller::job::Mode;
using controller::job::ParseJob;
using nlohmann::json;
using ::testing::HasSubstr;

TEST(RunDocumentTest, DefaultsAreOneServerWithOneH100) {
  const auto document = MakeRunDocument({.command = {"python", "train.py"}}, "/work");

  const auto job = ParseJob(*document, Mode::kEmbedded);
  ASSERT_TRUE(job.problems.empty()) << Describe(job.problems);
  EXPECT_EQ(job.spec.cluster->gpu, "H100-SXM5-80GB");
  EXPECT_EQ(job.spec.cluster->gpus_per_server, 1u);
  EXPECT_EQ(job.spec.working_directory, "/work");
}

TEST(RunDocumentTest, EveryFlagFindsItsField) {
  const RunFlags flags = {.preset = "dgx-a100",
                          .gpu_clock = 0.9,
                          .servers = 2,
                          .gpus_per_server = 4,
                          .ranks_per_server = 4,
                          .warmup = 1,
                          .measure = 2,
                          .host_model = "fixed",
                          .variation = "none",
                          .variation_seed = 3,
                          .tokens = 10,
                          .parameters = 20,
                          .boundary_nvtx = "step",
                          .strict = true,
                          .event_log = true,
                          .values = "on",
                          .expert_routing = {64, 1024, 8},
                          .command = {"torchrun", "train.py"}};

  const auto document = MakeRunDocument(flags, "/work");

  const auto job = ParseJob(*document, Mode::kEmbedded);
  ASSERT_TRUE(job.problems.empty()) << Describe(job.problems);
  EXPECT_EQ(job.spec.cluster->gpu, "A100-SXM4-80GB");
  EXPECT_EQ(job.spec.cluster->gpu_clock, 0.9);
  EXPECT_EQ(job.spec.cluster->servers, 2u);
  EXPECT_EQ(job.spec.cluster->gpus_per_server, 4u);
  EXPECT_EQ(job.spec.ranks_per_server, 4u);
  EXPECT_EQ(job.spec.iterations.nvtx, "step");
  EXPECT_EQ(job.spec.iterations.parameters, 20u);
  EXPECT_TRUE(job.spec.values.compute);
  ASSERT_EQ(job.spec.values.declared.size(), 1u);
  EXPECT_EQ(job.spec.values.declared[0].routing->experts, 64u);
  EXPECT_EQ(job.spec.values.declared[0].routing->tokens, 1024u);
  EXPECT_EQ(job.spec.values.declared[0].routing->top_k, 8u);
  EXPECT_EQ(job.spec.host_model, controller::job::HostModel::kFixed);
  EXPECT_FALSE(job.spec.varies);
  EXPECT_EQ(job.spec.variation_seed, 3u);
  EXPECT_TRUE(job.spec.strict && job.spec.event_log);
}

TEST(RunDocumentTest, TakesTheClusterOfAFile) {
  const testing::TemporaryDirectory root;
  std::ofstream(root / "c.yaml") << "apiVersion: eidolon.dev/v1alpha1\nkind: SimulatedCluster\n"
                                    "metadata: {name: pod}\n"
                                    "spec: {servers: 16, server: {preset: dgx-h200}}\n";

  const auto document =
      MakeRunDocument({.cluster_file = root / "c.yaml", .servers = 2, .command = {"a"}}, "/work");

  ASSERT_TRUE(document) << document.error().message;
  const auto job = ParseJob(*document, Mode::kEmbedded);
  EXPECT_EQ(job.spec.cluster->servers, 16u);
  EXPECT_EQ(job.spec.servers, 2u);
}

TEST(RunDocumentTest, SaysWhatIsWrongWithTheFile) {
  const testing::TemporaryDirectory root;
  std::ofstream(root / "job.yaml") << "kind: SimulationJob\n";

  EXPECT_THAT(MakeRunDocument({.cluster_file = root / "missing"}, "/").error().message,
              HasSubstr("No such file"));
  EXPECT_THAT(MakeRunDocument({.cluster_file = root / "job.yaml"}, "/").error().message,
              HasSubstr("holds no SimulatedCluster"));
}

TEST(RunDocumentTest, ARelativeCodeDirectoryIsMeantFromTheDocument) {
  json job = {{"spec", {{"code", {{"directory", "src/."}}}}}};
  AnchorCodeDirectory(&job, "/home/me");
  EXPECT_EQ(job["spec"]["code"]["directory"], "/home/me/src/");

  json absolute = {{"spec", {{"code", {{"directory", "/data"}}}}}};
  AnchorCodeDirectory(&absolute, "/home/me");
  EXPECT_EQ(absolute["spec"]["code"]["directory"], "/data");

  json here = {{"spec", {{"code", {{"directory", "."}}}}}};
  AnchorCodeDirectory(&here, "");
  const std::string found = here["spec"]["code"]["directory"];
  EXPECT_EQ(found, std::filesystem::current_path().string() + "/");
}

TEST(RunDocumentTest, ACurrentFolderThatWasRemovedIsNoReasonToAbort) {
  const std::filesystem::path before = std::filesystem::current_path();
  char path[] = "/tmp/eidolon-gone-XXXXXX";
  ASSERT_NE(mkdtemp(path), nullptr);
  std::filesystem::current_path(path);
  std::filesystem::remove(path);

  const auto folder = CurrentFolder();

  std::filesystem::current_path(before);
  ASSERT_FALSE(folder);
  EXPECT_THAT(folder.error().message, ::testing::HasSubstr("No such file or directory"));
  EXPECT_THAT(folder.error().message, ::testing::HasSubstr("change into one that exists"));
}

TEST(RunDocumentTest, APipeIsRefusedInsteadOfWaitedFor) {
  char folder[] = "/tmp/eidolon-pipe-XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string path = std::string(folder) + "/job.yaml";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);

  const auto text = ReadFile(path);

  std::filesystem::remove_all(folder);
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().message,
            "cannot read " + path +
                ": it is a pipe, not a regular file; save it to one, or give '-' to read standard "
                "input");
}

TEST(RunDocumentTest, APipeThatTheShellHasOpenedIsRead) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_EQ(write(ends[1], "kind: x\n", 8), 8);
  close(ends[1]);

  const auto text = ReadFile("/dev/fd/" + std::to_string(ends[0]));

  close(ends[0]);
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_EQ(*text, "kind: x\n");
}

TEST(RunDocumentTest, OtherDocumentsStayAsTheyAre) {
  for (const json& document :
       {json(nullptr), json({{"spec", 3}}), json({{"spec", {{"code", {{"directory", 7}}}}}})}) {
    json copy = document;
    AnchorCodeDirectory(&copy, "/home/me");
    EXPECT_EQ(copy, document);
  }
}

}  // namespace
}  // namespace eidolon::cli
