#include "services/agent/launch/launcher_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

namespace eidolon::agent::launch {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

LauncherCommand Read(const std::vector<std::string>& command) {
  const auto read = ReadLauncher(command);
  EXPECT_TRUE(read.has_value()) << read.error().message;
  return read.value_or(LauncherCommand());
}

std::string Refusal(const std::vector<std::string>& command) {
  const auto read = ReadLauncher(command);
  return read.has_value() ? "" : read.error().message;
}

TEST(LauncherCommandTest, OptionsEndAtTheScript) {
  const LauncherCommand read = Read({"torchrun", "--nproc_per_node=8", "--nnodes", "4",
                                     "--standalone", "train.py", "--nproc_per_node", "3", "-m"});

  EXPECT_EQ(read.ranks_per_server, "8");
  EXPECT_FALSE(read.is_module);
  EXPECT_THAT(read.program, ElementsAre("train.py", "--nproc_per_node", "3", "-m"));
}

TEST(LauncherCommandTest, NamesMayBeAbbreviatedAsArgparseAllows) {
  EXPECT_EQ(Read({"torchrun", "--nproc", "gpu", "a.py"}).ranks_per_server, "gpu");
  EXPECT_THAT(Refusal({"torchrun", "--rdzv", "x", "a.py"}), HasSubstr("no option '--rdzv'"));
}

TEST(LauncherCommandTest, ReadsModulesAndProgramsOfOtherKinds) {
  EXPECT_TRUE(Read({"torchrun", "-m", "torchtitan.train", "--x"}).is_module);
  EXPECT_FALSE(Read({"torchrun", "--no-python", "./run.sh"}).is_python);
}

TEST(LauncherCommandTest, PythonsModuleIsTheSameProgram) {
  const LauncherCommand read = Read(
      {"/opt/bin/python3", "-u", "-m", "torch.distributed.run", "--nproc-per-node", "2", "a.py"});

  EXPECT_TRUE(read.launcher_is_python);
  EXPECT_EQ(read.ranks_per_server, "2");
  const auto command = RankCommand(read, "");
  ASSERT_TRUE(command.has_value());
  EXPECT_THAT(*command, ElementsAre("/opt/bin/python3", "-u", "a.py"));
}

TEST(LauncherCommandTest, RanksRunThePythonThatTheScriptNames) {
  const std::string path = ::testing::TempDir() + "/torchrun";
  std::ofstream(path) << "#!/venv/bin/python3.11\nimport sys\n";

  const auto module = RankCommand(Read({"torchrun", "-m", "pkg.train", "--lr", "1"}), path);
  ASSERT_TRUE(module.has_value()) << module.error().message;
  EXPECT_THAT(*module, ElementsAre("/venv/bin/python3.11", "-u", "-m", "pkg.train", "--lr", "1"));
  const auto shell = RankCommand(Read({"torchrun", "--no-python", "./run.sh"}), path);
  ASSERT_TRUE(shell.has_value());
  EXPECT_THAT(*shell, ElementsAre("./run.sh"));
}

TEST(LauncherCommandTest, AccelerateSetsItsVariablesForOneProcess) {
  const LauncherCommand read =
      Read({"accelerate", "launch", "--multi_gpu", "--num_processes=16", "--num-machines", "2",
            "--mixed_precision", "bf16", "-m", "pkg.train", "--num_processes", "3"});

  EXPECT_EQ(read.ranks, "16");
  EXPECT_TRUE(read.is_module);
  EXPECT_THAT(read.program, ElementsAre("pkg.train", "--num_processes", "3"));
  EXPECT_THAT(read.wrapper,
              ElementsAre("accelerate", "launch", "--mixed_precision", "bf16", "--num_processes",
                          "1", "--num_machines", "1", "--machine_rank", "0", "--main_process_port",
                          "0", "--no_python"));
  EXPECT_EQ(Read({"accelerate-launch", "--quiet", "a.py"}).wrapper.front(), "accelerate-launch");
}

TEST(LauncherCommandTest, DeepSpeedTellsTheScriptItsLocalRank) {
  const LauncherCommand read =
      Read({"deepspeed", "--no_ssh", "--node_rank=1", "--master_addr", "host", "--num_gpus", "8",
            "train.py", "--deepspeed", "ds.json"});

  EXPECT_EQ(read.ranks_per_server, "8");
  EXPECT_EQ(read.variables, RankVariables::kDeepSpeed);
  EXPECT_THAT(read.program, ElementsAre("train.py", "--deepspeed", "ds.json"));
  const auto command =
      RankCommand(Read({"python", "-m", "deepspeed.launcher.runner", "train.py", "-x"}), "");
  ASSERT_TRUE(command.has_value());
  EXPECT_THAT(*command, ElementsAre("python", "-u", "train.py", "--local_rank={LOCAL_RANK}", "-x"));
  const auto without = RankCommand(
      Read({"python", "-m", "deepspeed.launcher.runner", "--no_local_rank", "train.py"}), "");
  EXPECT_THAT(*without, ElementsAre("python", "-u", "train.py"));
}

TEST(LauncherCommandTest, SchedulersStartProgramsOfAnyKind) {
  const LauncherCommand slurm = Read({"srun", "-n16", "--ntasks-per-node", "8", "-l", "--cpu-bind",
                                      "none", "--export=ALL,MODE=fast", "python", "train.py"});
  EXPECT_EQ(slurm.ranks, "16");
  EXPECT_EQ(slurm.ranks_per_server, "8");
  EXPECT_EQ(slurm.variables, RankVariables::kSlurm);
  EXPECT_THAT(slurm.environment, ElementsAre(Pair("MODE", "fast")));
  EXPECT_THAT(*RankCommand(slurm, ""), ElementsAre("python", "train.py"));

  const LauncherCommand mpi = Read({"mpirun", "-np", "16", "-mca", "pml", "ob1", "-x", "A=1", "-x",
                                    "PATH", "--bind-to", "none", "./run.sh", "-np", "2"});
  EXPECT_EQ(mpi.ranks, "16");
  EXPECT_EQ(mpi.variables, RankVariables::kOpenMpi);
  EXPECT_THAT(mpi.environment, ElementsAre(Pair("A", "1")));
  EXPECT_THAT(mpi.program, ElementsAre("./run.sh", "-np", "2"));
}

TEST(LauncherCommandTest, ASchedulerMayStartALauncherOnEachServer) {
  const LauncherCommand read =
      Read({"srun", "-N", "4", "--ntasks-per-node=1", "--export=ALL,MODE=fast", "torchrun",
            "--nproc-per-node", "8", "train.py"});

  EXPECT_EQ(read.launcher, "torchrun");
  EXPECT_EQ(read.ranks_per_server, "8");
  EXPECT_EQ(read.ranks, "");
  EXPECT_EQ(read.variables, RankVariables::kTorchrun);
  EXPECT_THAT(read.environment, ElementsAre(Pair("MODE", "fast")));
  EXPECT_THAT(read.program, ElementsAre("train.py"));
}

TEST(LauncherCommandTest, RefusesWhatItCannotStartAlone) {
  EXPECT_THAT(Refusal({"python", "train.py"}), HasSubstr("begins with torchrun"));
  EXPECT_THAT(Refusal({"bash", "run.sh"}), HasSubstr("not 'bash'"));
  EXPECT_THAT(Refusal({"accelerate", "test"}), HasSubstr("not 'accelerate'"));
  EXPECT_THAT(Refusal({"srun", "--multi-prog", "list"}), HasSubstr("different programs"));
  EXPECT_THAT(Refusal({"srun", "--gpus-per-task=1", "python", "a.py"}), HasSubstr("one GPU only"));
  EXPECT_THAT(Refusal({"deepspeed", "--include", "localhost:1", "a.py"}),
              HasSubstr("with --include cannot be folded"));
  EXPECT_THAT(Refusal({"mpirun", "--colour", "a"}), HasSubstr("mpirun has no option '--colour'"));
  EXPECT_THAT(Refusal({}), HasSubstr("torchrun"));
  EXPECT_THAT(Refusal({"torchrun"}), HasSubstr("no script"));
  EXPECT_THAT(Refusal({"torchrun", "--nnodes"}), HasSubstr("has no value"));
  EXPECT_THAT(Refusal({"torchrun", "--colour", "a.py"}), HasSubstr("no option '--colour'"));

  const std::string path = ::testing::TempDir() + "/torchrun_binary";
  std::ofstream(path) << "\x7f"
                         "ELF";
  EXPECT_FALSE(RankCommand(Read({"torchrun", "a.py"}), path).has_value());
}

// Returns the message for a job of two servers.
std::string CannotMeet(const std::vector<std::string>& command) {
  const auto meet = CheckServersMeet(command, 2);
  return meet ? "" : meet.error().message;
}

TEST(ServersMeetTest, StandaloneIsForOneServer) {
  const std::vector<std::string> command = {"torchrun", "--standalone", "train.py"};

  EXPECT_EQ(CannotMeet(command),
            "torchrun's --standalone makes each of the job's 2 servers a rendezvous of its own, "
            "where the others never come. Leave out --standalone: the environment tells torchrun "
            "where the servers meet; or run on one server (servers: 1)");
  EXPECT_TRUE(CheckServersMeet(command, 1));
}

TEST(ServersMeetTest, AnEndpointOnLoopbackIsAnotherMachineOnEachServer) {
  const std::string localhost =
      CannotMeet({"python3", "-m", "torch.distributed.run", "--rdzv_backend=c10d",
                  "--rdzv_endpoint", "localhost:29400", "train.py"});

  EXPECT_THAT(localhost, HasSubstr("--rdzv-endpoint=localhost:29400 makes each"));
  EXPECT_THAT(localhost, HasSubstr("Leave out --rdzv-backend and --rdzv-endpoint:"));
  EXPECT_NE(CannotMeet({"torchrun", "--rdzv-backend", "c10d", "--rdzv-endpoint=[::1]:0", "a.py"}),
            "");
  EXPECT_EQ(CannotMeet({"torchrun", "--rdzv-backend", "c10d", "--rdzv-endpoint=head:294", "a.py"}),
            "");
  EXPECT_EQ(CannotMeet({"torchrun", "--rdzv-endpoint=localhost:29400", "a.py"}), "");
}

TEST(ServersMeetTest, LaunchersBelowOthersAndInScriptsAreRead) {
  EXPECT_NE(CannotMeet({"srun", "-N", "2", "torchrun", "--standalone", "a.py"}), "");
  EXPECT_NE(CannotMeet({"bash", "-ec", "cd /job && exec torchrun --standalone a.py"}), "");
  EXPECT_NE(CannotMeet({"/bin/sh", "-c", "(python -m torch.distributed.run --standalone a.py)"}),
            "");
}

TEST(ServersMeetTest, WhatIsTheProgramsOwnIsNotTheLaunchers) {
  EXPECT_EQ(CannotMeet({"torchrun", "train.py", "--standalone"}), "");
  EXPECT_EQ(CannotMeet({"python3", "train.py", "torchrun", "--standalone"}), "");
  EXPECT_EQ(CannotMeet({"torchrun", "--unknown", "train.py"}), "");
  EXPECT_EQ(CannotMeet({"bash", "-c", "echo torchrun"}), "");
  EXPECT_EQ(CannotMeet({"bash", "-c"}), "");
}

}  // namespace
}  // namespace eidolon::agent::launch
