#include "services/agent/outcome/verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

namespace eidolon::agent::outcome {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr launch::ExitStatus kFailed{.code = 1, .signal = 0};
constexpr launch::ExitStatus kKilled{.code = 137, .signal = 9};

TEST(VerdictTest, ACommandThatEndsWellHasCompleted) {
  Verdict verdict;
  verdict.NoteErrorLine("UserWarning: something");

  const Ending ending = verdict.Judge(launch::ExitStatus{});

  EXPECT_EQ(ending.reason, Reason::kCompleted);
  EXPECT_EQ(ending.exit_status, 0);
}

TEST(VerdictTest, ACommandThatEndsWellWithoutWhatARankDidIsNotComplete) {
  Verdict verdict;
  verdict.NoteSessionLost(2, 77, "closed its connection to the agent and went on without it");
  verdict.NoteSessionLost(3, 78, "replaced itself");

  const Ending ending = verdict.Judge(launch::ExitStatus{});

  EXPECT_EQ(ending.reason, Reason::kSessionLost);
  EXPECT_EQ(ending.message,
            "rank 2 (pid 77) closed its connection to the agent and went on without it");
}

TEST(VerdictTest, ARankThatSomethingKilledIsLostAlsoWhenItsLauncherSaysNothing) {
  Verdict verdict;
  verdict.NoteRankDeath({.rank = 1, .pid = 5, .status = kKilled});

  EXPECT_EQ(verdict.Judge(launch::ExitStatus{}).reason, Reason::kRankLost);
}

TEST(VerdictTest, ARankThatItsLauncherEndedIsToldOf) {
  Verdict verdict;
  verdict.NoteRankDeath({.rank = 1, .pid = 5, .status = {.code = 143, .signal = SIGTERM}});
  verdict.NoteSilentEnd(0, 4);

  const Ending ending = verdict.Judge(launch::ExitStatus{});

  EXPECT_EQ(ending.reason, Reason::kCompleted);
  EXPECT_THAT(ending.message,
              testing::StartsWith("the command ended; rank 0 (pid 4) ended without saying so"));
}

TEST(VerdictTest, ARankThatWaitedForOneThatHadLeftIsExplained) {
  Verdict verdict;
  verdict.NoteWaitInVain("rank 0 left while others of communicator 'dp' of 2 ranks wait for it");
  verdict.NoteWaitInVain("rank 2 left");
  verdict.NoteRankDeath({.rank = 1, .pid = 5, .status = kKilled});

  EXPECT_THAT(verdict.Judge(launch::ExitStatus{.code = 1}).message,
              testing::HasSubstr("; before that, rank 0 left while others"));
}

TEST(VerdictTest, ACrashingScriptShowsItsLastLines) {
  Verdict verdict;
  verdict.NoteErrorLine("ValueError: bad batch");

  const Ending ending = verdict.Judge(kFailed);

  EXPECT_EQ(ending.reason, Reason::kCommandFailed);
  EXPECT_EQ(ending.exit_status, 1);
  EXPECT_THAT(ending.message, HasSubstr("the command failed: exit status 1"));
  EXPECT_THAT(ending.message, EndsWith("ValueError: bad batch"));
}

TEST(VerdictTest, TheExceptionStandsBeforeTheNoiseOfLaunchers) {
  Verdict verdict;
  verdict.NoteErrorLine("[rank1]: ValueError: bad batch");
  verdict.NoteErrorLine("torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ");
  verdict.NoteErrorLine("W1121 api.py:900] Sending process 5 closing signal SIGTERM");
  verdict.NoteRankDeath({.rank = 1, .pid = 5, .status = kFailed});

  EXPECT_THAT(verdict.Judge(kFailed).message,
              HasSubstr("rank 1 (pid 5) died: exit status 1: ValueError: bad batch"));
}

TEST(VerdictTest, TheUsersOwnLineOfTheTracebackStandsBehindTheException) {
  Verdict verdict;
  for (const char* line :
       {"[rank0]: Traceback (most recent call last):",
        "[rank0]:   File \"/home/me/run/train.py\", line 52, in <module>", "[rank0]:     main()",
        "[rank0]:   File \"/home/me/run/train.py\", line 40, in main",
        "[rank0]:   File \"/env/lib/python3.11/site-packages/torch/nn/module.py\", line 9, in f",
        "[rank0]:   File \"<frozen runpy>\", line 88, in _run_code",
        "[rank0]: ValueError: bad batch", "  File \"/env/bin/torchrun\", line 8, in <module>",
        "  File \"/home/me/launch.py\", line 3, in <module>",
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: "}) {
    verdict.NoteErrorLine(line);
  }

  EXPECT_THAT(verdict.Judge(kFailed).message,
              HasSubstr("exit status 1: ValueError: bad batch (train.py:40); last lines"));
  verdict.NoteErrorLine("KeyError: 'x'");
  EXPECT_THAT(verdict.Judge(kFailed).message, HasSubstr("KeyError: 'x' (launch.py:3); last"));
  verdict.NoteErrorLine("OSError: of another place");
  EXPECT_THAT(verdict.Judge(kFailed).message, HasSubstr("OSError: of another place; last lines"));
}

TEST(VerdictTest, AKilledRankIsNamed) {
  Verdict verdict;
  verdict.NoteRankDeath({.rank = 3, .pid = 77, .status = kKilled});
  verdict.NoteRankDeath({.rank = 1, .pid = 78, .status = kFailed});

  const Ending ending = verdict.Judge(std::nullopt);

  EXPECT_EQ(ending.reason, Reason::kRankLost);
  EXPECT_EQ(ending.message, "rank 3 (pid 77) died: killed by signal 9 (SIGKILL)");
}

TEST(VerdictTest, ARankThatItsLauncherTerminatedIsNotTheCause) {
  constexpr launch::ExitStatus kTerminated{.code = 143, .signal = 15};
  Verdict verdict;
  verdict.NoteRankDeath({.rank = 2, .pid = 76, .status = kTerminated});
  verdict.NoteRankDeath({.rank = 3, .pid = 77, .status = kKilled});
  verdict.NoteRankDeath({.rank = 4, .pid = 78, .status = kTerminated});

  EXPECT_EQ(verdict.Judge(std::nullopt).message,
            "rank 3 (pid 77) died: killed by signal 9 (SIGKILL)");
}

TEST(VerdictTest, ARankThatItsLauncherCollectedIsNamedBeforeThoseItTerminated) {
  constexpr launch::ExitStatus kTerminated{.code = 143, .signal = 15};
  Verdict verdict;
  verdict.NoteRankDeath({.rank = 2, .pid = 76, .status = kTerminated});
  verdict.NoteRankGone({.rank = 3, .pid = 77, .status = {}});
  verdict.NoteRankGone({.rank = 1, .pid = 75, .status = {}});

  const Ending ending = verdict.Judge(std::nullopt);

  EXPECT_EQ(ending.reason, Reason::kRankLost);
  EXPECT_EQ(ending.message,
            "rank 3 (pid 77) ended first, as only its launcher knows how; then rank 2 (pid 76) "
            "died: killed by signal 15 (SIGTERM)");
}

TEST(VerdictTest, ALauncherThatFailsAfterARankOfItsOwnSaysHowTheRankEnded) {
  constexpr launch::ExitStatus kTerminated{.code = 143, .signal = 15};
  Verdict verdict;
  verdict.NoteRankGone({.rank = 1, .pid = 75, .status = {}});
  verdict.NoteRankDeath({.rank = 0, .pid = 74, .status = kTerminated});
  verdict.NoteErrorLine("[rank1]: ValueError: at the end");

  const Ending failed = verdict.Judge(kFailed);
  EXPECT_EQ(failed.reason, Reason::kCommandFailed);
  EXPECT_THAT(failed.message, HasSubstr("then rank 0 (pid 74) died: killed by signal 15 (SIGTERM); "
                                        "the command failed: exit status 1"));

  verdict.NoteErrorLine(" exitcode  : -9 (pid: 75)");
  EXPECT_EQ(verdict.Judge(kFailed).reason, Reason::kRankLost);
}

TEST(VerdictTest, AnEnvironmentThatCannotWorkGetsAdvice) {
  const struct {
    const char* line;
    const char* advice;
  } rows[] = {
      {"Error loading shared library ld-linux-x86-64.so.2: No such file or directory (needed by "
       "/eidolon/injection/lib/libeidolon_shim.so)",
       "based on Debian"},
      {"Error relocating /eidolon/injection/lib/libeidolon_shim.so: __errno: symbol not found",
       "based on Debian"},
      {"[rank0]: AssertionError: Torch not compiled with CUDA enabled", "built for CUDA 12 or 13"},
      {"AttributeError: module 'torch._C' has no attribute '_cuda_setDevice'",
       "built for CUDA 12 or 13"},
      {"RuntimeError: Distributed package doesn't have NCCL built in", "built for CUDA 12 or 13"},
      {"eidolon: folding: train.py:9 lets rank 3 communicate", "; train.py:9 lets rank 3"},
  };
  for (const auto& row : rows) {
    Verdict verdict;
    verdict.NoteErrorLine(row.line);
    EXPECT_THAT(verdict.Judge(kFailed).message, HasSubstr(row.advice)) << row.line;
  }
  Verdict other;
  other.NoteErrorLine("Error loading shared library libfoo.so: No such file or directory");
  EXPECT_THAT(other.Judge(kFailed).message, Not(HasSubstr("musl")));
}

TEST(VerdictTest, OutOfMemoryIsAResultWithNumbers) {
  Verdict verdict;
  verdict.NoteRefusal({.rank = 2,
                       .device = 2,
                       .asked_bytes = 2ull << 30,
                       .booked_bytes = 79ull << 30,
                       .capacity_bytes = 80ull << 30});
  verdict.NoteRankDeath({.rank = 2, .pid = 5, .status = kFailed});

  const Ending ending = verdict.Judge(kFailed);

  EXPECT_EQ(ending.reason, Reason::kOutOfMemory);
  EXPECT_EQ(ending.message,
            "rank 2 ran out of memory on GPU 2: it asked for 2.00 GiB when 79.00 GiB of 80.00 GiB "
            "were booked");
}

TEST(VerdictTest, ARankEndsForMemoryWhenNobodyCatchesTheException) {
  constexpr char kUncaught[] = "[rank2]: torch.OutOfMemoryError: CUDA out of memory.";
  Verdict verdict;
  verdict.NoteErrorLine(kUncaught);
  EXPECT_FALSE(verdict.is_ending_for_memory()) << "no emulated GPU has refused anything";
  verdict.NoteRefusal({.rank = 2});
  verdict.NoteErrorLine("torch.OutOfMemoryError: CUDA out of memory.");
  verdict.NoteErrorLine("[rank2]: caught torch.OutOfMemoryError: CUDA out of memory.");
  EXPECT_FALSE(verdict.is_ending_for_memory()) << "a program may print what it has caught";

  verdict.NoteErrorLine(kUncaught);

  EXPECT_TRUE(verdict.is_ending_for_memory());
  EXPECT_EQ(verdict.Judge(std::nullopt).reason, Reason::kOutOfMemory);
}

TEST(VerdictTest, AProgramThatSurvivesItsRefusalHasCompleted) {
  Verdict verdict;
  verdict.NoteRefusal({.rank = 2});

  EXPECT_EQ(verdict.Judge(launch::ExitStatus{}).reason, Reason::kCompleted);
}

TEST(VerdictTest, ARuntimeOfAnotherCudaVersionIsTheCause) {
  Verdict verdict;
  verdict.NoteRefusedCall(
      "libcudart.so.11 (a program built for CUDA 11; this shim stands in for CUDA 12 and 13)",
      /*strict=*/false);
  verdict.NoteErrorLine("RuntimeError: no GPU");

  const Ending ending = verdict.Judge(kFailed);

  EXPECT_EQ(ending.reason, Reason::kUnsupportedCall);
  EXPECT_THAT(ending.message, HasSubstr("libcudart.so.11"));
  EXPECT_THAT(ending.message, HasSubstr("install the CUDA 12 or 13 build"));
}

TEST(VerdictTest, StrictJobsEndWithTheCallsName) {
  Verdict verdict;
  verdict.NoteRefusedCall("cusolverDnSgesvd", /*strict=*/true);

  const Ending ending = verdict.Judge(kFailed);

  EXPECT_EQ(ending.reason, Reason::kUnsupportedCall);
  EXPECT_THAT(ending.message, HasSubstr("'cusolverDnSgesvd'"));
}

constexpr launch::HostMemory kAtLimit{
    .kills = 1, .limit_hits = 1, .limit_bytes = std::uint64_t{16} << 30};

TEST(VerdictTest, ARankThatTheKernelKilledForMemoryIsOutOfHostMemory) {
  Verdict verdict;
  verdict.NoteRankDeath({.rank = 3, .pid = 42, .status = kKilled});
  verdict.NoteHostMemory(kAtLimit);

  const Ending ending = verdict.Judge(kFailed);

  EXPECT_EQ(ending.reason, Reason::kOutOfHostMemory);
  EXPECT_EQ(ending.message,
            "rank 3 (pid 42) died: killed by signal 9 (SIGKILL); the kernel killed a process "
            "because this server's host memory reached its limit of 16.00 GiB: raise it "
            "(limits.memoryPerServer on Kubernetes), or keep less in host memory");
}

TEST(VerdictTest, AProgramThatTellsOfAKilledChildIsOutOfHostMemoryIfTheKernelKilledOne) {
  for (const char* line : {
           "RuntimeError: DataLoader worker (pid 77) is killed by signal: Killed. ",
           "  exitcode  : -9 (pid: 77)",
           "train.sh: line 3:    77 Killed",
           "died with <Signals.SIGKILL: 9>.",
       }) {
    Verdict killed, other;
    killed.NoteErrorLine(line);
    other.NoteErrorLine(line);
    killed.NoteHostMemory(kAtLimit);

    EXPECT_EQ(killed.Judge(kFailed).reason, Reason::kOutOfHostMemory) << line;
    EXPECT_EQ(other.Judge(kFailed).reason, Reason::kCommandFailed) << line;
  }
}

TEST(VerdictTest, AMachineWithoutMemoryIsToldFromALimit) {
  Verdict verdict;
  verdict.NoteRankDeath({.rank = 0, .pid = 1, .status = kKilled});
  verdict.NoteHostMemory({.kills = 2, .limit_hits = 0, .limit_bytes = 0});

  const std::string message = verdict.Judge(std::nullopt).message;

  EXPECT_THAT(message, HasSubstr("killed 2 processes because the machine had no host memory left"));
  EXPECT_THAT(message, HasSubstr("limits.memoryPerServer"));
  EXPECT_THAT(message, Not(HasSubstr("0.00")));
}

TEST(VerdictTest, AKillOfAnotherProcessOfTheMachineExplainsNoFailure) {
  Verdict failed, ended;
  failed.NoteErrorLine("ValueError: bad batch");
  failed.NoteHostMemory(kAtLimit);
  ended.NoteHostMemory(kAtLimit);

  EXPECT_EQ(failed.Judge(kFailed).reason, Reason::kCommandFailed);
  EXPECT_EQ(ended.Judge(launch::ExitStatus{}).reason, Reason::kCompleted);
}

}  // namespace
}  // namespace eidolon::agent::outcome
