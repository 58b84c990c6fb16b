#include "services/machine_code/cubin/ptx.h"

#include <gtest/gtest.h>

#include "services/machine_code/cubin/test_files.h"

namespace eidolon::cubin {
namespace {

TEST(PtxTest, ReadsTheSampleLikeItsCubin) {
  const std::string text = ReadSample("sample.ptx");

  const auto code = ParsePtx(text);

  ASSERT_TRUE(code) << code.error().message;
  EXPECT_EQ(Name(code->target), "sm_75");
  ASSERT_EQ(code->functions.size(), 4u);
  const Function& tile = code->functions[1];
  EXPECT_EQ(tile.name, "tile");
  EXPECT_EQ(tile.parameters, (std::vector<Parameter>{{0, 40}, {40, 1}, {48, 8}}));
  EXPECT_EQ(tile.block_max, (std::array<std::uint32_t, 3>{256, 1, 1}));
  EXPECT_EQ(tile.static_shared_bytes, 4096u);
  EXPECT_EQ(code->functions[3].block_required, (std::array<std::uint32_t, 3>{128, 1, 1}));
  ASSERT_EQ(code->variables.size(), 3u);
  EXPECT_EQ(code->constant_bytes, 16u);
}

TEST(PtxTest, ReadsWhatTritonWrites) {
  const auto code = ParsePtx(R"(
.version 8.7
.target sm_90a
.address_size 64
	// .globl	kernel
.extern .shared .align 16 .b8 global_smem[];
.visible .entry kernel(
	.param .u64 .ptr .global .align 1 kernel_param_0,
	.param .u32 kernel_param_1,
	.param .u64 .ptr .global .align 1 kernel_param_2
)
.reqntid 128
.maxnreg 255
{
	.loc	1 18 0
	.pragma "nounroll { }";
	ret;
}
	.file	1 "/some/where{.py"
)");

  ASSERT_TRUE(code) << code.error().message;
  EXPECT_EQ(Name(code->target), "sm_90a");
  ASSERT_EQ(code->functions.size(), 1u);
  EXPECT_EQ(code->functions[0].parameters, (std::vector<Parameter>{{0, 8}, {8, 4}, {16, 8}}));
  EXPECT_EQ(code->functions[0].block_required, (std::array<std::uint32_t, 3>{128, 1, 1}));
  EXPECT_TRUE(code->variables.empty());
}

TEST(PtxTest, SkipsDeviceFunctionsAndComments) {
  const auto code = ParsePtx(
      ".target sm_80 /* .entry no() { } */ .func (.param .b32 r) f(.param .b32 a) { { ret; } }"
      ".func g; .weak .entry e() { ret; } // .entry no() { }");

  ASSERT_TRUE(code) << code.error().message;
  ASSERT_EQ(code->functions.size(), 1u);
  EXPECT_EQ(code->functions[0].name, "e");
}

TEST(PtxTest, NamesTheLineThatIsWrong) {
  const auto code = ParsePtx(".target sm_80\n\n.entry k(.param .u99 x)\n{ }");

  ASSERT_FALSE(code);
  EXPECT_NE(code.error().message.find("PTX line 3"), std::string::npos) << code.error().message;
  EXPECT_FALSE(ParsePtx("hello"));
  EXPECT_FALSE(ParsePtx(".target sm_90a\n.target sm_\n"));
  EXPECT_FALSE(ParsePtx(".target sm_80 .entry k() { ret;"));
}

TEST(PtxTest, RefusesMemoryOfMoreThanFourGibibytes) {
  const auto shared = [](const std::string& length) {
    return ParsePtx(
        ".target sm_80 .entry e() { .shared .align 4 .b8 a[16]; .shared .align 4 .b8 b[" + length +
        "]; ret; }");
  };
  const auto constant = [](const std::string& length) {
    return ParsePtx(".target sm_80 .const .b8 a[16]; .const .b8 b[" + length + "];");
  };

  ASSERT_TRUE(shared("4294967279"));
  EXPECT_EQ(shared("4294967279")->functions[0].static_shared_bytes, 0xffffffff);
  EXPECT_FALSE(shared("4294967280"));
  ASSERT_TRUE(constant("4294967279"));
  EXPECT_EQ(constant("4294967279")->constant_bytes, 0xffffffff);
  EXPECT_FALSE(constant("4294967280"));
}

}  // namespace
}  // namespace eidolon::cubin
