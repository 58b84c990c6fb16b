#include "services/machine_code/interpret/constant_reads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "services/machine_code/cubin/cubin.h"
#include "services/machine_code/cubin/program.h"
#include "source_tree.h"

namespace eidolon::interpret {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::Field;
using testing::Not;

// A kernel of services/machine_code/cubin/testdata/stores.ptx.
Program LoadReader(const std::string& name) {
  std::ifstream file(
      std::string(EIDOLON_SOURCE_DIR) + "/services/machine_code/cubin/testdata/stores.cubin",
      std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const auto bytes = std::as_bytes(std::span(text));
  const auto code = cubin::ParseCubin(bytes);
  const auto sections = cubin::ParseProgram(bytes);
  Program program;
  for (const cubin::Function& function : code->functions) {
    if (function.name == name) program.parameter_base = function.parameter_base;
  }
  const auto section = sections->sections[*sections->FindSection(".text." + name)];
  const auto done = Translate(section.content, program);
  EXPECT_TRUE(done) << done.error().message;
  return program;
}

bool IsRead(const std::vector<ParameterRead>& reads, std::uint32_t byte) {
  for (const ParameterRead& read : reads) {
    if (byte >= read.offset && byte < read.offset + read.bytes) return true;
  }
  return false;
}

TEST(ConstantReadsTest, EveryParameterThatIsUsedIsRead) {
  const auto reads = ParameterReads(LoadReader("scatter"));

  EXPECT_TRUE(IsRead(reads, 0));
  EXPECT_TRUE(IsRead(reads, 15));
  EXPECT_THAT(reads, Each(Field(&ParameterRead::indexed, false)));
}

// What the launch says (block sizes, the stack) is not a parameter.
TEST(ConstantReadsTest, WhatLiesBeforeTheParametersIsLeftOut) {
  Program program;
  Step step;
  step.operation = sass::Operation::kMov;
  step.b = {.kind = Operand::Kind::kConstant, .bank = 0, .offset = 0x28};
  program.steps.push_back(step);
  step.b.offset = 0x214;
  program.steps.push_back(step);
  step.b.bank = 3;
  program.steps.push_back(step);

  EXPECT_THAT(ParameterReads(program), testing::ElementsAre(ParameterRead{4, 4, false}));
}

TEST(ConstantReadsTest, AnOperationThatMayTakeTwoWordsReadsBoth) {
  Program program;
  Step step;
  step.operation = sass::Operation::kDadd;
  step.b = {.kind = Operand::Kind::kConstant, .bank = 0, .offset = 0x210};
  program.steps.push_back(step);

  EXPECT_THAT(ParameterReads(program), testing::ElementsAre(ParameterRead{0, 8, false}));
}

// LDC.U16 R8, c[0x0][R8+0x210], from a list of tensors.
TEST(ConstantReadsTest, AnIndexIsTold) {
  Program program;
  Step step;
  step.operation = sass::Operation::kLdc;
  step.word.low = 0x0000840008087b82;
  step.word.high = 0x0000000000000400;
  program.steps.push_back(step);

  const auto reads = ParameterReads(program);

  ASSERT_EQ(reads.size(), 1u);
  EXPECT_TRUE(reads[0].indexed);
  EXPECT_EQ(reads[0].offset, 0u);
  EXPECT_EQ(reads[0].bytes, 2u);
}

// LDCU.64 UR4, c[0x0][0x388] of 10.0, whose fields lie elsewhere than those of 9.0's ULDC.
TEST(ConstantReadsTest, UniformLoadsAreReadAsTheirDialectHasThem) {
  Program program;
  program.dialect = sass::Dialect::k100;
  program.parameter_base = 0x380;
  const std::uint64_t word[2] = {0x00007100ff0477ac, 0x000eae0008000a00};
  const auto done = Translate(std::as_bytes(std::span(word)), program);
  ASSERT_TRUE(done) << done.error().message;

  EXPECT_THAT(ParameterReads(program), testing::ElementsAre(ParameterRead{8, 8, false}));
}

}  // namespace
}  // namespace eidolon::interpret
