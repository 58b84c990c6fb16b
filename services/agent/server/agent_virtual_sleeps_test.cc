// Whoever waits for a moment without promising anything, at a whole agent.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "services/agent/server/agent.h"
#include "services/agent/server/agent_fixture.h"
#include "services/contract/ring/virtual_sleep.h"

namespace eidolon::agent::server {
namespace {

namespace wire = ::eidolon::ring;
using wire::RecordKind;

constexpr std::uint64_t kSecondPs = 1'000'000'000'000;
constexpr int kLongMs = 60'000;  // What must come comes much sooner on an idle machine.
constexpr int kShortMs = 300;

class AgentVirtualSleepsTest : public AgentFixture {
 protected:
  AgentVirtualSleepsTest() {
    // Nothing of it runs for seconds: the job may be quiescent.
    assignment_.set_command(2, "echo started; while [ ! -e done ]; do sleep 2; done");
  }
  // A connection that virtual sleeps.
  class Sleeper {
   public:
    Sleeper(const std::string& run_directory, std::uint64_t moment_ps, std::uint64_t length_ps,
            std::uint64_t patience_ns = 0, pid_t pid = getpid())
        : socket_(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)) {
      sockaddr_un address{};
      address.sun_family = AF_UNIX;
      (run_directory + "/agent.sock").copy(address.sun_path, sizeof(address.sun_path) - 1);
      EXPECT_EQ(connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
      const wire::VirtualSleep virtual_sleep{.magic = wire::kVirtualSleepMagic,
                                             .version = wire::kVersion,
                                             .pid = pid,
                                             .moment_ps = moment_ps,
                                             .length_ps = length_ps,
                                             .patience_ns = patience_ns};
      EXPECT_EQ(send(socket_, &virtual_sleep, sizeof(virtual_sleep), 0),
                static_cast<ssize_t>(sizeof(virtual_sleep)));
    }
    ~Sleeper() { close(socket_); }
    Sleeper(const Sleeper&) = delete;
    Sleeper& operator=(const Sleeper&) = delete;

    bool IsAnswered(int within_ms) const {
      pollfd one{.fd = socket_, .events = POLLIN, .revents = 0};
      return poll(&one, 1, within_ms) == 1;
    }
    bool Passed() const {
      wire::VirtualSleepEnd end{};
      EXPECT_EQ(recv(socket_, &end, sizeof(end), 0), static_cast<ssize_t>(sizeof(end)));
      return end.passed != 0;
    }

   private:
    int socket_;
  };
};

TEST_F(AgentVirtualSleepsTest, WhereNoRankHasBegunNoVirtualTimeRuns) {
  StartAndWaitForCommand();

  const Sleeper sleeper(directory_, 0, 100 * kSecondPs);

  ASSERT_TRUE(sleeper.IsAnswered(kLongMs));
  EXPECT_FALSE(sleeper.Passed());
}

// A torchrun does this that waits for servers which never come.
TEST_F(AgentVirtualSleepsTest, WhoPollsOutsideOfVirtualTimeMovesNothing) {
  constexpr std::uint64_t kStillMs = 2'500;
  StartAndWaitForCommand();
  const auto still_ms = [this] {
    std::uint64_t longest = 0;
    for (const auto& report : controller_->reports()) {
      if (report.has_progress()) {
        longest = std::max(longest, report.progress().still_milliseconds());
      }
    }
    return longest;
  };

  const std::int64_t until_ns = clock_.MonotonicNs() + std::int64_t{kLongMs} * 1'000'000;
  while (still_ms() < kStillMs && clock_.MonotonicNs() < until_ns) {
    const Sleeper poller(directory_, 0, kSecondPs);
    ASSERT_TRUE(poller.IsAnswered(kLongMs));
    EXPECT_FALSE(poller.Passed());
    poll(nullptr, 0, kShortMs);
  }

  EXPECT_GE(still_ms(), kStillMs);
}

TEST_F(AgentVirtualSleepsTest, AVirtualSleepPassesWhenARanksClockHas) {
  StartAndWaitForCommand();
  FakeRank rank(directory_, {.rank = 0});
  Prepare(rank);
  rank.Join(400, "alone", 1, 0);
  const Sleeper sleeper(directory_, 0, 100 * kSecondPs);
  EXPECT_FALSE(sleeper.IsAnswered(kShortMs));

  rank.Work(101 * kSecondPs);

  ASSERT_TRUE(sleeper.IsAnswered(kLongMs));
  EXPECT_TRUE(sleeper.Passed());
}

TEST_F(AgentVirtualSleepsTest, WhenAllOfTheJobWaitsTheEarliestVirtualSleepIsTheNextThingToHappen) {
  network_.ReleaseWhenQuiescent();
  StartAndWaitForCommand();
  FakeRank rank(directory_, {.rank = 0});
  Prepare(rank);
  rank.Join(400, "alone", 1, 0);
  rank.Work(5 * kSecondPs);
  constexpr std::uint64_t kPatienceNs = 3'000'000'000;
  const Sleeper later(directory_, 300 * kSecondPs, 0, kPatienceNs);
  { const Sleeper woken_by_something_else(directory_, 20 * kSecondPs, 0, kPatienceNs); }
  const Sleeper child(directory_, 0, 100 * kSecondPs);

  ASSERT_TRUE(child.IsAnswered(kLongMs));
  EXPECT_TRUE(child.Passed());
  const std::uint64_t begin = rank.clock();
  const auto& floor = wire::CursorsOf(rank.segment())->floor_ps.value;
  EXPECT_EQ(floor.load(), begin + 100 * kSecondPs) << "the rank goes on at the child's end";
  const Sleeper second(directory_, 0, 100 * kSecondPs);
  ASSERT_TRUE(second.IsAnswered(kLongMs));
  EXPECT_EQ(floor.load(), begin + 200 * kSecondPs) << "one sleep after the other";
  ASSERT_TRUE(later.IsAnswered(kLongMs));
  EXPECT_EQ(floor.load(), 300 * kSecondPs);
}

// The parent of this test is not a rank, and no rank has started it.
TEST_F(AgentVirtualSleepsTest, AProcessThatGoesByRanksSleepsUntilNothingHappensBeforeItsMoment) {
  network_.ReleaseWhenQuiescent();
  StartAndWaitForCommand();
  FakeRank rank(directory_, {.rank = 0});
  Prepare(rank);
  rank.Join(400, "alone", 1, 0);
  rank.Work(5 * kSecondPs);

  const Sleeper client(directory_, 100 * kSecondPs, 0, 0, getppid());
  const Sleeper launcher(directory_, 0, kSecondPs, 0, getppid());

  ASSERT_TRUE(client.IsAnswered(kLongMs));
  EXPECT_TRUE(client.Passed());
  ASSERT_TRUE(launcher.IsAnswered(kLongMs));
  EXPECT_FALSE(launcher.Passed());
}

}  // namespace
}  // namespace eidolon::agent::server
