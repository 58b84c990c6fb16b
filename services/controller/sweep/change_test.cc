#include "services/controller/sweep/change.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace eidolon::controller::sweep {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

constexpr char kChanged[] = R"({
  "apiVersion": "eidolon.dev/v1alpha1", "kind": "SimulationSweep",
  "metadata": {"name": "gpus", "uid": "7", "labels": {"team": "a"}},
  "spec": {"job": {"cluster": {"servers": 1, "server": {"gpu": "H100-SXM5-80GB"}},
                   "command": ["true"]},
           "matrix": {"cluster.server.gpu": ["H100-SXM5-80GB", "B200-SXM-180GB"]},
           "concurrency": 2},
  "status": {"phase": "Running"}})";

SweepChange ChangeBy(const char* patch) {
  return ReadSweepChange(json::parse(kChanged), json::parse(patch), job::Mode::kEmbedded);
}

std::string ChangeProblems(const char* patch) { return job::Describe(ChangeBy(patch).problems); }

TEST(SweepChangeTest, TakesSuspensionConcurrencyLabelsAndAnnotations) {
  const SweepChange change = ChangeBy(
      R"({"metadata": {"labels": {"team": null, "a": "b"}, "annotations": {"c": "d"}},
          "spec": {"suspend": true, "concurrency": 5}})");

  EXPECT_EQ(job::Describe(change.problems), "");
  EXPECT_TRUE(change.of_spec);
  json patched = json::parse(kChanged);
  patched.merge_patch(change.patch);
  EXPECT_EQ(patched["metadata"]["labels"], json({{"a", "b"}}));
  EXPECT_EQ(patched["spec"]["suspend"], true);
  EXPECT_EQ(patched["spec"]["concurrency"], 5);
  EXPECT_EQ(FixedDigestOf(patched), FixedDigestOf(json::parse(kChanged)));
}

TEST(SweepChangeTest, TellsAChangeOfTheSpecFromOneOfLabels) {
  EXPECT_FALSE(ChangeBy(R"({"metadata": {"labels": {"a": "b"}}})").of_spec);
  EXPECT_FALSE(ChangeBy(R"({"spec": {"concurrency": 2}})").of_spec);
  EXPECT_TRUE(ChangeBy(R"({"spec": {"concurrency": null}})").of_spec);
  EXPECT_TRUE(ChangeBy("{}").patch.empty());
}

TEST(SweepChangeTest, NamesEveryFieldThatCannotChange) {
  EXPECT_THAT(ChangeProblems(R"({"spec": {"matrix": {"servers": [1]}, "price": {"A": 1}}})"),
              HasSubstr("/spec/matrix: cannot be changed: delete the sweep and create another"));
  EXPECT_THAT(ChangeProblems(R"({"spec": {"matrix": {"servers": [1]}, "price": {"A": 1}}})"),
              HasSubstr("/spec/price: cannot be changed"));
  EXPECT_THAT(ChangeProblems(R"({"spec": {"job": null}})"), HasSubstr("/spec/job: cannot"));
  EXPECT_THAT(ChangeProblems(R"({"spec": {"a/b": 1}})"), HasSubstr("/spec/a~1b: cannot"));
  EXPECT_THAT(ChangeProblems(R"({"metadata": {"name": "x"}})"),
              HasSubstr("/metadata/name: cannot"));
  EXPECT_THAT(ChangeProblems(R"({"status": {"phase": "Complete"}})"), HasSubstr("/status: cannot"));
  EXPECT_THAT(ChangeProblems(R"({"extra": 1})"), HasSubstr("/extra: cannot"));
  EXPECT_THAT(ChangeProblems("[]"), HasSubstr("must be an object"));
  EXPECT_THAT(ChangeProblems(R"({"spec": null})"), HasSubstr("/spec: must be an object"));
}

TEST(SweepChangeTest, TakesTheSweepItself) { EXPECT_EQ(ChangeProblems(kChanged), ""); }

TEST(SweepChangeTest, ChecksValues) {
  EXPECT_THAT(ChangeProblems(R"({"spec": {"concurrency": 65}})"), HasSubstr("/spec/concurrency"));
  EXPECT_THAT(ChangeProblems(R"({"spec": {"suspend": "yes"}})"), HasSubstr("/spec/suspend"));
  EXPECT_THAT(ChangeProblems(R"({"metadata": {"labels": {"a": 1}}})"),
              HasSubstr("/metadata/labels"));
}

TEST(SweepChangeTest, TheDigestStandsForWhatCannotChange) {
  json other = json::parse(kChanged);
  other["spec"]["job"]["command"] = {"false"};

  EXPECT_NE(FixedDigestOf(other), FixedDigestOf(json::parse(kChanged)));
}

}  // namespace
}  // namespace eidolon::controller::sweep
