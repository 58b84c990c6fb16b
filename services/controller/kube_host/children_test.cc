#include "services/controller/kube_host/children.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/base/clock.h"
#include "services/controller/kube_host/fake_cluster_test.h"

namespace eidolon::controller::kube_host {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class ChildrenTest : public ::testing::Test {
 protected:
  static json Child(const std::string& owner_uid, const std::string& selected = "train") {
    return {{"apiVersion", "v1"},
            {"kind", "Service"},
            {"metadata",
             {{"name", "train"},
              {"namespace", "team"},
              {"ownerReferences",
               {{{"kind", "SimulationJob"},
                 {"name", "train"},
                 {"uid", owner_uid},
                 {"controller", true}}}}}},
            {"spec", {{"selector", {{"app", selected}}}}}};
  }
  json Present() { return *cluster_.Find(kube::kServices, kKey); }

  const kube::ObjectKey kKey = {"team", "train"};
  const base::SystemClock clock_;
  FakeCluster cluster_;
  kube::Client client_{{.url = cluster_.url(), .ca_file = {}, .token_file = {}}, clock_};
};

TEST_F(ChildrenTest, IsMadeAndChangedAsLongAsItsOwnerControlsIt) {
  ASSERT_TRUE(ApplyChild(&client_, Child("owner")));
  const auto changed = ApplyChild(&client_, Child("owner", "other"));

  ASSERT_TRUE(changed) << changed.error().message;
  EXPECT_EQ(Present()["spec"]["selector"]["app"], "other");
}

TEST_F(ChildrenTest, AnObjectThatNobodyControlsIsLeftAsItIs) {
  cluster_.Put(kube::kServices, kKey, {{"spec", {{"selector", {{"app", "database"}}}}}});
  const json before = Present();

  const auto refused = ApplyChild(&client_, Child("owner"));

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, kNameTaken);
  EXPECT_THAT(refused.error().message, HasSubstr("Service 'train' of namespace 'team' exists"));
  EXPECT_THAT(refused.error().message, HasSubstr("create it under another name"));
  EXPECT_EQ(Present(), before);
}

TEST_F(ChildrenTest, AnOwnerWithoutControlIsNoOwner) {
  json mine = Child("owner", "database");
  mine["metadata"]["ownerReferences"][0].erase("controller");
  cluster_.Put(kube::kServices, kKey, mine);
  const json before = Present();

  EXPECT_FALSE(ApplyChild(&client_, Child("owner")));
  EXPECT_EQ(Present(), before);
}

TEST_F(ChildrenTest, WhatAnEarlierOwnerOfTheSameNameLeftIsWaitedFor) {
  cluster_.Put(kube::kServices, kKey, Child("an earlier one", "database"));
  cluster_.Put(kube::kServices, kKey,
               {{"metadata", {{"deletionTimestamp", "2026-01-01T00:00:00Z"}}}});
  const json before = Present();

  const auto refused = ApplyChild(&client_, Child("owner"));

  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("it is being deleted"));
  EXPECT_EQ(Present(), before);
}

TEST_F(ChildrenTest, AnObjectThatWasReplacedMeanwhileIsLookedAtAgain) {
  const json child = Child("owner");
  kube::FakeServer server([&](const kube::Call& call) {
    if (call.method == "PATCH") {
      return kube::Json({{"kind", "Status"},
                         {"code", 422},
                         {"reason", "Invalid"},
                         {"message", "metadata.uid: Invalid value: \"x\": field is immutable"}},
                        422);
    }
    json present = child;
    present["metadata"]["uid"] = "x";
    return kube::Json(present);
  });
  kube::Client client({.url = server.url(), .ca_file = {}, .token_file = {}}, clock_);

  const auto refused = ApplyChild(&client, child);

  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().IsConflict());
}

// Else a field that a newer controller leaves out would stay for ever.
TEST_F(ChildrenTest, FieldsOfTheCreationBelongToTheApplierLater) {
  ASSERT_TRUE(ApplyChild(&client_, Child("owner")));
  ASSERT_EQ(Present()["metadata"]["managedFields"],
            json({{{"manager", kube::kFieldManager}, {"operation", "Update"}}}));

  ASSERT_TRUE(ApplyChild(&client_, Child("owner")));
  ASSERT_TRUE(ApplyChild(&client_, Child("owner")));

  EXPECT_EQ(Present()["metadata"]["managedFields"],
            json({{{"manager", kube::kFieldManager}, {"operation", "Apply"}}}));
}

TEST_F(ChildrenTest, ADeletionIsOfOneObjectAlone) {
  cluster_.Put(kube::kServices, kKey, {{"metadata", {{"uid", "another"}}}});

  const auto refused =
      client_.Delete(kube::kServices, kKey, kube::Propagation::kForeground, "ours");

  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().IsConflict());
  EXPECT_TRUE(cluster_.Find(kube::kServices, kKey));
}

}  // namespace
}  // namespace eidolon::controller::kube_host
