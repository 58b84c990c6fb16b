#include "services/controller/place/local_placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <filesystem>
#include <fstream>

#include "services/controller/place/free_port.h"
#include "services/controller/place/token.h"
#include "services/testing/temporary_directory.h"

namespace eidolon::controller::place {
namespace {

// Collects ends of agents.
class Ends {
 public:
  void Add(std::uint32_t server, const std::string& how) {
    const std::lock_guard lock(mutex_);
    ends_[server] = how;
    changed_.notify_all();
  }
  std::map<std::uint32_t, std::string> Await(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return ends_.size() >= count; });
    return ends_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::uint32_t, std::string> ends_;
};

class LocalPlacementTest : public ::testing::Test {
 protected:
  std::string Agent(const std::string& body) {
    const std::string path = root_ / "agent";
    std::ofstream(path) << "#!/bin/sh\n" << body << "\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
  }

  PlacementRequest Request() {
    PlacementRequest request{.job_uid = 1,
                             .controller_address = "127.0.0.1:1",
                             .agents = {},
                             .on_exit = [this](auto server, auto& how) { ends_.Add(server, how); }};
    for (std::uint32_t server : {0u, 1u}) {
      const std::string folder = root_ / ("s" + std::to_string(server));
      std::filesystem::create_directories(folder);
      request.agents.push_back({server, "token" + std::to_string(server), folder});
    }
    return request;
  }

  testing::TemporaryDirectory root_;
  Ends ends_;
};

TEST_F(LocalPlacementTest, StartsAnAgentPerServerWithItsToken) {
  LocalPlacement placement(Agent("echo $EIDOLON_AGENT_TOKEN $EIDOLON_CONTROLLER_ADDRESS >token"));

  ASSERT_TRUE(placement.Start(Request()));

  const auto ends = ends_.Await(2);
  EXPECT_EQ(ends.at(0), "ended with status 0");
  std::string token;
  std::ifstream(root_ / "s1/token") >> token;
  EXPECT_EQ(token, "token1");
}

TEST_F(LocalPlacementTest, EndsTheAgentsOfAJob) {
  LocalPlacement placement(Agent("while :; do sleep 60; done"));
  ASSERT_TRUE(placement.Start(Request()));

  placement.Terminate(1);
  placement.Terminate(99);

  EXPECT_EQ(ends_.Await(2).at(1), "was killed by signal 15 (Terminated)");
}

TEST_F(LocalPlacementTest, KillsAgentsThatDoNotListen) {
  LocalPlacement placement(Agent("trap '' TERM; while :; do sleep 60; done"));
  ASSERT_TRUE(placement.Start(Request()));

  placement.Kill(1);

  EXPECT_EQ(ends_.Await(2).at(0), "was killed by signal 9 (Killed)");
}

TEST_F(LocalPlacementTest, NamesAGuardianThatIsStoppedAndKillsIt) {
  LocalPlacement placement(Agent("test $EIDOLON_AGENT_TOKEN = token1 && kill -STOP $$; sleep 60"));
  ASSERT_TRUE(placement.Start(Request()));
  std::string stopped;

  while (stopped.empty()) stopped = placement.DescribeStopped(1, 1);

  EXPECT_THAT(stopped, ::testing::MatchesRegex("\\(pid [0-9]+, agent\\) is stopped "
                                               "\\(state T\\)"));
  EXPECT_EQ(placement.DescribeStopped(1, 0), "");
  EXPECT_EQ(placement.DescribeStopped(2, 0), "");
  placement.Kill(1);
  EXPECT_EQ(ends_.Await(2).at(1), "was killed by signal 9 (Killed)");
}

TEST_F(LocalPlacementTest, SaysWhichProgramIsMissing) {
  LocalPlacement placement(root_ / "missing");

  const auto started = placement.Start(Request());

  ASSERT_FALSE(started);
  EXPECT_THAT(started.error().message, ::testing::HasSubstr("missing"));
}

TEST(TokenTest, IsLongAndNeverTheSame) {
  EXPECT_EQ(MakeToken(16).size(), 32u);
  EXPECT_NE(MakeToken(16), MakeToken(16));
}

TEST(FreePortTest, FindsAPort) { EXPECT_GT(*FindFreePort(), 0); }

}  // namespace
}  // namespace eidolon::controller::place
