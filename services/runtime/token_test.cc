#include "services/runtime/token.h"

#include <gtest/gtest.h>

#include "services/testing/fake_clock.h"

namespace eidolon::runtime {
namespace {

constexpr std::int64_t kNow = 1'000;

class TokenTest : public ::testing::Test {
 protected:
  const TokenIssuer issuer_ = TokenIssuer::Generate();
};

TEST_F(TokenTest, NamesWhomItWasIssuedTo) {
  const std::string agent = issuer_.Issue({.is_controller = false, .job = "team/a/1/x"}, kNow + 1);
  const std::string controller = issuer_.Issue({.is_controller = true, .job = {}}, kNow + 1);

  const auto of_agent = CheckToken(agent, issuer_.public_key(), kNow);
  const auto of_controller = CheckToken(controller, issuer_.public_key(), kNow);

  ASSERT_TRUE(of_agent && of_controller);
  EXPECT_TRUE(of_agent->MaySpeakFor("team/a/1/x"));
  EXPECT_FALSE(of_agent->MaySpeakFor("team/b/1/x"));
  EXPECT_FALSE(of_agent->is_controller);
  EXPECT_TRUE(of_controller->MaySpeakFor("team/b/1/x"));
}

TEST_F(TokenTest, ExpiresAndIsTiedToItsKey) {
  const std::string token = issuer_.Issue({.is_controller = true, .job = {}}, kNow);

  EXPECT_TRUE(CheckToken(token, issuer_.public_key(), kNow - 1));
  EXPECT_FALSE(CheckToken(token, issuer_.public_key(), kNow));
  EXPECT_FALSE(CheckToken(token, TokenIssuer::Generate().public_key(), kNow - 1));
}

TEST_F(TokenTest, EveryChangedDigitIsSeen) {
  const std::string token = issuer_.Issue({.is_controller = false, .job = "team/a"}, kNow + 1);

  for (std::size_t at = 0; at < token.size(); ++at) {
    std::string changed = token;
    changed[at] = changed[at] == '0' ? '1' : '0';
    EXPECT_FALSE(CheckToken(changed, issuer_.public_key(), kNow)) << at;
  }
  EXPECT_FALSE(CheckToken("", issuer_.public_key(), kNow));
  EXPECT_FALSE(CheckToken(token.substr(0, token.find('.')), issuer_.public_key(), kNow));
  EXPECT_FALSE(CheckToken(token + "00", issuer_.public_key(), kNow));
}

TEST_F(TokenTest, ANameWithLinesCannotForgeAnotherToken) {
  // The job's name must not be able to add fields of its own.
  EXPECT_DEATH(issuer_.Issue({.is_controller = false, .job = "a\ncontroller"}, kNow), "CHECK");
}

TEST_F(TokenTest, TheIssuerComesBackFromItsPrivateKey) {
  const auto again = TokenIssuer::FromPrivateKey(issuer_.private_key());

  ASSERT_TRUE(again);
  EXPECT_EQ(again->public_key(), issuer_.public_key());
  EXPECT_FALSE(TokenIssuer::FromPrivateKey("abc"));
  EXPECT_FALSE(TokenIssuer::FromPrivateKey(std::string(64, 'z')));
}

TEST_F(TokenTest, AGateWantsAProperKey) {
  const testing::FakeClock clock;

  EXPECT_TRUE(TokenGate::Make(issuer_.public_key(), clock));
  EXPECT_FALSE(TokenGate::Make("", clock));
  EXPECT_FALSE(TokenGate::Make("00", clock));
  EXPECT_FALSE(TokenGate::Make(std::string(64, 'x'), clock));
}

}  // namespace
}  // namespace eidolon::runtime
