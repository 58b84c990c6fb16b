#include "services/timing/model/gemm_rows.h"

#include <gtest/gtest.h>

#include <string>

namespace eidolon::timing::model {
namespace {

constexpr const char* kHead =
    "eidolon-gemm-rows 1\ngpu G\ntype bf16\nkernel linear of torch\nroof 2000 300000 1500\n"
    "licence Apache-2.0\nm 1 2 4\nn 32 64\nk 16\nrows\n";

std::string Text(const std::string& rows) { return kHead + rows; }

TEST(GemmRowsTest, ReadsEveryCell) {
  const auto rows = ParseGemmRows(Text("2.5:1 - 3:0\n2.6:12 2.7:2 -\n"));

  ASSERT_TRUE(rows) << rows.error().message;
  EXPECT_EQ(rows->gpu, "G");
  EXPECT_EQ(rows->kernel, "linear of torch");
  EXPECT_EQ(rows->rate, 300e12);
  EXPECT_EQ(rows->clock, 1.5e9);
  EXPECT_EQ(rows->cells(), 6u);
  EXPECT_EQ(rows->measured(), 4u);
  EXPECT_FLOAT_EQ(rows->microseconds[0], 2.5f);
  EXPECT_FLOAT_EQ(rows->microseconds[1], 0);
  EXPECT_FLOAT_EQ(rows->spread[3], 0.12f);
  EXPECT_EQ(rows->SizeOf(4, 0), 2);
  EXPECT_EQ(rows->SizeOf(4, 1), 64);
  EXPECT_EQ(rows->SizeOf(4, 2), 16);
}

TEST(GemmRowsTest, RefusesWhatItDoesNotUnderstand) {
  const std::string good = Text("1:0 1:0 1:0\n1:0 1:0 1:0\n");
  struct Case {
    const char* name;
    std::string text;
    const char* part;
  };
  std::string other = good;
  other.replace(other.find(" 1\n"), 3, " 2\n");
  std::string falling = good;
  falling.replace(falling.find("1 2 4"), 5, "1 4 2");
  std::string roofless = good;
  roofless.erase(roofless.find("roof"), 22);
  const Case cases[] = {
      {"empty", "", "not 'eidolon-gemm-rows 1'"},
      {"another version", other, "not 'eidolon-gemm-rows 1'"},
      {"sizes that fall", falling, "line 7"},
      {"no roof", roofless, "missing"},
      {"too few cells", Text("1:0 1:0 1:0\n"), "line 12 has no time"},
      {"too many in a line", Text("1:0 1:0 1:0\n1:0 1:0 1:0 1:0\n"), "7 cells of 6"},
      {"a word", Text("1:0 x 1:0\n1:0 1:0 1:0\n"), "'x'"},
      {"a time of zero", Text("1:0 0:0 1:0\n1:0 1:0 1:0\n"), "'0:0'"},
      {"not a number", Text("1:0 nan:0 1:0\n1:0 1:0 1:0\n"), "'nan:0'"},
      {"a negative spread", Text("1:0 1:-1 1:0\n1:0 1:0 1:0\n"), "'1:-1'"},
      {"nothing measured", Text("- - -\n- - -\n"), "nothing was measured"},
  };
  ASSERT_TRUE(ParseGemmRows(good));
  for (const Case& c : cases) {
    const auto rows = ParseGemmRows(c.text);
    ASSERT_FALSE(rows) << c.name;
    EXPECT_NE(rows.error().message.find(c.part), std::string::npos)
        << c.name << ": " << rows.error().message;
  }
}

}  // namespace
}  // namespace eidolon::timing::model
