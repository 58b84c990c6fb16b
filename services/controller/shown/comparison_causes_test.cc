#include "services/controller/shown/comparison_causes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "services/controller/shown/comparison.h"
#include "services/controller/shown/comparison_text.h"
#include "services/controller/shown/printable.h"

namespace eidolon::controller::shown {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

struct Kernel {
  std::string name;
  std::string family;
  double milliseconds = 0;  // Of a rank.
  double launches = 1;      // The same.
  std::string operator_name;
};

struct Waits {
  double communication = 0;  // Milliseconds.
  double host = 0;
  double idle = 0;
};

// A job of two ranks, whose computation is its kernels.
json CausesJob(const std::vector<Kernel>& kernels, const Waits& waits = {}) {
  constexpr double kRanks = 2;
  double compute = 0;
  json listed = json::array();
  for (const Kernel& kernel : kernels) {
    if (kernel.name != "collective") compute += kernel.milliseconds;
    listed.push_back({{"name", kernel.name},
                      {"family", kernel.family},
                      {"seconds", kernel.milliseconds * 1e-3 * kRanks},
                      {"launches", kernel.launches * kRanks}});
    if (!kernel.operator_name.empty()) listed.back()["operator"] = kernel.operator_name;
  }
  const double mean = compute + waits.communication + waits.host + waits.idle;
  json job = {{"metadata", {{"name", "j"}}}, {"spec", {{"command", {"python", "train.py"}}}}};
  job["status"] = {{"phase", "Complete"}};
  job["status"]["prediction"] = {
      {"iterationSeconds",
       {{"mean", mean * 1e-3}, {"low", mean * 0.9e-3}, {"high", mean * 1.1e-3}}},
      {"breakdown",
       {{"compute", compute / mean},
        {"exposedCommunication", waits.communication / mean},
        {"host", waits.host / mean},
        {"idle", waits.idle / mean}}},
      {"kernels", listed},
      {"target",
       {{"ranks", kRanks}, {"servers", 1}, {"cluster", {{"server", {{"gpu", "H100"}}}}}}}};
  return job;
}

json WhyOf(const json& first, const json& second) { return CompareJobs(first, second).at("why"); }

void ExpectExact(const json& why) {
  double sum = why["unexplained"]["seconds"];
  for (const json& cause : why["causes"]) sum += cause["seconds"].get<double>();
  EXPECT_NEAR(sum, why["difference"].get<double>(), 1e-11) << why;
}

const std::vector<Kernel> kBase = {{"gemm 1024x1024x1024", "gemm", 4, 8},
                                   {"add", "elementwise", 2, 10}};

std::vector<Kernel> With(std::vector<Kernel> kernels, Kernel kernel) {
  kernels.push_back(std::move(kernel));
  return kernels;
}

TEST(ComparisonCausesTest, NamesKernelsThatAppearOrVanish) {
  const json first = CausesJob(kBase);
  const json second = CausesJob(With(kBase, {"softmax_warp_forward", "softmax", 1.5, 1}));

  const json appeared = WhyOf(first, second);
  const json gone = WhyOf(second, first);

  ExpectExact(appeared);
  ASSERT_EQ(appeared["causes"].size(), 1u);
  EXPECT_EQ(appeared["causes"][0]["cause"], "kernelsNew");
  EXPECT_NEAR(appeared["causes"][0]["share"].get<double>(), 1, 1e-9);
  EXPECT_EQ(appeared["causes"][0]["sentence"],
            "softmax: B has 1 kernel that A does not have (softmax_warp_forward), which take 1.500 "
            "ms more");
  EXPECT_EQ(appeared["causes"][0]["second"], json({"status.prediction.kernels[2]"}));
  EXPECT_EQ(gone["causes"][0]["cause"], "kernelsGone");
  EXPECT_LT(gone["causes"][0]["seconds"], 0);
  EXPECT_THAT(gone["causes"][0]["sentence"].get<std::string>(),
              HasSubstr("softmax: B no longer has 1 kernel of A (softmax_warp_forward), which"));
}

TEST(ComparisonCausesTest, KernelsOfOtherSizesReplaceThoseOfTheirFamily) {
  std::vector<Kernel> larger = kBase;
  larger[0] = {"gemm 2048x1024x1024", "gemm", 7, 8};

  const json why = WhyOf(CausesJob(kBase), CausesJob(larger));

  ExpectExact(why);
  ASSERT_EQ(why["causes"].size(), 1u);
  EXPECT_EQ(why["causes"][0]["cause"], "kernelsReplaced");
  EXPECT_EQ(why["causes"][0]["sentence"],
            "gemm: 1 kernel of B alone (gemm 2048x1024x1024) instead of 1 of A alone (gemm "
            "1024x1024x1024) take 3.000 ms more");
}

TEST(ComparisonCausesTest, MoreLaunchesAreToldFromLongerOnes) {
  std::vector<Kernel> other = kBase;
  other[0].launches = 16;     // Twice as often...
  other[0].milliseconds = 6;  // ...and each in three quarters of its time.

  const json why = WhyOf(CausesJob(kBase), CausesJob(other));

  ExpectExact(why);
  ASSERT_EQ(why["causes"].size(), 2u);
  EXPECT_EQ(why["causes"][0]["cause"], "kernelsCounted");
  EXPECT_NEAR(why["causes"][0]["seconds"].get<double>(), 4e-3, 1e-12);
  EXPECT_THAT(why["causes"][0]["sentence"].get<std::string>(),
              HasSubstr("16 launches a rank, not 8, of 1 kernel"));
  EXPECT_EQ(why["causes"][1]["cause"], "kernelsTimed");
  EXPECT_THAT(why["causes"][1]["sentence"].get<std::string>(),
              HasSubstr("1 kernel has a different duration ("));
  EXPECT_NEAR(why["causes"][1]["share"].get<double>(), -1, 1e-9);
}

TEST(ComparisonCausesTest, KernelsAreCalledByTheirOperatorsEachOnce) {
  const std::vector<Kernel> base = {{"void add<4>(float*)", "elementwise", 2, 10, "aten::add"},
                                    {"void add<8>(float*)", "elementwise", 3, 10, "aten::add"},
                                    {"void mul<4>(float*)", "elementwise", 4, 10, "aten::mul"}};
  std::vector<Kernel> other = base;
  for (Kernel& kernel : other) kernel.milliseconds *= 2;

  const json why = WhyOf(CausesJob(base), CausesJob(other));

  EXPECT_THAT(why["causes"][0]["sentence"].get<std::string>(),
              HasSubstr("3 kernels have a different duration (aten::mul, aten::add), together"));
}

TEST(ComparisonCausesTest, AnotherGpuIsNamedWhereLaunchesLastOtherwise) {
  std::vector<Kernel> faster = kBase;
  for (Kernel& kernel : faster) kernel.milliseconds /= 2;
  json second = CausesJob(faster);
  second["status"]["prediction"]["target"]["cluster"]["server"]["gpu"] = "B200";

  const json why = WhyOf(CausesJob(kBase), second);

  ExpectExact(why);
  ASSERT_EQ(why["causes"].size(), 2u);
  for (const json& cause : why["causes"]) {
    EXPECT_EQ(cause["cause"], "kernelsTimed");
    EXPECT_EQ(cause["settings"], json({"cluster.server.gpu"}));
    EXPECT_THAT(cause["sentence"].get<std::string>(),
                HasSubstr("; cluster.server.gpu is B200, not H100"));
  }
}

TEST(ComparisonCausesTest, CommunicationNamesCallsBusyTimeLinksAndTheNetwork) {
  json first =
      CausesJob(With(kBase, {"collective", "nccl ring simple", 1, 4}), {.communication = 1});
  json second =
      CausesJob(With(kBase, {"collective", "nccl tree ll", 3, 6}), {.communication = 2.5});
  for (json* job : {&first, &second}) {
    const bool is_slow = job == &second;
    json& prediction = (*job)["status"]["prediction"];
    prediction["criticalPath"]["links"] = {
        {{"link", "nic"}, {"picoseconds", is_slow ? 2'000'000'000 : 600'000'000}},
        {{"link", "latency"}, {"picoseconds", is_slow ? 500'000'000 : 400'000'000}}};
    prediction["target"]["cluster"]["server"]["nics"]["gbps"] = is_slow ? 100 : 400;
  }

  const json why = WhyOf(first, second);

  ExpectExact(why);
  ASSERT_EQ(why["causes"].size(), 1u);
  EXPECT_EQ(why["causes"][0]["cause"], "communication");
  EXPECT_EQ(
      why["causes"][0]["sentence"],
      "communication that nothing hides takes 1.500 ms more: 6 collectives a rank, not 4, are busy "
      "for 3.000 ms, not 1.000 ms; only A has nccl ring simple, only B has nccl tree ll; on the "
      "critical path nic takes 1.400 ms more; cluster.server.nics.gbps is 100, not 400");
  EXPECT_EQ(why["causes"][0]["first"], json({"status.prediction.breakdown.exposedCommunication",
                                             "status.prediction.kernels[2]"}));
}

TEST(ComparisonCausesTest, HostsThatAreWaitedForNameTheLinesThatReadValues) {
  json second = CausesJob(kBase, {.host = 2, .idle = 0.5});
  second["status"]["prediction"]["unknownReadSources"] = {{{"line", "train.py:41"}, {"reads", 3}}};

  const json why = WhyOf(CausesJob(kBase), second);

  ExpectExact(why);
  ASSERT_EQ(why["causes"].size(), 2u);
  EXPECT_EQ(why["causes"][0]["cause"], "host");
  EXPECT_THAT(why["causes"][0]["sentence"].get<std::string>(),
              AllOf(HasSubstr("2.000 ms more"),
                    HasSubstr("only B reads values of the GPU at train.py:41")));
  EXPECT_EQ(why["causes"][1]["cause"], "idle");
}

TEST(ComparisonCausesTest, OfALongPathFileAndLineAreSaid) {
  json second = CausesJob(kBase, {.host = 2});
  const std::string folder = "/home/someone/" + std::string(60, 'x') + "\xc3\xa9/";
  second["status"]["prediction"]["unknownReadSources"] = {{{"line", folder + "train.py:41"}}};

  const json why = WhyOf(CausesJob(kBase), second);

  EXPECT_THAT(why["causes"][0]["sentence"].get<std::string>(),
              AllOf(HasSubstr("reads values of the GPU at ...xxx"), HasSubstr("/train.py:41"),
                    Not(HasSubstr("someone"))));
}

TEST(ComparisonCausesTest, WhatNoCauseAccountsForIsSaid) {
  json second = CausesJob(With(kBase, {"hidden", "other", 2, 1}));
  second["status"]["prediction"]["kernels"].erase(2);

  const json compared = CompareJobs(CausesJob(kBase), second);

  ExpectExact(compared["why"]);
  EXPECT_TRUE(compared["why"]["causes"].empty());
  EXPECT_NEAR(compared["why"]["unexplained"]["share"].get<double>(), 1, 1e-9);
  EXPECT_THAT(FormatComparison(compared),
              HasSubstr("    +100.0 %  2.000 ms more are not explained by these"));
}

TEST(ComparisonCausesTest, MemoryNamesWhatMostOfItIsOf) {
  json first = CausesJob(kBase);
  json second = CausesJob(kBase);
  for (json* job : {&first, &second}) {
    const bool is_larger = job == &second;
    (*job)["status"]["prediction"]["memory"] = {
        {"peakReservedBytes", is_larger ? 3u << 30 : 1u << 30},
        {"allocations", {{"activations", is_larger ? 2u << 30 : 512u << 20}, {"parameters", 7}}}};
  }

  EXPECT_EQ(WhyOf(first, second)["memory"]["sentence"],
            "peak memory is 2.0 GiB more, of which most is of activations (1.5 GiB more)");
  EXPECT_FALSE(WhyOf(first, first).contains("memory"));
}

TEST(ComparisonCausesTest, AJobIsNotExplainedAgainstItself) {
  const json compared = CompareJobs(CausesJob(kBase), CausesJob(kBase));

  EXPECT_TRUE(compared["why"]["causes"].empty());
  EXPECT_FALSE(compared["why"]["unexplained"].contains("share"));
  EXPECT_THAT(FormatComparison(compared), Not(HasSubstr("why")));
}

TEST(ComparisonCausesTest, TimesOfDifferentKindsHaveNoCauses) {
  json program = CausesJob(kBase);
  program["status"]["prediction"].erase("iterationSeconds");
  program["status"]["prediction"]["program"] = {{"seconds", 3}};

  EXPECT_FALSE(CompareJobs(CausesJob(kBase), program).contains("why"));
  EXPECT_FALSE(CompareJobs(json(), json()).contains("why"));
}

TEST(ComparisonCausesTest, NamesThatAProgramMadeUpStayOnTheirLine) {
  const std::string hostile = "a\x1b[2J\nforged line\r\xff";
  json second = CausesJob(With(kBase, {hostile, hostile, 1, 1}), {.host = 1});
  second["status"]["prediction"]["unknownReadSources"] = {{{"line", hostile}}};
  second["status"]["prediction"]["target"]["cluster"]["server"]["cpu"] = hostile;

  const std::string text = FormatComparison({{"why", WhyOf(CausesJob(kBase), second)}});

  EXPECT_THAT(text, AllOf(Not(HasSubstr("\x1b")), Not(HasSubstr("\nforged")), Not(HasSubstr("\r")),
                          HasSubstr("\\x1b[2J\\x0aforged")));
}

}  // namespace
}  // namespace eidolon::controller::shown
