#include "services/agent/job/declared_values.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace eidolon::agent::job {
namespace {

namespace wire = ::eidolon::ring;
using Rows = std::vector<std::vector<std::uint32_t>>;

TEST(DeclaredValuesTest, SharesAreReadAsPeopleWriteThem) {
  EXPECT_EQ(*ParseShares("# tokens per expert\n1,2,3\n\n 4 5\t6 \r\n", 3),
            (Rows{{1, 2, 3}, {4, 5, 6}}));
  const auto fractions = ParseShares("0.5, 0.25, 0\n", 3);
  ASSERT_TRUE(fractions);
  EXPECT_EQ((*fractions)[0], (std::vector<std::uint32_t>{1'000'000'000, 500'000'000, 0}));
}

TEST(DeclaredValuesTest, WhatIsNoTableOfSharesIsRefusedWithItsLine) {
  for (const auto& [text, said] : std::vector<std::pair<std::string, std::string>>{
           {"1,2\n", "line 1 must have a number for each of the 3 experts"},
           {"1,2,3\n1,2,3,4\n", "line 2 must have"},
           {"1,two,3\n", "'two'"},
           {"1,-2,3\n", "'-2'"},
           {"0,0,0\n", "no token"},
           {"# nothing\n", "no line"}}) {
    const auto shares = ParseShares(text, 3);
    ASSERT_FALSE(shares) << text;
    EXPECT_NE(shares.error().message.find(said), std::string::npos) << shares.error().message;
  }
}

TEST(DeclaredValuesTest, ZipfsSharesFallAndTheSeedOrdersThem) {
  auto shares = ZipfShares(4, 1.0, 3);
  EXPECT_EQ(ZipfShares(4, 1.0, 3), shares);
  std::ranges::sort(shares, std::greater());

  EXPECT_EQ(shares,
            (std::vector<std::uint32_t>{1'000'000'000, 500'000'000, 333'333'333, 250'000'000}));
}

TEST(DeclaredValuesTest, RanksFindThemInTheRunDirectory) {
  const std::string folder = ::testing::TempDir() + "/declared_values";
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/counts.csv") << "7,1\n";
  controller::v1::Assignment assignment;
  assignment.set_run_directory(folder);
  assignment.set_working_directory(folder);
  controller::v1::DeclaredValue* norm = assignment.add_declared_values();
  norm->set_number(1);
  norm->set_type("float32");
  norm->set_line("train.py:4");
  norm->set_any_pointer(true);
  norm->set_value(2.5);
  controller::v1::DeclaredValue* router = assignment.add_declared_values();
  router->set_number(2);
  router->set_type("int64");
  router->set_kernel("gatherTopK");
  router->set_pointer(2);
  router->mutable_routing()->set_experts(2);
  router->mutable_routing()->set_tokens(8);
  router->mutable_routing()->set_top_k(1);
  router->mutable_routing()->set_file("counts.csv");

  ASSERT_TRUE(WriteDeclarations(assignment));

  std::ifstream file(folder + "/" + std::string(wire::kDeclarationsFile));
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const auto read = wire::ParseDeclarations(text);
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[0].value, 2.5);
  EXPECT_EQ(read[0].pointer, -1);
  EXPECT_EQ(read[1].kind, wire::DeclarationKind::kIndices);
  EXPECT_EQ(read[1].pointer, 2);
  EXPECT_EQ(read[1].shares, (Rows{{7, 1}}));

  router->mutable_routing()->set_file("absent.csv");
  const auto absent = WriteDeclarations(assignment);
  ASSERT_FALSE(absent);
  EXPECT_NE(absent.error().message.find("absent.csv"), std::string::npos);
}

}  // namespace
}  // namespace eidolon::agent::job
