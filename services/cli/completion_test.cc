#include "services/cli/completion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cstdio>
#include <fstream>

#include "services/testing/temporary_directory.h"

namespace eidolon::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class CompletionTest : public ::testing::Test {
 protected:
  CompletionTest() {
    app_.add_option("-n,--namespace", name_);
    app_.add_subcommand("run")->add_option("--gpu", name_);
    CLI::App* net = app_.add_subcommand("net");
    net->add_subcommand("validate")->add_option("--rows", name_);
    net->add_subcommand("flows");
  }

  // Returns what bash offers for a line whose last word is not complete.
  std::string Offered(const std::string& line) {
    const std::string file = directory_.path() + "/completion.bash";
    std::ofstream(file) << CompletionScript(CompletionRowsOf(app_), "bash");
    const std::string command = "bash -c 'source " + file + "; COMP_WORDS=(" + line +
                                "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _eidolon; "
                                "echo ${COMPREPLY[@]}' 2>&1";
    std::string text;
    std::FILE* pipe = popen(command.c_str(), "r");
    std::array<char, 256> part{};
    while (std::fgets(part.data(), part.size(), pipe) != nullptr) text += part.data();
    pclose(pipe);
    return text;
  }

  testing::TemporaryDirectory directory_;
  CLI::App app_;
  std::string name_;
};

TEST_F(CompletionTest, RowsNameCommandsAndFlagsOfTheWholeTree) {
  const auto rows = CompletionRowsOf(app_);
  ASSERT_EQ(rows.size(), 5);
  EXPECT_EQ(rows[0].path, "eidolon");
  EXPECT_THAT(rows[0].commands, ElementsAre("run", "net"));
  EXPECT_THAT(rows[0].flags, ::testing::Contains("--namespace"));
  EXPECT_EQ(rows[3].path, "eidolon net validate");
  EXPECT_THAT(rows[3].flags, ::testing::Contains("--rows"));
}

TEST_F(CompletionTest, BashOffersWhatFitsTheCommandsBefore) {
  EXPECT_EQ(Offered("eidolon n"), "net\n");
  EXPECT_EQ(Offered("eidolon --namespace x net v"), "validate\n");
  EXPECT_EQ(Offered("eidolon net validate --r"), "--rows\n");
  EXPECT_EQ(Offered("eidolon run --g"), "--gpu\n");
  EXPECT_EQ(Offered("eidolon run -- python --g"), "\n");
}

TEST_F(CompletionTest, OtherShellsHaveScriptsOfTheirOwn) {
  const auto rows = CompletionRowsOf(app_);
  EXPECT_THAT(CompletionScript(rows, "zsh"), HasSubstr("bashcompinit"));
  const std::string fish = CompletionScript(rows, "fish");
  EXPECT_THAT(fish, HasSubstr("complete -c eidolon -f -n '__fish_use_subcommand' -a 'run net'"));
  EXPECT_THAT(fish, HasSubstr("-n '__fish_seen_subcommand_from net; and "
                              "__fish_seen_subcommand_from validate' -l rows"));
  EXPECT_EQ(CompletionScript(rows, "tcsh"), "");
}

}  // namespace
}  // namespace eidolon::cli
