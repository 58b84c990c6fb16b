#include "services/controller/kube_host/token_key.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <set>

#include "services/base/clock.h"
#include "services/controller/kube_host/fake_cluster_test.h"

namespace eidolon::controller::kube_host {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

const kube::ObjectKey kSecret = {"eidolon-system", "eidolon-passes"};

class TokenKeyTest : public ::testing::Test {
 protected:
  base::Result<runtime::TokenIssuer> FindOrMake() {
    kube::Client client({.url = cluster_.url(), .ca_file = {}, .token_file = {}}, clock_);
    return FindOrMakeTokenKey(&client, kSecret);
  }

  const base::SystemClock clock_;
  FakeCluster cluster_;
};

TEST_F(TokenKeyTest, IsMadeOnceAndKept) {
  cluster_.Put(kube::kSecrets, kSecret, json::object());

  const auto first = FindOrMake();
  const auto second = FindOrMake();

  ASSERT_TRUE(first) << first.error().message;
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(second->public_key(), first->public_key());
  const json secret = *cluster_.Find(kube::kSecrets, kSecret);
  EXPECT_EQ(secret["data"].size(), 2u);
}

TEST_F(TokenKeyTest, ReplicasThatTryAtOnceAgree) {
  cluster_.Put(kube::kSecrets, kSecret, json::object());
  std::vector<std::future<base::Result<runtime::TokenIssuer>>> replicas;
  for (int replica = 0; replica < 4; ++replica) {
    replicas.push_back(std::async(std::launch::async, [this] { return FindOrMake(); }));
  }

  std::set<std::string> keys;
  for (auto& replica : replicas) {
    const auto issuer = replica.get();
    ASSERT_TRUE(issuer) << issuer.error().message;
    keys.insert(issuer->public_key());
  }

  EXPECT_EQ(keys.size(), 1u);
}

TEST_F(TokenKeyTest, ADamagedOrMissingSecretIsSaid) {
  const auto missing = FindOrMake();
  cluster_.Put(kube::kSecrets, kSecret, {{"data", {{kPrivateField, "not base64!"}}}});
  const auto damaged = FindOrMake();

  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, HasSubstr("Secret eidolon-system/eidolon-passes"));
  ASSERT_FALSE(damaged);
  EXPECT_THAT(damaged.error().message, HasSubstr("64 hexadecimal digits"));
}

}  // namespace
}  // namespace eidolon::controller::kube_host
