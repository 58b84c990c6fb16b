// A whole agent against fake services and fake ranks.
#include "services/agent/agent.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/registry.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "services/agent/fake_rank.h"
#include "services/agent/fake_services.h"
#include "services/base/clock.h"

namespace eidolon::agent {
namespace {

namespace fs = std::filesystem;
namespace wire = ::eidolon::ring;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using wire::RecordKind;
using wire::ReplyStatus;

constexpr std::uint64_t kMicrosecond = 1'000'000;

// One agent with its services and a run directory. The command waits for a file named "done", whose
// content is its exit status.
class AgentTest : public ::testing::Test {
 protected:
  AgentTest() {
    char path[] = "/tmp/eidolon-agent-XXXXXX";
    directory_ = mkdtemp(path);
    // Any real libraries will do for the command of a test.
    const std::string some_library = "/lib/x86_64-linux-gnu/libm.so.6";
    fs::create_directories(directory_ + "/lib/eidolon/triton");
    fs::create_symlink(some_library, directory_ + "/lib/libeidolon_shim.so");
    fs::create_symlink(some_library, directory_ + "/lib/eidolon/nccl.so");
    fs::create_symlink(some_library, directory_ + "/lib/eidolon/triton/libcuda.so.1");
    assignment_.set_job("job-1");
    assignment_.set_servers(1);
    assignment_.set_ranks_per_server(1);
    for (const char* word : {"sh", "-c",
                             "echo started; while [ ! -e done ]; do sleep 0.01; done; "
                             "cat complaint >&2 2>/dev/null; exit $(cat done)"}) {
      assignment_.add_command(word);
    }
    assignment_.set_working_directory(directory_);
    assignment_.set_run_directory(directory_);
    assignment_.mutable_cluster()->set_gpus_per_server(2);
    assignment_.mutable_cluster()->set_gpu("H100-SXM5-80GB");
    assignment_.mutable_host_model()->set_fixed(true);
    assignment_.set_write_event_log(true);
  }
  ~AgentTest() override {
    if (runner_.joinable()) {
      EndCommand(0);
      runner_.join();
    }
    fs::remove_all(directory_);
  }

  void Start() {
    timing_server_.emplace(*runtime::GrpcServer::Start({}, {&timing_}));
    network_server_.emplace(*runtime::GrpcServer::Start({}, {&network_}));
    assignment_.set_timing_address(timing_server_->address());
    assignment_.set_network_address(network_server_->address());
    controller_ = std::make_unique<FakeController>(assignment_);
    controller_server_.emplace(*runtime::GrpcServer::Start({}, {controller_.get()}));
    agent_ =
        std::make_unique<Agent>(Agent::Options{.controller_address = controller_server_->address(),
                                               .token = "secret",
                                               .library_folder = directory_ + "/lib",
                                               .timing_patience = std::chrono::seconds(1)},
                                &metrics_, &clock_);
    runner_ = std::thread([this] { status_ = agent_->Run(); });
  }
  void StartAndWaitForCommand() {
    Start();
    controller_->WaitFor([](const auto& reports) {
      return std::any_of(reports.begin(), reports.end(), [](const auto& report) {
        return report.has_log() && report.log().text() == "started";
      });
    });
  }
  void EndCommand(int status) {
    std::ofstream(directory_ + "/done.new") << status;
    fs::rename(directory_ + "/done.new", directory_ + "/done");
  }
  controller::v1::Outcome WaitForOutcome() {
    runner_.join();
    return controller_->outcome();
  }
  std::string EventLog() const {
    std::ifstream file(directory_ + "/events.log");
    std::stringstream content;
    content << file.rdbuf();
    return content.str();
  }
  // A training step: forward and backward, an all-reduce on its own stream, Adam, loss.item().
  static void Step(FakeRank& rank, std::uint64_t sequence) {
    for (int i = 0; i < 40; ++i) {
      rank.Work(5 * kMicrosecond);
      rank.writer().Launch(0, 100);
    }
    rank.writer().Append(RecordKind::kEventRecord, wire::EventRecord{{}, 0, 300});
    rank.writer().Append(RecordKind::kStreamWaitEvent, wire::EventRecord{{}, 200, 300});
    rank.AllReduce(200, 400, sequence);
    rank.writer().Append(RecordKind::kEventRecord, wire::EventRecord{{}, 200, 301});
    rank.writer().Append(RecordKind::kStreamWaitEvent, wire::EventRecord{{}, 0, 301});
    rank.Work(5 * kMicrosecond);
    rank.writer().Launch(0, 101);
    rank.Ask(RecordKind::kSynchronizeStream, 0);
  }
  static void Prepare(FakeRank& rank) {
    rank.writer().DefineKernel(100, "vectorized_elementwise_kernel");
    rank.writer().DefineKernel(101, "FusedAdamMathFunctor");
    rank.writer().Append(RecordKind::kStreamCreate, wire::StreamRecord{{}, 200, 1, 0, 0});
    rank.writer().Append(RecordKind::kEventCreate, wire::EventRecord{{}, 0, 300});
    rank.writer().Append(RecordKind::kEventCreate, wire::EventRecord{{}, 0, 301});
  }
  static void Train(FakeRank& rank, int ranks, int index, int steps) {
    Prepare(rank);
    rank.Join(400, "world", ranks, index);
    for (int step = 0; step < steps; ++step) Step(rank, static_cast<std::uint64_t>(step));
  }

  std::string directory_;
  controller::v1::Assignment assignment_;
  FakeTiming timing_;
  FakeNetwork network_{1};
  std::unique_ptr<FakeController> controller_;
  std::optional<runtime::GrpcServer> timing_server_, network_server_, controller_server_;
  prometheus::Registry registry_;
  Metrics metrics_{registry_};
  base::SystemClock clock_;
  std::unique_ptr<Agent> agent_;
  std::thread runner_;
  int status_ = -1;
};

TEST_F(AgentTest, RunsACommandAndTellsItsLines) {
  StartAndWaitForCommand();
  EndCommand(0);

  const auto outcome = WaitForOutcome();

  EXPECT_EQ(outcome.reason(), controller::v1::OUTCOME_REASON_COMPLETED);
  EXPECT_EQ(outcome.exit_status(), 0);
  EXPECT_EQ(status_, 0);
  EXPECT_THAT(controller_->lines(), Contains("started"));
}

TEST_F(AgentTest, AFailingCommandShowsItsLastLines) {
  StartAndWaitForCommand();
  std::ofstream(directory_ + "/complaint") << "Traceback\nValueError: bad batch\n";
  EndCommand(3);

  const auto outcome = WaitForOutcome();

  EXPECT_EQ(outcome.reason(), controller::v1::OUTCOME_REASON_COMMAND_FAILED);
  EXPECT_EQ(outcome.exit_status(), 3);
  EXPECT_THAT(outcome.message(), HasSubstr("ValueError: bad batch"));
}

TEST_F(AgentTest, ACommandThatCannotStartIsNamed) {
  assignment_.clear_command();
  assignment_.add_command("no-such-program-of-anyone");
  Start();

  const auto outcome = WaitForOutcome();

  EXPECT_EQ(outcome.reason(), controller::v1::OUTCOME_REASON_COMMAND_FAILED);
  EXPECT_THAT(outcome.message(), HasSubstr("no-such-program-of-anyone"));
  EXPECT_EQ(outcome.exit_status(), -1);
}

TEST_F(AgentTest, AnUnknownGpuIsNamed) {
  assignment_.mutable_cluster()->set_gpu("H999");
  Start();

  EXPECT_THAT(WaitForOutcome().message(), HasSubstr("GPU 'H999' is unknown"));
}

TEST_F(AgentTest, PredictsTheIterationsOfTwoRanks) {
  assignment_.set_ranks_per_server(2);
  StartAndWaitForCommand();
  std::thread second([&] {
    FakeRank rank(directory_, {.rank = 1, .world_size = 2});
    Train(rank, 2, 1, 4);
  });
  {
    FakeRank rank(directory_, {.rank = 0, .world_size = 2});
    Train(rank, 2, 0, 4);
    second.join();
  }
  EndCommand(0);

  EXPECT_EQ(WaitForOutcome().reason(), controller::v1::OUTCOME_REASON_COMPLETED);
  const auto iterations = controller_->iterations();
  ASSERT_EQ(iterations.size(), 8u);
  for (const auto& iteration : iterations) {
    if (iteration.index() == 0) continue;
    const auto length = iteration.end_picoseconds() - iteration.start_picoseconds();
    const auto& parts = iteration.breakdown();
    EXPECT_EQ(parts.compute_picoseconds() + parts.exposed_communication_picoseconds() +
                  parts.idle_picoseconds() + parts.host_picoseconds(),
              length);
    // 40 kernels of 10 us with gaps of 1 us, an all-reduce of 100 us, the optimizer, and the host.
    EXPECT_EQ(parts.compute_picoseconds(), 410 * kMicrosecond);
    EXPECT_EQ(parts.exposed_communication_picoseconds(), 100 * kMicrosecond);
    EXPECT_GT(iteration.error_picoseconds(), 0u);
    EXPECT_EQ(iteration.coverage().assumed_picoseconds(), 0u);
  }
}

TEST_F(AgentTest, TheEventLogDoesNotDependOnRealTime) {
  std::string logs[2];
  for (int run = 0; run < 2; ++run) {
    if (run == 1) fs::remove(directory_ + "/done");
    assignment_.set_ranks_per_server(2);
    StartAndWaitForCommand();
    std::thread second([&] {
      if (run == 1)
        std::this_thread::sleep_for(
            std::chrono::milliseconds(50));  // A delay injected into one rank.
      FakeRank rank(directory_, {.rank = 1, .world_size = 2});
      Train(rank, 2, 1, 3);
    });
    {
      FakeRank rank(directory_, {.rank = 0, .world_size = 2});
      Train(rank, 2, 0, 3);
      second.join();
    }
    EndCommand(0);
    WaitForOutcome();
    logs[run] = EventLog();
    network_server_.reset();
    network_.~FakeNetwork();
    new (&network_) FakeNetwork(1);
  }
  EXPECT_FALSE(logs[0].empty());
  EXPECT_EQ(logs[0], logs[1]);
}

TEST_F(AgentTest, AJoinThatEndsLateMovesNobodyElse) {
  // Two ranks with a communicator each; one joins 50 ms later than the other, in virtual time.
  for (const bool late_joins_first : {true, false}) {
    fs::remove(directory_ + "/done");
    assignment_.set_ranks_per_server(2);
    StartAndWaitForCommand();
    std::uint64_t end = 0;
    {
      FakeRank early(directory_, {.rank = 0, .world_size = 2});
      FakeRank late(directory_, {.rank = 1, .world_size = 2});
      late.Work(50'000 * kMicrosecond);
      const auto join_late = [&] {
        late.Join(401, "late", 1, 0);
        late.Work(1'000 * kMicrosecond);
      };

      if (late_joins_first) join_late();
      early.Join(400, "early", 1, 0);
      if (!late_joins_first) join_late();
      early.AllReduce(0, 400, 0);
      end = early.Ask(RecordKind::kSynchronizeStream, 0).value_ps;
    }
    EndCommand(0);
    WaitForOutcome();

    EXPECT_EQ(end, 1'103 * kMicrosecond) << "the join, the launch, and the all-reduce";
    std::uint64_t clamped = 0;
    for (const auto& report : controller_->reports()) {
      if (report.has_usage()) clamped = report.usage().clamped_records();
    }
    EXPECT_EQ(clamped, 0u);
    network_server_.reset();
    network_.~FakeNetwork();
    new (&network_) FakeNetwork(1);
  }
}

TEST_F(AgentTest, AnswersQueriesAndElapsedTimes) {
  StartAndWaitForCommand();
  FakeRank rank(directory_, {.rank = 0});
  Prepare(rank);
  rank.Join(400, "alone", 1, 0);
  rank.writer().Append(RecordKind::kEventRecord, wire::EventRecord{{}, 0, 300});
  rank.AllReduce(0, 400, 0);
  rank.writer().Append(RecordKind::kEventRecord, wire::EventRecord{{}, 0, 301});

  EXPECT_EQ(rank.Ask(RecordKind::kQueryEvent, 301).status, ReplyStatus::kNotReady);
  rank.Work(10'000 * kMicrosecond);
  EXPECT_EQ(rank.Ask(RecordKind::kQueryEvent, 301).status, ReplyStatus::kOk);
  const auto elapsed = rank.Ask(RecordKind::kElapsedTime, 300, 301);
  EXPECT_EQ(elapsed.value_ps, 101 * kMicrosecond) << "the all-reduce and the gap before it";
  EXPECT_EQ(rank.Ask(RecordKind::kWaitUntil, 1).status, ReplyStatus::kOk);
}

TEST_F(AgentTest, SmallCollectivesMoveBytes) {
  assignment_.set_ranks_per_server(2);
  StartAndWaitForCommand();
  std::string results[2];
  const auto run = [&](int index, const std::string& payload) {
    FakeRank rank(directory_, {.rank = index, .world_size = 2});
    rank.Join(400, "world", 2, index);
    rank.AllReduce(0, 400, 0, payload);
    results[index] = rank.Ask(RecordKind::kCollectiveValues, 400, 0).payload;
  };
  std::thread second([&] { run(1, "wxyz"); });
  run(0, "abcd");
  second.join();

  EXPECT_EQ(results[0], "abcdwxyz");
  EXPECT_EQ(results[1], "abcdwxyz");
}

TEST_F(AgentTest, ADamagedRingEndsTheJobWithWhatWasWrong) {
  StartAndWaitForCommand();
  FakeRank rank(directory_, {.rank = 0});
  wire::LaunchRecord bad{{24, static_cast<RecordKind>(777), 0, 0}, 0, 1};
  rank.writer().AppendRaw(std::as_bytes(std::span(&bad, 1)));

  const auto outcome = WaitForOutcome();

  EXPECT_EQ(outcome.reason(), controller::v1::OUTCOME_REASON_RING_DAMAGED);
  EXPECT_THAT(outcome.message(), HasSubstr("record kind 777 is unknown"));
}

TEST_F(AgentTest, ARecordThatNamesSomethingUnknownIsDamage) {
  StartAndWaitForCommand();
  FakeRank rank(directory_, {.rank = 0});
  rank.writer().Launch(0, 4711);

  EXPECT_THAT(WaitForOutcome().message(), HasSubstr("work 4711 was not defined"));
}

TEST_F(AgentTest, OutOfMemoryIsTheReasonWhenTheCommandFailsOfIt) {
  StartAndWaitForCommand();
  {
    FakeRank rank(directory_, {.rank = 0});
    const wire::MemoryRecord booked{
        {}, wire::MemoryCategory::kAllocation, 0, 70ll << 30, 70ull << 30};
    rank.writer().Append(RecordKind::kMemory, booked);
    const wire::MemoryRecord refused{
        {}, wire::MemoryCategory::kAllocation, 0, 20ll << 30, 70ull << 30};
    rank.writer().Append(RecordKind::kOutOfMemory, refused);
    rank.Ask(RecordKind::kSynchronizeDevice, 0);
  }
  EndCommand(1);

  const auto outcome = WaitForOutcome();

  EXPECT_EQ(outcome.reason(), controller::v1::OUTCOME_REASON_OUT_OF_MEMORY);
  EXPECT_THAT(outcome.message(), HasSubstr("asked for 20.00 GiB when 70.00 GiB of 80.00 GiB"));
  for (const auto& report : controller_->reports()) {
    if (!report.has_usage()) continue;
    ASSERT_EQ(report.usage().memory_size(), 1);
    EXPECT_EQ(report.usage().memory(0).peak_bytes(), 70ull << 30);
    EXPECT_EQ(report.usage().memory(0).refused_bytes(), 20ull << 30);
  }
}

TEST_F(AgentTest, ARankThatIsKilledIsNamedWithinSeconds) {
  StartAndWaitForCommand();
  const pid_t child = fork();
  if (child == 0) {
    FakeRank rank(directory_, {.rank = 0, .world_size = 1, .pid = getpid()});
    kill(getpid(), SIGKILL);
  }

  const auto outcome = WaitForOutcome();

  EXPECT_EQ(outcome.reason(), controller::v1::OUTCOME_REASON_RANK_LOST);
  EXPECT_THAT(outcome.message(), HasSubstr("died: killed by signal 9 (SIGKILL)"));
  EXPECT_THAT(outcome.message(), HasSubstr("rank 0 (pid "));
}

TEST_F(AgentTest, StopEndsTheCommandAndLetsWaitersGo) {
  assignment_.set_ranks_per_server(2);
  StartAndWaitForCommand();
  ReplyStatus status = ReplyStatus::kOk;
  std::thread waiter([&] {
    FakeRank rank(directory_, {.rank = 0, .world_size = 2});
    status = rank.Join(400, "never complete", 2, 0).status;
  });
  controller_->WaitFor([](const auto& reports) { return reports.size() > 3; });
  controller_->SendStop("enough was measured");

  const auto outcome = WaitForOutcome();
  waiter.join();

  EXPECT_EQ(outcome.reason(), controller::v1::OUTCOME_REASON_STOPPED);
  EXPECT_EQ(outcome.message(), "enough was measured");
  EXPECT_EQ(status, ReplyStatus::kJobEnding);
}

TEST_F(AgentTest, ADeadlockIsReportedAsTheNetworkSaysIt) {
  StartAndWaitForCommand();
  network_.DeclareDeadlock("rank 1 never joined 'world'");

  const auto outcome = WaitForOutcome();

  EXPECT_EQ(outcome.reason(), controller::v1::OUTCOME_REASON_DEADLOCK);
  EXPECT_EQ(outcome.message(), "rank 1 never joined 'world'");
}

TEST_F(AgentTest, ALostNetworkServiceEndsTheJob) {
  StartAndWaitForCommand();
  network_server_.reset();

  const auto outcome = WaitForOutcome();

  EXPECT_EQ(outcome.reason(), controller::v1::OUTCOME_REASON_SERVICE_LOST);
  EXPECT_THAT(outcome.message(), HasSubstr("the network service at 127.0.0.1"));
}

TEST_F(AgentTest, ALostTimingServiceEndsTheJobWhenItIsNeeded) {
  StartAndWaitForCommand();
  timing_server_.reset();
  FakeRank rank(directory_, {.rank = 0});
  rank.writer().DefineKernel(1, "new_kernel");
  rank.writer().Launch(0, 1);

  const auto outcome = WaitForOutcome();

  EXPECT_EQ(outcome.reason(), controller::v1::OUTCOME_REASON_SERVICE_LOST);
  EXPECT_THAT(outcome.message(), HasSubstr("the timing service at 127.0.0.1"));
}

TEST_F(AgentTest, RefusesARankWithoutAGpu) {
  StartAndWaitForCommand();

  const FakeRank rank(directory_, {.rank = 5, .world_size = 8});

  EXPECT_FALSE(rank.accepted());
  EXPECT_EQ(rank.refusal(), "LOCAL_RANK 5: this server has 2 GPUs");
}

TEST_F(AgentTest, NamedRangesAreIterations) {
  assignment_.mutable_iterations()->set_nvtx("step");
  StartAndWaitForCommand();
  {
    FakeRank rank(directory_, {.rank = 0});
    Prepare(rank);
    const std::string name = "step";
    for (int step = 0; step < 3; ++step) {
      rank.writer().Append(RecordKind::kRangePush,
                           wire::MarkRecord{{}, 0, static_cast<std::uint32_t>(name.size()), 0},
                           std::as_bytes(std::span(name.data(), name.size())));
      rank.Work(5 * kMicrosecond);
      rank.writer().Launch(0, 100);
      rank.Ask(RecordKind::kSynchronizeStream, 0);
      rank.writer().Append(RecordKind::kRangePop, wire::MarkRecord{});
    }
  }
  EndCommand(0);
  WaitForOutcome();

  const auto iterations = controller_->iterations();
  ASSERT_EQ(iterations.size(), 3u);
  for (const auto& iteration : iterations) {
    EXPECT_EQ(iteration.end_picoseconds() - iteration.start_picoseconds(), 18 * kMicrosecond);
  }
}

}  // namespace
}  // namespace eidolon::agent
