#include "services/machine_code/cubin/cubin.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "services/machine_code/cubin/elf_file.h"
#include "services/machine_code/cubin/fat_binary.h"
#include "services/machine_code/cubin/test_files.h"

namespace eidolon::cubin {
namespace {

std::vector<std::byte> SampleFor(Capability device) {
  const std::string file = ReadSample("zstandard.fatbin");
  const auto binary = FatBinary::Parse(std::as_bytes(std::span(file)));
  return *Unpack(*binary->Choose(device));
}

const Function* Find(const Code& code, std::string_view name) {
  const auto found = std::ranges::find(code.functions, name, &Function::name);
  return found == code.functions.end() ? nullptr : &*found;
}

class CubinTest : public testing::TestWithParam<std::uint32_t> {
 protected:
  CubinTest() : bytes_(SampleFor({GetParam() / 10, GetParam() % 10})) {
    auto code = ParseCubin(bytes_);
    EXPECT_TRUE(code) << code.error().message;
    if (code) code_ = std::move(*code);
  }

  std::vector<std::byte> bytes_;
  Code code_;
};

TEST_P(CubinTest, KnowsItsArchitecture) { EXPECT_EQ(code_.target.architecture, GetParam()); }

TEST_P(CubinTest, ReadsParameterLayouts) {
  ASSERT_EQ(code_.functions.size(), 4u);
  const Function* scale = Find(code_, "scale");
  ASSERT_NE(scale, nullptr);
  EXPECT_EQ(scale->parameters, (std::vector<Parameter>{{0, 8}, {8, 4}, {12, 4}}));
  EXPECT_EQ(scale->parameter_bytes, 16u);
  const Function* tile = Find(code_, "tile");
  ASSERT_NE(tile, nullptr);
  EXPECT_EQ(tile->parameters, (std::vector<Parameter>{{0, 40}, {40, 1}, {48, 8}}));
  EXPECT_EQ(tile->parameter_bytes, 56u);
  const Function* bulk = Find(code_, "_Z4bulkPN3foo3BarE");
  ASSERT_NE(bulk, nullptr);
  EXPECT_EQ(bulk->parameters, (std::vector<Parameter>{{0, 4200}, {4200, 8}}));
  const Function* nothing = Find(code_, "nothing");
  ASSERT_NE(nothing, nullptr);
  EXPECT_TRUE(nothing->parameters.empty());
}

TEST_P(CubinTest, ReadsResources) {
  const Function* tile = Find(code_, "tile");
  ASSERT_NE(tile, nullptr);

  EXPECT_EQ(tile->static_shared_bytes, 4096u);  // Without what the system reserves.
  EXPECT_EQ(tile->barriers, 1u);
  EXPECT_EQ(tile->block_max, (std::array<std::uint32_t, 3>{256, 1, 1}));
  EXPECT_GE(tile->registers, 6u);
  EXPECT_LE(tile->registers, 24u);
  const Function* bulk = Find(code_, "_Z4bulkPN3foo3BarE");
  EXPECT_EQ(bulk->block_required, (std::array<std::uint32_t, 3>{128, 1, 1}));
  EXPECT_EQ(bulk->static_shared_bytes, 0u);
}

TEST_P(CubinTest, ReadsVariables) {
  const auto find = [&](std::string_view name) {
    return std::ranges::find(code_.variables, name, &Variable::name);
  };
  ASSERT_EQ(code_.variables.size(), 3u);
  EXPECT_EQ(find("counter")->bytes, 4u);
  EXPECT_EQ(find("table")->bytes, 256u);
  EXPECT_FALSE(find("table")->constant);
  EXPECT_EQ(find("factors")->bytes, 16u);
  EXPECT_TRUE(find("factors")->constant);
  EXPECT_EQ(code_.constant_bytes, 16u);
}

TEST_P(CubinTest, MeasuresItself) { EXPECT_EQ(CubinBytes(bytes_.data()), bytes_.size()); }

TEST_P(CubinTest, RefusesEveryTruncation) {
  // Behind the section headers come only program headers, which nothing here reads.
  std::uint64_t sections = 0;
  std::uint16_t count = 0;
  std::memcpy(&sections, bytes_.data() + 40, sizeof(sections));
  std::memcpy(&count, bytes_.data() + 60, sizeof(count));
  for (std::size_t size = 0; size < sections + count * 64u; size += 97) {
    EXPECT_FALSE(ParseCubin(Bytes(bytes_).first(size))) << size;
  }
}

INSTANTIATE_TEST_SUITE_P(Architectures, CubinTest, testing::Values(75, 80, 90, 100, 103, 120));

TEST(CubinRefusalTest, NamesTheMachineOfAnotherElfFile) {
  std::vector<std::byte> bytes = SampleFor({9, 0});
  bytes[18] = std::byte{62};  // x86-64.

  const auto code = ParseCubin(bytes);

  ASSERT_FALSE(code);
  EXPECT_NE(code.error().message.find("machine type 62"), std::string::npos);
}

TEST(CubinSizesTest, RefusesMemoryOfMoreThanFourGibibytes) {
  for (const std::string_view name : {".nv.shared.tile", ".nv.constant3"}) {
    std::vector<std::byte> bytes = SampleFor({9, 0});
    const auto elf = ParseElf(bytes);
    ASSERT_TRUE(elf);
    const auto section = std::ranges::find(elf->sections, name, &ElfSection::name);
    ASSERT_NE(section, elf->sections.end()) << name;
    Elf64_Shdr header = section->header;
    header.sh_type = SHT_NOBITS;  // Without content, so that any size is possible.
    const auto number = static_cast<std::size_t>(section - elf->sections.begin());
    const auto set_size = [&](std::uint64_t size) {
      header.sh_size = size;
      std::memcpy(bytes.data() + elf->header.e_shoff + number * sizeof(header), &header,
                  sizeof(header));
    };

    set_size(0xffffffff);
    EXPECT_TRUE(ParseCubin(bytes)) << name;
    set_size(0x100000000);
    EXPECT_FALSE(ParseCubin(bytes)) << name;
  }
}

}  // namespace
}  // namespace eidolon::cubin
