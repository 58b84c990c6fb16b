#include "services/controller/rest/logins.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/testing/fake_clock.h"

namespace eidolon::controller::rest {
namespace {

using ::testing::MatchesRegex;

class LoginsTest : public ::testing::Test {
 protected:
  testing::FakeClock clock_;
  Logins logins_{clock_};
};

TEST_F(LoginsTest, ACodeOpensOneSession) {
  const std::string code = logins_.MakeCode();
  EXPECT_THAT(code, MatchesRegex("[0-9a-f]{64}"));

  const auto session = logins_.Redeem(code);

  ASSERT_TRUE(session);
  EXPECT_TRUE(logins_.Accepts(*session));
  EXPECT_FALSE(logins_.Redeem(code)) << "a second time";
  EXPECT_FALSE(logins_.Accepts(code));
  EXPECT_FALSE(logins_.Redeem(*session));
  EXPECT_FALSE(logins_.Redeem(""));
  EXPECT_FALSE(logins_.Accepts(""));
}

TEST_F(LoginsTest, CodesAndSessionsExpire) {
  const std::string used = logins_.MakeCode();
  const std::string late = logins_.MakeCode();
  clock_.AdvanceSeconds(kCodeSeconds - 1);
  const auto session = logins_.Redeem(used);
  ASSERT_TRUE(session);
  clock_.AdvanceSeconds(1);
  EXPECT_FALSE(logins_.Redeem(late));

  clock_.AdvanceSeconds(kSessionSeconds - 2);
  EXPECT_TRUE(logins_.Accepts(*session)) << "its use does not prolong it";
  clock_.AdvanceSeconds(1);
  EXPECT_FALSE(logins_.Accepts(*session));
}

TEST_F(LoginsTest, TheOldestGoWhenThereAreTooMany) {
  const std::string first_code = logins_.MakeCode();
  const std::string first_session = logins_.OpenSession();
  std::string code, session;
  for (std::size_t i = 0; i < Logins::kCodesMax; ++i) code = logins_.MakeCode();
  for (std::size_t i = 0; i < Logins::kSessionsMax; ++i) session = logins_.OpenSession();

  EXPECT_FALSE(logins_.Redeem(first_code));
  EXPECT_FALSE(logins_.Accepts(first_session));
  EXPECT_TRUE(logins_.Accepts(session));
  EXPECT_TRUE(logins_.Redeem(code));
}

}  // namespace
}  // namespace eidolon::controller::rest
