#include "services/machine_code/cubin/program.h"

#include <gtest/gtest.h>

#include "services/machine_code/cubin/fat_binary.h"
#include "services/machine_code/cubin/test_files.h"

namespace eidolon::cubin {
namespace {

std::string SampleCubin() {
  const std::string file = ReadSample("zstandard.fatbin");
  const auto binary = FatBinary::Parse(std::as_bytes(std::span(file)));
  const auto code = Unpack(*binary->Choose({9, 0}));
  return {reinterpret_cast<const char*>(code->data()), code->size()};
}

Bytes ProgramBytes(const std::string& text) { return std::as_bytes(std::span(text)); }

TEST(ProgramTest, FindsTheCodeOfEachKernel) {
  const std::string cubin = SampleCubin();
  const auto program = ParseProgram(ProgramBytes(cubin));
  ASSERT_TRUE(program) << program.error().message;

  const auto section = program->FindSection(".text.scale");
  ASSERT_TRUE(section.has_value());
  EXPECT_TRUE(program->sections[*section].executable);
  EXPECT_EQ(program->sections[*section].content.size() % 16, 0u);
  EXPECT_FALSE(program->FindSection(".text.absent").has_value());
}

TEST(ProgramTest, RefusesBytesThatAreCutShort) {
  const std::string cubin = SampleCubin();
  for (std::size_t size = 0; size < cubin.size(); size += 97) {
    (void)ParseProgram(ProgramBytes(cubin).first(size));
  }

  EXPECT_FALSE(ParseProgram(ProgramBytes(cubin).first(cubin.size() / 2)));
}

}  // namespace
}  // namespace eidolon::cubin
