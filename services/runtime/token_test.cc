#include "services/runtime/token.h"

#include <gtest/gtest.h>

#include "services/testing/fake_clock.h"

namespace eidolon::runtime {
namespace {

constexpr std::int64_t kNow = 1'000;

class PassTest : public ::testing::Test {
 protected:
  const PassIssuer issuer_ = PassIssuer::Generate();
};

TEST_F(PassTest, NamesWhomItWasIssuedTo) {
  const std::string agent = issuer_.Issue({.is_controller = false, .job = "team/a/1/x"}, kNow + 1);
  const std::string controller = issuer_.Issue({.is_controller = true, .job = {}}, kNow + 1);

  const auto of_agent = CheckPass(agent, issuer_.public_key(), kNow);
  const auto of_controller = CheckPass(controller, issuer_.public_key(), kNow);

  ASSERT_TRUE(of_agent && of_controller);
  EXPECT_TRUE(of_agent->MaySpeakFor("team/a/1/x"));
  EXPECT_FALSE(of_agent->MaySpeakFor("team/b/1/x"));
  EXPECT_FALSE(of_agent->is_controller);
  EXPECT_TRUE(of_controller->MaySpeakFor("team/b/1/x"));
}

TEST_F(PassTest, ExpiresAndIsTiedToItsKey) {
  const std::string pass = issuer_.Issue({.is_controller = true, .job = {}}, kNow);

  EXPECT_TRUE(CheckPass(pass, issuer_.public_key(), kNow - 1));
  EXPECT_FALSE(CheckPass(pass, issuer_.public_key(), kNow));
  EXPECT_FALSE(CheckPass(pass, PassIssuer::Generate().public_key(), kNow - 1));
}

TEST_F(PassTest, EveryChangedDigitIsSeen) {
  const std::string pass = issuer_.Issue({.is_controller = false, .job = "team/a"}, kNow + 1);

  for (std::size_t at = 0; at < pass.size(); ++at) {
    std::string changed = pass;
    changed[at] = changed[at] == '0' ? '1' : '0';
    EXPECT_FALSE(CheckPass(changed, issuer_.public_key(), kNow)) << at;
  }
  EXPECT_FALSE(CheckPass("", issuer_.public_key(), kNow));
  EXPECT_FALSE(CheckPass(pass.substr(0, pass.find('.')), issuer_.public_key(), kNow));
  EXPECT_FALSE(CheckPass(pass + "00", issuer_.public_key(), kNow));
}

TEST_F(PassTest, ANameWithLinesIsNoOtherPass) {
  // As if the job's name could add fields of its own.
  EXPECT_DEATH(issuer_.Issue({.is_controller = false, .job = "a\ncontroller"}, kNow), "CHECK");
}

TEST_F(PassTest, TheIssuerComesBackFromItsPrivateKey) {
  const auto again = PassIssuer::FromPrivateKey(issuer_.private_key());

  ASSERT_TRUE(again);
  EXPECT_EQ(again->public_key(), issuer_.public_key());
  EXPECT_FALSE(PassIssuer::FromPrivateKey("abc"));
  EXPECT_FALSE(PassIssuer::FromPrivateKey(std::string(64, 'z')));
}

TEST_F(PassTest, AGateWantsAProperKey) {
  const testing::FakeClock clock;

  EXPECT_TRUE(PassGate::Make(issuer_.public_key(), clock));
  EXPECT_FALSE(PassGate::Make("", clock));
  EXPECT_FALSE(PassGate::Make("00", clock));
  EXPECT_FALSE(PassGate::Make(std::string(64, 'x'), clock));
}

}  // namespace
}  // namespace eidolon::runtime
