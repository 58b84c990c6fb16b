// The measured host model for a target that is faster than this machine, in a process of its own:
// the model is fixed when the session begins.
#include <gtest/gtest.h>

#include "shim/core/enter.h"
#include "shim/core/fake_agent.h"
#include "shim/core/rank_clock.h"
#include "shim/core/session.h"
#include "shim/core/system.h"

namespace eidolon::shim::core {
namespace {

void Call() {
  Enter("x", ring::CallClass::kQuery, -1, [] { return 0; });
}

TEST(FasterHostTest, ItsProcessorTimeIsThisMachinesOverTheRatio) {
  FakeAgent::Start({.host_model = ring::HostModel::kMeasured, .speed_ratio = 4});
  ASSERT_NE(Session::Get(), nullptr);
  Call();
  const auto before = Now();
  const std::int64_t begin_ns = ThreadCpuNs();
  while (ThreadCpuNs() < begin_ns + 40'000'000) {
  }
  Call();
  const std::int64_t used_ps = (ThreadCpuNs() - begin_ns) * 1000;

  EXPECT_GE((Now() - before).ps, 9'900'000'000);
  EXPECT_LE((Now() - before).ps, used_ps / 2);
}

}  // namespace
}  // namespace eidolon::shim::core
