#include "services/machine_code/cubin/attributes.h"

#include <gtest/gtest.h>

#include <string>

namespace eidolon::cubin {
namespace {

// An attribute list put together byte by byte.
class List {
 public:
  List& Value(std::uint8_t attribute, std::uint16_t value) {
    return Byte(3).Byte(attribute).Half(value);
  }
  List& Wide(std::uint16_t ordinal, std::uint16_t offset, std::uint16_t bytes) {
    return Byte(4).Byte(0x45).Half(12).Word(0).Half(ordinal).Half(offset).Half(bytes).Half(0);
  }
  List& Packed(std::uint16_t ordinal, std::uint16_t offset, std::uint32_t bytes) {
    return Byte(4).Byte(0x17).Half(12).Word(0).Half(ordinal).Half(offset).Word(bytes << 18 |
                                                                               0x1f000);
  }
  List& Byte(std::uint8_t value) {
    text_.push_back(static_cast<char>(value));
    return *this;
  }
  List& Half(std::uint16_t value) {
    return Byte(static_cast<std::uint8_t>(value)).Byte(static_cast<std::uint8_t>(value >> 8));
  }
  List& Word(std::uint32_t value) {
    return Half(static_cast<std::uint16_t>(value)).Half(static_cast<std::uint16_t>(value >> 16));
  }
  Bytes bytes() const { return std::as_bytes(std::span(text_)); }

 private:
  std::string text_;
};

TEST(AttributesTest, ReadsTheWideFormOfLargeParameters) {
  Function function;
  const List list = List().Wide(1, 16384, 8).Wide(0, 0, 16384).Value(0x19, 16392);

  ASSERT_TRUE(ReadFunctionAttributes(list.bytes(), function));

  EXPECT_EQ(function.parameters, (std::vector<Parameter>{{0, 16384}, {16384, 8}}));
  EXPECT_EQ(function.parameter_bytes, 16392u);
}

TEST(AttributesTest, SkipsWhatItDoesNotKnow) {
  Function function;
  const List list =
      List().Value(0x77, 5).Byte(4).Byte(0x78).Half(3).Byte(1).Byte(2).Byte(3).Packed(0, 0, 4);

  ASSERT_TRUE(ReadFunctionAttributes(list.bytes(), function));

  EXPECT_EQ(function.parameters.size(), 1u);
  EXPECT_EQ(function.parameter_bytes, 4u);  // Without a total, the end of the last one.
}

TEST(AttributesTest, ReadsWhereIndirectBranchesLead) {
  const List list = List()
                        .Value(0x19, 8)
                        .Byte(4)
                        .Byte(0x34)
                        .Half(32)
                        .Word(0x230)
                        .Word(0)
                        .Word(2)
                        .Word(0x240)
                        .Word(0x300)
                        .Word(0x400)
                        .Word(0)
                        .Word(0);
  const std::vector<IndirectBranch> branches = ReadIndirectBranches(list.bytes());

  ASSERT_EQ(branches.size(), 2u);
  EXPECT_EQ(branches[0].at, 0x230u);
  EXPECT_EQ(branches[0].targets, (std::vector<std::uint32_t>{0x240, 0x300}));
  EXPECT_TRUE(branches[1].targets.empty());
}

TEST(AttributesTest, LeavesOutIndirectBranchesThatAreCutShort) {
  const List list = List().Byte(4).Byte(0x34).Half(16).Word(0x230).Word(0).Word(2).Word(0x240);

  EXPECT_TRUE(ReadIndirectBranches(list.bytes()).empty());
}

TEST(AttributesTest, RefusesLayoutsThatALaunchCouldNotCopy) {
  const List overlapping = List().Packed(0, 0, 8).Packed(1, 4, 8);
  const List gap = List().Packed(0, 0, 8).Packed(2, 8, 8);
  const List outside = List().Packed(0, 0, 64).Value(0x19, 32);
  const List cut = List().Byte(4).Byte(0x17).Half(12).Word(0);
  for (const List* list : {&overlapping, &gap, &outside, &cut}) {
    Function function;
    EXPECT_FALSE(ReadFunctionAttributes(list->bytes(), function));
  }
}

}  // namespace
}  // namespace eidolon::cubin
