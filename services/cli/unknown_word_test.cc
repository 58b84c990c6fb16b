#include "services/cli/unknown_word.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

namespace eidolon::cli {
namespace {

// Returns what is said of the words, given to a command with two subcommands.
std::optional<std::string> Said(const std::string& words) {
  CLI::App app("test", "eidolon");
  app.require_subcommand(1);
  int servers = 0;
  std::string file;
  CLI::App* run = app.add_subcommand("run");
  run->add_option("--servers", servers);
  CLI::App* submit = app.add_subcommand("submit");
  submit->add_option("file", file);
  try {
    app.parse(words);
  } catch (const CLI::ParseError&) {
    return DescribeUnknownWord(app);
  }
  return "it was understood";
}

TEST(UnknownWordTest, AMisspeltCommandIsAnsweredWithTheNearest) {
  EXPECT_EQ(Said("ru"), "unknown command 'ru', did you mean 'run'? --help lists all");
  EXPECT_EQ(Said("launch"), "unknown command 'launch'; --help lists all");
}

TEST(UnknownWordTest, AMisspeltFlagIsAnsweredWithTheNearest) {
  EXPECT_EQ(Said("run --server 2"),
            "unknown flag '--server', did you mean '--servers'? --help lists all");
  EXPECT_EQ(Said("run --severs=2"),
            "unknown flag '--severs', did you mean '--servers'? --help lists all");
}

TEST(UnknownWordTest, AWordTooManyIsNamed) {
  EXPECT_EQ(Said("submit one two"), "unexpected word 'two'");
}

TEST(UnknownWordTest, AMissingCommandIsNotAnUnknownWord) {
  EXPECT_EQ(Said(""), std::nullopt);
  EXPECT_EQ(Said("run --servers 2"), "it was understood");
}

}  // namespace
}  // namespace eidolon::cli
