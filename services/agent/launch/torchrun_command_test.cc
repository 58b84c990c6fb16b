#include "services/agent/launch/torchrun_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

namespace eidolon::agent::launch {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TorchrunCommand Read(const std::vector<std::string>& command) {
  const auto read = ReadTorchrun(command);
  EXPECT_TRUE(read.has_value()) << read.error().message;
  return read.value_or(TorchrunCommand());
}

std::string Refusal(const std::vector<std::string>& command) {
  const auto read = ReadTorchrun(command);
  return read.has_value() ? "" : read.error().message;
}

TEST(TorchrunCommandTest, OptionsEndAtTheScript) {
  const TorchrunCommand read = Read({"torchrun", "--nproc_per_node=8", "--nnodes", "4",
                                     "--standalone", "train.py", "--nproc_per_node", "3", "-m"});

  EXPECT_EQ(read.ranks_per_server, "8");
  EXPECT_FALSE(read.is_module);
  EXPECT_THAT(read.program, ElementsAre("train.py", "--nproc_per_node", "3", "-m"));
}

TEST(TorchrunCommandTest, NamesMayBeAbbreviatedAsArgparseAllows) {
  EXPECT_EQ(Read({"torchrun", "--nproc", "gpu", "a.py"}).ranks_per_server, "gpu");
  EXPECT_THAT(Refusal({"torchrun", "--rdzv", "x", "a.py"}), HasSubstr("no option '--rdzv'"));
}

TEST(TorchrunCommandTest, ReadsModulesAndProgramsOfOtherKinds) {
  EXPECT_TRUE(Read({"torchrun", "-m", "torchtitan.train", "--x"}).is_module);
  EXPECT_FALSE(Read({"torchrun", "--no-python", "./run.sh"}).is_python);
}

TEST(TorchrunCommandTest, PythonsModuleIsTheSameProgram) {
  const TorchrunCommand read = Read(
      {"/opt/bin/python3", "-u", "-m", "torch.distributed.run", "--nproc-per-node", "2", "a.py"});

  EXPECT_TRUE(read.launcher_is_python);
  EXPECT_EQ(read.ranks_per_server, "2");
  const auto command = RankCommand(read, "");
  ASSERT_TRUE(command.has_value());
  EXPECT_THAT(*command, ElementsAre("/opt/bin/python3", "-u", "a.py"));
}

TEST(TorchrunCommandTest, RanksRunThePythonThatTheScriptNames) {
  const std::string path = ::testing::TempDir() + "/torchrun";
  std::ofstream(path) << "#!/venv/bin/python3.11\nimport sys\n";

  const auto module = RankCommand(Read({"torchrun", "-m", "pkg.train", "--lr", "1"}), path);
  ASSERT_TRUE(module.has_value()) << module.error().message;
  EXPECT_THAT(*module, ElementsAre("/venv/bin/python3.11", "-u", "-m", "pkg.train", "--lr", "1"));
  const auto shell = RankCommand(Read({"torchrun", "--no-python", "./run.sh"}), path);
  ASSERT_TRUE(shell.has_value());
  EXPECT_THAT(*shell, ElementsAre("./run.sh"));
}

TEST(TorchrunCommandTest, RefusesWhatItCannotStartAlone) {
  EXPECT_THAT(Refusal({"python", "train.py"}), HasSubstr("begins with torchrun"));
  EXPECT_THAT(Refusal({"mpirun", "-n", "8", "python", "a.py"}), HasSubstr("not 'mpirun'"));
  EXPECT_THAT(Refusal({}), HasSubstr("torchrun"));
  EXPECT_THAT(Refusal({"torchrun"}), HasSubstr("no script"));
  EXPECT_THAT(Refusal({"torchrun", "--nnodes"}), HasSubstr("has no value"));
  EXPECT_THAT(Refusal({"torchrun", "--colour", "a.py"}), HasSubstr("no option '--colour'"));

  const std::string path = ::testing::TempDir() + "/torchrun_binary";
  std::ofstream(path) << "\x7f"
                         "ELF";
  EXPECT_FALSE(RankCommand(Read({"torchrun", "a.py"}), path).has_value());
}

}  // namespace
}  // namespace eidolon::agent::launch
