#include "services/controller/kube_host/object_text.h"

#include <gtest/gtest.h>

namespace eidolon::controller::kube_host {
namespace {

using nlohmann::json;

TEST(ObjectTextTest, KeysNameKindNamespaceAndObject) {
  EXPECT_EQ(TextOf("job", {"team", "train"}), "job/team/train");
}

TEST(ObjectTextTest, OnlyTheControllingOwnerCounts) {
  const json object = json::parse(R"({"metadata": {"uid": "own", "ownerReferences": [
      {"uid": "guest"}, {"uid": "owner", "controller": true}]}})");

  EXPECT_EQ(UidOf(object), "own");
  EXPECT_EQ(OwnerUidOf(object), "owner");
  EXPECT_EQ(OwnerUidOf(json::parse(R"({"metadata": {}})")), "");
}

TEST(ObjectTextTest, AJobIsOverInItsFinalPhasesOnly) {
  for (const char* phase : {"Complete", "Failed", "Interrupted"}) {
    EXPECT_TRUE(IsOver({{"status", {{"phase", phase}}}})) << phase;
  }
  for (const char* phase : {"Pending", "Running", ""}) {
    EXPECT_FALSE(IsOver({{"status", {{"phase", phase}}}})) << phase;
  }
  EXPECT_FALSE(IsOver(json::object()));
}

}  // namespace
}  // namespace eidolon::controller::kube_host
