// Tests which processes an agent takes for which rank, and what it reports of the others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>
#include <string>
#include <thread>

#include "services/agent/server/agent_fixture.h"

namespace eidolon::agent::server {
namespace {

namespace wire = ::eidolon::ring;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;
using wire::RecordKind;

class AgentRanksTest : public AgentFixture {
 protected:
  AgentRanksTest() { assignment_.set_ranks_per_server(2); }

  static void Allocate(FakeRank& rank, std::uint64_t bytes) {
    const wire::MemoryRecord booked{
        {}, wire::MemoryCategory::kAllocation, 0, static_cast<std::int64_t>(bytes), bytes};
    rank.writer().Append(RecordKind::kMemory, booked);
  }
  // A child that computes something and ends.
  void Help(int named) {
    FakeRank helper(directory_, {.rank = named});
    Prepare(helper);
    helper.writer().Launch(0, 100);
    Allocate(helper, 77);
    helper.Ask(RecordKind::kSynchronizeStream, 0);
  }
  // Two ranks train that name themselves so, the second one first; others are there too.
  void TrainTwo(int named) {
    StartAndWaitForCommand();
    {
      FakeRank launcher(directory_, {.rank = named});
      launcher.writer().Append(RecordKind::kMemory,
                               wire::MemoryRecord{{}, wire::MemoryCategory::kContext, 0, 500, 500});
      FakeRank second(directory_, {.rank = named});
      FakeRank first(directory_, {.rank = named});
      Help(named);
      Allocate(first, 1000);
      Allocate(second, 1001);
      std::thread other([&] { Train(second, 2, 1, 4); });
      Train(first, 2, 0, 4);
      other.join();
    }
    EndCommand(0);
    EXPECT_EQ(WaitForOutcome().reason(), controller::v1::OUTCOME_REASON_COMPLETED);
  }
  std::map<int, int> IterationsByRank() {
    std::map<int, int> count;
    for (const auto& iteration : controller_->iterations()) ++count[iteration.rank()];
    return count;
  }
  controller::v1::Usage LastUsage() {
    controller::v1::Usage usage;
    for (const auto& report : controller_->reports()) {
      if (report.has_usage()) usage = report.usage();
    }
    return usage;
  }
  void ExpectTwoRanks() {
    EXPECT_THAT(IterationsByRank(), ElementsAre(Pair(0, 4), Pair(1, 4)));
    const auto usage = LastUsage();
    ASSERT_EQ(usage.memory_size(), 2);
    for (const auto& memory : usage.memory()) {
      EXPECT_EQ(memory.peak_bytes(), 1000u + static_cast<unsigned>(memory.rank()));
    }
    EXPECT_EQ(usage.clamped_records(), 0u);
    EXPECT_THAT(EventLog(), HasSubstr("rank 0 device 0 stream 0 op 0 "));
    EXPECT_THAT(EventLog(), HasSubstr("rank 1 device 0 stream 0 op 0 "));
  }
};

TEST_F(AgentRanksTest, RanksWithoutAnEnvironmentAreThoseOfTheirCommunicator) {
  TrainTwo(-1);

  ExpectTwoRanks();
}

TEST_F(AgentRanksTest, RanksThatInheritTheLaunchersRankAreThoseOfTheirCommunicator) {
  TrainTwo(0);

  ExpectTwoRanks();
}

TEST_F(AgentRanksTest, ProgressIsThatOfTheRanks) {
  TrainTwo(-1);

  controller::v1::Progress last;
  for (const auto& report : controller_->reports()) {
    if (report.has_progress()) last = report.progress();
  }
  EXPECT_EQ(last.iterations(), 4u);
}

TEST_F(AgentRanksTest, WorkersThatNeverMeetAreToldByTheirGpus) {
  StartAndWaitForCommand();
  for (const std::uint16_t device : {1, 0}) {
    FakeRank worker(directory_, {.rank = -1});
    Prepare(worker);
    for (int step = 0; step < 4; ++step) {
      for (int i = 0; i < 40; ++i) {
        wire::LaunchRecord launch{{}, 0, 100};
        launch.header.device = device;
        worker.writer().Append(RecordKind::kLaunch, launch);
      }
      wire::LaunchRecord update{{}, 0, 101};
      update.header.device = device;
      worker.writer().Append(RecordKind::kLaunch, update);
    }
    Allocate(worker, 1000u + device);
    worker.Ask(RecordKind::kSynchronizeDevice, 0);
  }
  EndCommand(0);
  WaitForOutcome();

  EXPECT_THAT(IterationsByRank(), ElementsAre(Pair(0, 4), Pair(1, 4)));
  const auto usage = LastUsage();
  ASSERT_EQ(usage.memory_size(), 2);
  EXPECT_EQ(usage.memory(0).rank(), 1);
  EXPECT_EQ(usage.memory(0).peak_bytes(), 1001u);
}

TEST_F(AgentRanksTest, ASpawnedRankThatIsKilledIsNamed) {
  assignment_.set_ranks_per_server(1);
  assignment_.set_servers(2);
  assignment_.set_server(1);
  StartAndWaitForCommand();
  const pid_t child = fork();
  if (child == 0) {
    FakeRank rank(directory_, {.rank = -1, .world_size = 1, .pid = getpid()});
    // The program numbers its ranks in another order than the servers.
    wire::CommunicatorInit init{};
    init.communicator = 400;
    init.size = 2;
    init.rank = 0;
    rank.writer().Append(RecordKind::kCommunicatorInit, init);
    kill(getpid(), SIGKILL);
  }

  const auto outcome = WaitForOutcome();

  EXPECT_EQ(outcome.reason(), controller::v1::OUTCOME_REASON_RANK_LOST);
  EXPECT_THAT(outcome.message(), HasSubstr("rank 0 (pid "));
}

TEST_F(AgentRanksTest, AProgramOnOneOfTheServersGpusIsItsFirstRank) {
  StartAndWaitForCommand();
  {
    FakeRank lone(directory_, {.rank = -1});
    Train(lone, 1, 0, 4);
  }
  EndCommand(0);
  WaitForOutcome();

  EXPECT_THAT(IterationsByRank(), ElementsAre(Pair(0, 4)));
  EXPECT_THAT(EventLog(), Not(HasSubstr("rank 1")));
}

TEST_F(AgentRanksTest, InTheFixedModelAClockBeginsWithTheJobOrWithItsParentsClock) {
  assignment_.set_ranks_per_server(1);
  StartAndWaitForCommand();
  const pid_t helper = fork();
  if (helper == 0) {
    while (true) pause();
  }
  {
    FakeRank rank(directory_, {.rank = 0});
    Train(rank, 1, 0, 4);
    ASSERT_GT(rank.clock(), 0u);

    // The clock of the job has gone on meanwhile.
    FakeRank child(directory_, {.rank = -1, .pid = helper});
    FakeRank late(directory_, {.rank = -1, .pid = getppid()});

    EXPECT_EQ(wire::HeaderOf(child.segment())->start_clock_ps, rank.clock());
    EXPECT_EQ(wire::HeaderOf(late.segment())->start_clock_ps, 0u);
  }
  kill(helper, SIGKILL);
  waitpid(helper, nullptr, 0);
  EndCommand(0);
  WaitForOutcome();
}

TEST_F(AgentRanksTest, ARankThatGoesOnWithoutItsConnectionIsLost) {
  assignment_.set_ranks_per_server(1);
  StartAndWaitForCommand();
  FakeRank rank(directory_, {.rank = 0});
  Train(rank, 1, 0, 4);
  rank.Vanish();  // Its process lives on.
  EndCommand(0);

  const auto outcome = WaitForOutcome();

  EXPECT_EQ(outcome.reason(), controller::v1::OUTCOME_REASON_SESSION_LOST);
  EXPECT_THAT(outcome.message(), HasSubstr("rank 0 (pid "));
  EXPECT_THAT(outcome.message(), HasSubstr("went on without it"));
}

TEST_F(AgentRanksTest, ARankThatReplacesItselfIsLostUnlessItGoesOnAsTheOtherProgram) {
  assignment_.set_ranks_per_server(1);
  StartAndWaitForCommand();
  {
    FakeRank rank(directory_, {.rank = 0});
    Prepare(rank);
    rank.writer().Launch(0, 100);
    rank.Ask(RecordKind::kSynchronizeStream, 0);
    rank.SayFarewell(wire::Farewell::kReplaced);
    rank.Vanish();
    FakeRank successor(directory_, {.rank = 0});
    Train(successor, 1, 0, 4);
  }
  EndCommand(0);

  EXPECT_EQ(WaitForOutcome().reason(), controller::v1::OUTCOME_REASON_COMPLETED);
}

}  // namespace
}  // namespace eidolon::agent::server
