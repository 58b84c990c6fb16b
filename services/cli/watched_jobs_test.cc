#include "services/cli/watched_jobs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

namespace eidolon::cli {
namespace {

using nlohmann::json;

json Job(const std::string& name, int iteration, const std::string& team = "a") {
  return {{"metadata", {{"namespace", "default"}, {"name", name}, {"labels", {{"team", team}}}}},
          {"status", {{"phase", "Running"}, {"progress", {{"iteration", iteration}, {"of", 8}}}}}};
}

json Changed(const std::vector<json>& jobs) { return {{"changed", jobs}, {"gone", json::array()}}; }

WatchedJobs Watch(const std::string& selector, const std::string& output = "table",
                  const std::string& name = "") {
  return WatchedJobs({.name = name,
                      .selector = *controller::job::LabelSelector::Parse(selector),
                      .output = output});
}

TEST(WatchedJobsTest, PrintsALineForEachJobThatLooksOtherwise) {
  WatchedJobs watch = Watch("");

  const std::string first = watch.Add(Changed({Job("one", 1), Job("two", 1)}));
  EXPECT_EQ(std::count(first.begin(), first.end(), '\n'), 3) << first;
  EXPECT_EQ(first.find("NAMESPACE"), 0u);
  EXPECT_EQ(watch.Add(Changed({Job("one", 1)})), "");
  const std::string second = watch.Add(Changed({Job("one", 2), Job("two", 1)}));
  EXPECT_EQ(std::count(second.begin(), second.end(), '\n'), 1) << second;
  EXPECT_NE(second.find("2/8"), std::string::npos) << second;
  EXPECT_EQ(watch.Add({{"changed", json::array()}, {"gone", {"default/one", "default/x"}}}),
            "default/one deleted\n");
}

TEST(WatchedJobsTest, KeepsToTheSelectorAndTheName) {
  WatchedJobs team = Watch("team=b", "name");
  EXPECT_EQ(team.Add(Changed({Job("one", 1), Job("two", 1, "b")})), "two\n");
  WatchedJobs named = Watch("", "name", "one");
  EXPECT_EQ(named.Add(Changed({Job("one", 1), Job("two", 1)})), "one\n");
}

TEST(WatchedJobsTest, PrintsADocumentALine) {
  WatchedJobs watch = Watch("", "json");
  const std::string text = watch.Add(Changed({Job("one", 1)}));
  EXPECT_EQ(json::parse(text), Job("one", 1));
}

TEST(WatchedJobsTest, TakesDocumentsOfAnotherShape) {
  WatchedJobs watch = Watch("");
  for (const json& event : {json(), json(3), json({{"changed", 3}}), json({{"gone", {1, 2}}})}) {
    EXPECT_NO_THROW(watch.Add(event));
  }
}

}  // namespace
}  // namespace eidolon::cli
