// Delays of the host that a job asks for, in a process of its own: they are fixed when the session
// begins.
#include <gtest/gtest.h>

#include "services/contract/ring/host_jitter.h"
#include "shim/core/enter.h"
#include "shim/core/fake_agent.h"
#include "shim/core/rank_clock.h"
#include "shim/core/session.h"

namespace eidolon::shim::core {
namespace {

TEST(JitterClockTest, CallsOfTheFixedModelTakeTheDelaysThatFallIntoThem) {
  FakeAgent& agent = FakeAgent::Start({.cost_ps = 1'000'000});
  // A delay of 10 us in 20 us of host work: half as much again.
  *ring::HostJitterOf(agent.segment()) = {
      .per_second = 50'000, .length_ps = 10'000'000, .exponential = 1, .reserved = 0, .seed = 3};
  ASSERT_NE(Session::Get(), nullptr);

  const auto before = Now();
  for (int call = 0; call < 100'000; ++call) {
    Enter("x", ring::CallClass::kQuery, -1, [] { return 0; });
  }
  const double per_call_us = static_cast<double>((Now() - before).ps) / 1e6 / 100'000;

  EXPECT_NEAR(per_call_us, 1.5, 0.05);
}

}  // namespace
}  // namespace eidolon::shim::core
