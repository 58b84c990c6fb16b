// Tests what lanes of a warp have in common, and what a launch adds to shared memory.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <span>
#include <string>

#include "services/machine_code/cubin/cubin.h"
#include "services/machine_code/cubin/program.h"
#include "services/machine_code/interpret/run.h"
#include "source_tree.h"

namespace eidolon::interpret {
namespace {

constexpr std::uint64_t kLanesBuffer = 0x6b0100000000;
constexpr std::uint32_t kReversed = 0x8000000d;
constexpr std::size_t kResultWords = 8;  // Of a lane's results.

// All of it known.
class LanesPage : public Memory {
 public:
  LanesPage() { page_.known.fill(~std::uint64_t{0}); }
  Page* FindPage(std::uint64_t number) override {
    return number == kLanesBuffer / kPageBytes ? &page_ : nullptr;
  }
  void Put(std::size_t lane, std::uint64_t value) {
    std::memcpy(page_.bytes.data() + lane * 8, &value, 8);
  }
  std::uint32_t Result(std::size_t lane, std::size_t word) const {
    std::uint32_t value = 0;
    std::memcpy(&value, page_.bytes.data() + 256 + (lane * kResultWords + word) * 4, 4);
    return value;
  }

 private:
  Page page_{};
};

// The kernel of services/machine_code/cubin/testdata/lanes.ptx.
Program LoadLanesKernel(const std::string& name, sass::Dialect dialect) {
  std::ifstream file(
      std::string(EIDOLON_SOURCE_DIR) + "/services/machine_code/cubin/testdata/" + name,
      std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(file), {});
  const auto view = std::as_bytes(std::span(bytes));
  const auto sections = cubin::ParseProgram(view);
  const auto function = cubin::ParseCubin(view)->functions[0];
  Program program;
  program.dialect = dialect;
  program.registers = function.registers;
  program.parameter_base = function.parameter_base;
  const auto text = sections->sections[*sections->FindSection(".text.lanes")];
  const auto done = Translate(text.content, program);
  EXPECT_TRUE(done) << done.error().message;
  return program;
}

struct LanesParameters {
  std::uint64_t buffer = kLanesBuffer;
  std::uint32_t number = kReversed;
};

class MatchTest : public testing::TestWithParam<std::pair<const char*, sass::Dialect>> {
 protected:
  // The values of 32 lanes.
  LanesPage Run(auto value_of) {
    LanesPage memory;
    for (std::uint64_t lane = 0; lane < 32; ++lane) memory.Put(lane, value_of(lane));
    const Program program = LoadLanesKernel(GetParam().first, GetParam().second);
    const LanesParameters parameters;
    const Outcome outcome = interpret::Run(
        program,
        {.block = {32, 1, 1},
         .dynamic_shared_bytes = 1000,
         .parameters = std::as_bytes(std::span(&parameters, 1)).first(sizeof(std::uint64_t) + 4)},
        memory, {});
    EXPECT_EQ(outcome.stop, Stop::kNone);
    return memory;
  }
};

TEST_P(MatchTest, LanesKnowThoseWithTheSameValue) {
  const LanesPage memory = Run([](std::uint64_t lane) { return (lane % 2) << 32 | lane % 3; });

  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    std::uint32_t words = 0;
    std::uint32_t pairs = 0;
    for (std::uint32_t other = 0; other < 32; ++other) {
      words |= std::uint32_t{other % 3 == lane % 3} << other;
      pairs |= std::uint32_t{other % 6 == lane % 6} << other;
    }
    EXPECT_EQ(memory.Result(lane, 0), words);
    EXPECT_EQ(memory.Result(lane, 1), pairs);
    EXPECT_EQ(memory.Result(lane, 2), 0u) << "upper words differ";
    EXPECT_EQ(memory.Result(lane, 3), 0u);
    EXPECT_EQ(memory.Result(lane, 4), 0u) << "neither holds for all";
  }
}

TEST_P(MatchTest, AllLanesMayHaveOneValueInCommon) {
  const LanesPage memory = Run([](std::uint64_t lane) { return std::uint64_t{7} << 32 | lane; });

  EXPECT_EQ(memory.Result(5, 2), ~0u);
  EXPECT_EQ(memory.Result(5, 3), 0u) << "lower words differ";
  EXPECT_EQ(memory.Result(5, 4), 1u);
  const LanesPage same = Run([](std::uint64_t) { return std::uint64_t{7} << 32 | 9; });
  EXPECT_EQ(same.Result(31, 3), ~0u);
  EXPECT_EQ(same.Result(31, 4), 3u);
}

TEST_P(MatchTest, BitsOfAParameterAreReversedAndDynamicSharedMemoryHasItsSize) {
  const LanesPage memory = Run([](std::uint64_t lane) { return lane; });

  EXPECT_EQ(memory.Result(3, 5), 0xb0000001u);
  EXPECT_EQ(memory.Result(3, 6), 1000u);
  EXPECT_EQ(memory.Result(3, 7), kReversed) << "a load that ends behind the last byte";
}

INSTANTIATE_TEST_SUITE_P(Dialects, MatchTest,
                         testing::Values(std::pair{"lanes_80.cubin", sass::Dialect::k80},
                                         std::pair{"lanes_90.cubin", sass::Dialect::k90}),
                         [](const auto& test) { return std::string(test.param.first, 8); });

}  // namespace
}  // namespace eidolon::interpret
