#include "services/agent/server/processes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "services/agent/server/deaths.h"
#include "services/agent/session/fake_host.h"
#include "services/testing/fake_clock.h"

namespace eidolon::agent::server {
namespace {

using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

// The second server of a job with two ranks each.
class ProcessesTest : public ::testing::Test {
 protected:
  ProcessesTest() {
    job_.assignment.set_server(1);
    job_.assignment.set_servers(2);
    job_.assignment.set_ranks_per_server(2);
    job_.content.devices = {{}, {}};
    job_.traits.resize(2);
    processes_.emplace(&job_, &host_);
    deaths_.emplace(&*processes_, &verdict_, &clock_);
  }
  ~ProcessesTest() override {
    for (const int descriptor : descriptors_) close(descriptor);
  }
  // A process introduces itself; returns its connection.
  int Come(std::int32_t rank, std::int32_t pid) {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
    descriptors_.insert(descriptors_.end(), {ends[0], ends[1]});
    ::eidolon::ring::Hello hello{};
    hello.rank = rank;
    hello.local_rank = -1;
    hello.pid = pid;
    EXPECT_TRUE(processes_->Admit(ends[0], hello, ends[1]).has_value());
    return ends[0];
  }
  // A child that has ended with the status and was not collected.
  static pid_t EndedChild(int status) {
    const pid_t child = fork();
    if (child == 0) _exit(status);
    siginfo_t info{};
    EXPECT_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
    return child;
  }

  JobParts job_;
  session::FakeHost host_;
  ::eidolon::testing::FakeClock clock_;
  outcome::Verdict verdict_;
  std::optional<Processes> processes_;
  std::optional<Deaths> deaths_;
  std::vector<int> descriptors_;
};

TEST_F(ProcessesTest, WhoIsAdmittedHasASessionAndAConnection) {
  const int first = Come(2, getpid());
  const int second = Come(-1, getpid());

  EXPECT_THAT(processes_->connections(),
              UnorderedElementsAre(std::pair(first, 1u), std::pair(second, 2u)));
  EXPECT_TRUE(processes_->at(1).options().is_primary);
  EXPECT_FALSE(processes_->at(2).options().is_primary);
  EXPECT_EQ(processes_->ranks().RankOf(1), 2);
  EXPECT_TRUE(processes_->IsReporting(processes_->at(1)));
  EXPECT_FALSE(processes_->IsReporting(processes_->at(2)));
}

TEST_F(ProcessesTest, ALocalRankWithoutAGpuIsRefused) {
  ::eidolon::ring::Hello hello{};
  hello.local_rank = 2;

  EXPECT_THAT(processes_->Admit(-1, hello, -1).error().message,
              HasSubstr("LOCAL_RANK 2: this server has 2 GPUs"));
  EXPECT_TRUE(processes_->all().empty());
}

TEST_F(ProcessesTest, ASessionStaysWhenItsConnectionIsGone) {
  const int connection = Come(2, getpid());

  EXPECT_EQ(processes_->Disconnect(connection), 1u);
  EXPECT_FALSE(processes_->Disconnect(connection).has_value());
  EXPECT_EQ(processes_->all().size(), 1u);
}

TEST_F(ProcessesTest, RanksAreMissingUntilTheyComeOrTheWorldHasMet) {
  EXPECT_EQ(processes_->CountMissing(false), 2);
  Come(2, getpid());
  EXPECT_EQ(processes_->CountMissing(false), 1);
  EXPECT_EQ(processes_->CountMissing(true), 0);
  Come(3, getpid());
  EXPECT_EQ(processes_->CountMissing(false), 0);
}

TEST_F(ProcessesTest, WhoSleepsBeforeItsRankHasBegunSleepsInRealTime) {
  Come(2, getpid());

  EXPECT_FALSE(processes_->MayVirtualSleep({.pid = getpid(), .length_ps = 1}));
  EXPECT_FALSE(processes_->MayVirtualSleep({.pid = getpid(), .moment_ps = 1}));
}

TEST_F(ProcessesTest, ARankThatDiedIsAFindingWithItsStatus) {
  const pid_t child = EndedChild(3);
  processes_->Disconnect(Come(2, child));
  const std::int64_t now = clock_.MonotonicNs();
  deaths_->Add(1);

  deaths_->Watch();

  EXPECT_TRUE(verdict_.has_rank_death());
  EXPECT_EQ(deaths_->first_ns(), now);
  waitpid(child, nullptr, 0);
}

TEST_F(ProcessesTest, ARankIsDeadAlsoWhereItsParentCollectsItBeforeAnybodyLooks) {
  const pid_t child = EndedChild(3);
  const int connection = Come(2, child);
  deaths_->Observe(1);
  waitpid(child, nullptr, 0);
  processes_->Disconnect(connection);
  deaths_->Add(1);

  deaths_->Watch();

  // Kernels before 6.15 forget how it ended; then the command's own end decides.
  const auto ending = verdict_.Judge(launch::ExitStatus{.code = 1});
  EXPECT_EQ(ending.reason, outcome::Reason::kCommandFailed);
}

TEST_F(ProcessesTest, ARankThatEndedWellIsNone) {
  const pid_t child = EndedChild(0);
  processes_->Disconnect(Come(2, child));
  deaths_->Add(1);

  deaths_->Watch();

  EXPECT_FALSE(verdict_.has_rank_death());
  waitpid(child, nullptr, 0);
}

TEST_F(ProcessesTest, TheLastWordIsOpenWhileSomebodyHasNotSaidIt) {
  processes_->Disconnect(Come(2, getpid()));
  const std::int64_t ended = clock_.MonotonicNs();
  EXPECT_FALSE(deaths_->IsLastWordOpen(ended));

  deaths_->Add(1);

  EXPECT_TRUE(deaths_->IsLastWordOpen(ended));
  clock_.AdvanceNs(5'000'000'001);
  EXPECT_FALSE(deaths_->IsLastWordOpen(ended));
}

}  // namespace
}  // namespace eidolon::agent::server
