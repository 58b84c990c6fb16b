#include "services/controller/kube/retry.h"

#include <gtest/gtest.h>

namespace eidolon::controller::kube {
namespace {

using std::chrono::milliseconds;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

TEST(RetryTest, PausesLongerEachTimeAndNotAfterTheLastTry) {
  EXPECT_EQ(PauseBeforeRetry(1, "", 20s), 100ms);
  EXPECT_EQ(PauseBeforeRetry(2, "", 20s), 200ms);
  EXPECT_EQ(PauseBeforeRetry(3, "", 20s), 400ms);
  EXPECT_EQ(PauseBeforeRetry(4, "", 20s), std::nullopt);
  EXPECT_EQ(PauseBeforeRetry(4, "0", 20s), std::nullopt);
}

TEST(RetryTest, PausesAsLongAsTheServerAsksWithinTheCall) {
  EXPECT_EQ(PauseBeforeRetry(1, "0", 20s), 0ms);
  EXPECT_EQ(PauseBeforeRetry(1, "19", 20s), 19s);
  EXPECT_EQ(PauseBeforeRetry(1, "-7", 20s), 0ms);
  // A date, which HTTP allows.
  EXPECT_EQ(PauseBeforeRetry(1, "Wed, 21 Oct 2026 07:28:00 GMT", 20s), 100ms);
}

TEST(RetryTest, APauseBeyondTheCallEndsIt) {
  EXPECT_EQ(PauseBeforeRetry(1, "20", 20s), std::nullopt);
  EXPECT_EQ(PauseBeforeRetry(1, "2", 1500ms), std::nullopt);
  EXPECT_EQ(PauseBeforeRetry(1, "9223372036854775807", 20s), std::nullopt);
  EXPECT_EQ(PauseBeforeRetry(2, "", 200ms), std::nullopt);
  EXPECT_EQ(PauseBeforeRetry(1, "0", 0ms), std::nullopt);
  EXPECT_EQ(PauseBeforeRetry(1, "0", -5ms), std::nullopt);
}

}  // namespace
}  // namespace eidolon::controller::kube
