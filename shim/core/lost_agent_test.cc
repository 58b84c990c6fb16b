// Tests what a rank sees when its agent dies, in a process of its own.
#include <gtest/gtest.h>

#include <thread>

#include "shim/core/fake_agent.h"
#include "shim/core/session.h"

namespace eidolon::shim::core {
namespace {

TEST(LostAgentTest, WaitersAndFullWritersReturnInsteadOfHanging) {
  FakeAgent& agent = FakeAgent::Start({.keep_records = false});
  Session& session = *Session::Get();
  agent.Pause();
  std::thread killer([&agent] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    agent.Die();
  });
  ring::WaitRecord wait{};
  wait.header.kind = ring::RecordKind::kSynchronizeDevice;

  EXPECT_EQ(Ask(session, wait, true).status, ring::ReplyStatus::kJobEnding);
  killer.join();
  EXPECT_FALSE(session.agent_alive());
  ring::LaunchRecord launch{};
  launch.header.kind = ring::RecordKind::kLaunch;
  for (int i = 0; i < 1'000'000; ++i) Append(session, launch);
  EXPECT_EQ(Ask(session, wait, true).status, ring::ReplyStatus::kJobEnding);
}

}  // namespace
}  // namespace eidolon::shim::core
