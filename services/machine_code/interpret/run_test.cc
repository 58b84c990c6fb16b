#include "services/machine_code/interpret/run.h"
#include "services/base/small_float.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "services/base/random.h"
#include "services/machine_code/cubin/cubin.h"
#include "services/machine_code/cubin/fat_binary.h"
#include "services/machine_code/cubin/program.h"
#include "services/machine_code/interpret/float_math.h"
#include "services/machine_code/interpret/samples_test.h"
#include "source_tree.h"

namespace eidolon::interpret {
namespace {

class RunOnTest : public testing::TestWithParam<cubin::Capability> {};
INSTANTIATE_TEST_SUITE_P(Devices, RunOnTest, testing::ValuesIn(kSampleDevices),
                         [](const auto& test) {
                           return "Of" + std::to_string(test.param.number());
                         });

TEST_P(RunOnTest, ComputesWhatTheKernelComputes) {
  const Program program = LoadKernel("scale", SampleCubin(GetParam()));
  BufferMemory memory(1);
  for (int i = 0; i < 1024; ++i) memory.At<float>(i) = static_cast<float>(i);
  const ScaleParameters parameters;

  const Outcome outcome = interpret::Run(program, ScaleLaunch(parameters), memory, {});

  EXPECT_EQ(outcome.stop, Stop::kNone);
  for (int i = 0; i < 1024; ++i) {
    EXPECT_EQ(memory.At<float>(i), static_cast<float>(i < 1000 ? 3 * i : i)) << i;
  }
  // Exactly the 4,000 bytes that it wrote are marked.
  EXPECT_EQ(memory.page(0).written[62], 0xffffffffu);
  EXPECT_EQ(memory.page(0).written[61], ~std::uint64_t{0});
  EXPECT_EQ(memory.page(0).written[63], 0u);
}

TEST(RunTest, AConstantOutsideItsBankIsAFault) {
  Program program = LoadKernel("scale");
  program.parameter_base = 0x100;  // So bank 0 ends before the place where the code looks.
  BufferMemory memory(1);
  Launch launch = ScaleLaunch({});
  launch.parameters = {};

  EXPECT_EQ(interpret::Run(program, launch, memory, {}).stop, Stop::kFault);
}

TEST(RunTest, AConstantOfTheDriversWithoutAMeaningIsRefused) {
  const auto bytes = SampleCubin();
  const auto sections = cubin::ParseProgram(bytes);
  const auto text = sections->sections[*sections->FindSection(".text.scale")].content;
  // Its ISETP compares with a uniform register: made one that compares with a constant.
  const auto compare_with = [&text](std::uint64_t offset) {
    std::vector<std::byte> code(text.begin(), text.end());
    std::array<std::uint64_t, 2> word;
    std::byte* const place = code.data() + 6 * sass::kWordBytes;
    std::memcpy(word.data(), place, sizeof(word));
    word[0] = (word[0] & 0xffff'f000) | 0xa0c | offset / 4 << 40;
    word[1] &= ~(std::uint64_t{1} << (91 - 64));
    std::memcpy(place, word.data(), sizeof(word));
    return code;
  };

  Program program;
  ASSERT_TRUE(Translate(compare_with(0x21c), program));
  EXPECT_EQ(program.steps[6].b.kind, Operand::Kind::kConstant);
  EXPECT_EQ(program.steps[6].b.offset, 0x21cu);
  EXPECT_TRUE(program.banks_read.contains(0));
  EXPECT_FALSE(Translate(compare_with(0x100), program));
}

TEST(RunTest, StopsBeforeItUsesAByteThatNobodyKnows) {
  const Program program = LoadKernel("scale");
  BufferMemory memory(1);
  memory.page(0).known[1] = 0;
  const ScaleParameters parameters;

  const Outcome outcome = interpret::Run(program, ScaleLaunch(parameters), memory, {});

  EXPECT_EQ(outcome.stop, Stop::kUnknownRead);
  EXPECT_EQ(outcome.address, kBuffer + 64);
}

TEST(RunTest, FaultsOutsideMemory) {
  const Program program = LoadKernel("scale");
  BufferMemory memory(1);
  const ScaleParameters beyond{.count = 1025};
  Launch launch = ScaleLaunch(beyond);
  launch.grid.x = 9;

  const Outcome outcome = interpret::Run(program, launch, memory, {});

  EXPECT_EQ(outcome.stop, Stop::kFault);
  EXPECT_EQ(outcome.address, kBuffer + 4096);
}

TEST(RunTest, FaultsOnMisalignedAddresses) {
  const Program program = LoadKernel("scale");
  BufferMemory memory(1);
  const ScaleParameters odd{.out = kBuffer + 2};

  EXPECT_EQ(interpret::Run(program, ScaleLaunch(odd), memory, {}).stop, Stop::kFault);
}

TEST(RunTest, EndsAtItsLimit) {
  const Program program = LoadKernel("scale");
  BufferMemory memory(1);
  const ScaleParameters parameters;

  EXPECT_EQ(interpret::Run(program, ScaleLaunch(parameters), memory, {.warp_steps = 40}).stop,
            Stop::kLimit);
}

TEST(RunTest, EndsWhereItsFirstBlocksForetellTooMuch) {
  const Program program = LoadKernel("scale");
  const ScaleParameters parameters;
  interpret::Launch launch = ScaleLaunch(parameters);
  launch.grid = {1000, 1, 1};
  BufferMemory memory(1);
  const Outcome whole = interpret::Run(program, launch, memory, {});
  ASSERT_EQ(whole.stop, Stop::kNone);

  BufferMemory again(1);
  const Outcome foretold = interpret::Run(program, launch, again, {.foretold_warp_steps = 1000});
  EXPECT_EQ(foretold.stop, Stop::kLimit);
  EXPECT_LE(foretold.lane_steps, whole.lane_steps / 50);

  BufferMemory enough(1);
  EXPECT_EQ(interpret::Run(program, launch, enough, {.foretold_warp_steps = 1'000'000}).stop,
            Stop::kNone);
}

TEST_P(RunOnTest, ThreadsMeetAtABarrierAndExchangeThroughSharedMemory) {
  const Program program = LoadKernel("tile", SampleCubin(GetParam()));
  BufferMemory memory(1);
  struct {
    std::uint64_t pack[5] = {0, 0, kBuffer + 8, 0, 0};
    std::uint8_t flag = 77;
    std::uint64_t out = kBuffer;
  } parameters;

  const Outcome outcome = interpret::Run(program,
                                         {.grid = {1, 1, 1},
                                          .block = {256, 1, 1},
                                          .parameters = std::as_bytes(std::span(&parameters, 1))},
                                         memory, {});

  EXPECT_EQ(outcome.stop, Stop::kNone);
  EXPECT_EQ(memory.At<std::uint32_t>(0), 77u);
  EXPECT_EQ(memory.At<std::uint32_t>(2), 77u);
}

TEST_P(RunOnTest, AWarpMultipliesMatricesFromSharedMemory) {
  const std::string name =
      GetParam().number() == 90 ? "matrix" : "matrix_" + std::to_string(GetParam().number());
  const std::vector<std::byte> cubin = ReadCubin(name + ".cubin");
  const Program program = LoadKernel("product", cubin);
  BufferMemory memory(1);
  // Small whole numbers: exact in half precision, and sums too.
  const auto a = [](int row, int i) { return (row * 3 + i * 5) % 7 - 3; };
  const auto b = [](int i, int column) { return (i * 2 + column * 11) % 9 - 4; };
  const auto half = [](int number) { return base::DoubleToHalf(number); };
  for (int i = 0; i < 256; ++i) memory.At<std::uint16_t>(i) = half(a(i / 16, i % 16));
  for (int i = 0; i < 128; ++i) memory.At<std::uint16_t>(256 + i) = half(b(i / 8, i % 8));
  const std::uint64_t parameters[] = {kBuffer, kBuffer + 512, kBuffer + 1024};

  const Outcome outcome = interpret::Run(
      program,
      {.grid = {1, 1, 1}, .block = {32, 1, 1}, .parameters = std::as_bytes(std::span(parameters))},
      memory, {});

  EXPECT_EQ(outcome.stop, Stop::kNone);
  for (int row = 0; row < 16; ++row) {
    for (int column = 0; column < 8; ++column) {
      int sum = 0;
      for (int i = 0; i < 16; ++i) sum += a(row, i) * b(i, column);
      EXPECT_EQ(memory.At<float>(256 + row * 8 + column), static_cast<float>(sum))
          << row << ", " << column;
    }
  }
}

Program LoadForDevice(const std::string& kernel, cubin::Capability device) {
  return LoadKernel(kernel, ReadCubin("devices_" + std::to_string(device.number()) + ".cubin"));
}

TEST_P(RunOnTest, GenericAddressesLeadToSharedAndLocalMemory) {
  Program program = LoadForDevice("windows", GetParam());
  program.local_bytes = 64;
  BufferMemory memory(1);
  const struct {
    std::uint64_t out = kBuffer;
    std::uint32_t index = 11;
  } parameters;

  const Outcome outcome =
      interpret::Run(program, {.parameters = std::as_bytes(std::span(&parameters, 1))}, memory, {});

  EXPECT_EQ(outcome.stop, Stop::kNone);
  EXPECT_EQ(memory.At<std::uint32_t>(0), 11u);
  EXPECT_EQ(memory.At<std::uint32_t>(1), 12u);
  EXPECT_EQ(memory.At<std::uint32_t>(2), 1u);
  EXPECT_EQ(memory.At<std::uint32_t>(3), 1u);
}

TEST_P(RunOnTest, AtomicsUpdateCellsAndGiveWhatTheyHeld) {
  const Program program = LoadForDevice("atomics", GetParam());
  BufferMemory memory(1);
  memory.At<float>(0) = 1.5F;
  memory.At<std::int32_t>(1) = 5;
  memory.At<std::int32_t>(2) = 6;
  memory.At<std::int32_t>(3) = -2;
  memory.At<std::int64_t>(2) = -9;
  memory.At<double>(3) = 0.25;
  memory.At<float>(8) = 4;
  memory.At<std::int32_t>(9) = -5;
  memory.At<double>(5) = 10;
  memory.At<std::int64_t>(6) = 8;
  const std::uint64_t parameters[] = {kBuffer, kBuffer + 256};

  const Outcome outcome =
      interpret::Run(program, {.parameters = std::as_bytes(std::span(parameters))}, memory, {});

  EXPECT_EQ(outcome.stop, Stop::kNone);
  EXPECT_EQ(memory.At<float>(0), 3.5F);
  EXPECT_EQ(memory.At<std::int32_t>(1), 9);
  EXPECT_EQ(memory.At<std::int32_t>(2), 5);
  EXPECT_EQ(memory.At<std::int32_t>(3), -3);
  EXPECT_EQ(memory.At<std::int64_t>(2), -7);
  EXPECT_EQ(memory.At<double>(3), 3.25);
  EXPECT_EQ(memory.At<float>(8), 6.0F);
  EXPECT_EQ(memory.At<std::int32_t>(9), 5);
  EXPECT_EQ(memory.At<double>(5), 13.0);
  EXPECT_EQ(memory.At<std::int64_t>(6), 1);
  EXPECT_EQ(memory.At<float>(64), 1.5F);
  EXPECT_EQ(memory.At<std::int32_t>(65), 5);
  EXPECT_EQ(memory.At<std::int32_t>(66), 6);
  EXPECT_EQ(memory.At<std::int32_t>(67), -2);
  EXPECT_EQ(memory.At<std::int64_t>(34), -9);
  EXPECT_EQ(memory.At<double>(35), 0.25);
}

TEST_P(RunOnTest, ThreadsAddToOneCellOfSharedMemory) {
  const std::string file = "shared_add_" + std::to_string(GetParam().number()) + ".cubin";
  const Program program = LoadKernel("total", ReadCubin(file));
  BufferMemory memory(1);
  const std::uint64_t out = kBuffer;

  const Outcome outcome = interpret::Run(
      program, {.block = {64, 1, 1}, .parameters = std::as_bytes(std::span(&out, 1))}, memory, {});

  EXPECT_EQ(outcome.stop, Stop::kNone);
  EXPECT_EQ(memory.At<float>(0), 63.0F * 64 / 2);
}

TEST_P(RunOnTest, AWarpVotesAndReduces) {
  const Program program = LoadForDevice("agree", GetParam());
  BufferMemory memory(1);
  const struct {
    std::uint64_t out = kBuffer;
    std::int32_t count = 20;
  } parameters;

  const Outcome outcome = interpret::Run(
      program, {.block = {32, 1, 1}, .parameters = std::as_bytes(std::span(&parameters, 1))},
      memory, {});

  EXPECT_EQ(outcome.stop, Stop::kNone);
  std::int32_t sum = 0;
  for (int i = 0; i < 32; ++i) {
    const std::int32_t bounded = std::clamp((i - 9) * (i - 9), 7, 50);
    sum += bounded;
    EXPECT_EQ(memory.At<std::int32_t>(2 + i), bounded) << i;
  }
  EXPECT_EQ(memory.At<std::uint32_t>(0), 20u);
  EXPECT_EQ(memory.At<std::int32_t>(1), sum);
}

TEST(RunTest, LanesElectOneOfThem) {
  const Program program = LoadKernel("elect", ReadCubin("elect_90.cubin"));
  BufferMemory memory(1);
  const struct {
    std::uint64_t out = kBuffer;
    std::uint32_t from = 5;
  } parameters;

  const Outcome outcome = interpret::Run(
      program, {.block = {32, 1, 1}, .parameters = std::as_bytes(std::span(&parameters, 1))},
      memory, {});

  EXPECT_EQ(outcome.stop, Stop::kNone);
  std::uint32_t elected = 0;
  for (std::uint32_t lane = 5; lane < 32; ++lane) {
    elected += memory.At<std::uint32_t>(2 * lane);
    EXPECT_EQ(memory.At<std::uint32_t>(2 * lane + 1), 5u) << lane;
  }
  EXPECT_EQ(elected, 1u);
  EXPECT_EQ(memory.At<std::uint32_t>(2 * 5), 1u);
}

TEST(RunTest, WarpsMeetAtBarriersWhoseNumbersStandInRegisters) {
  const Program program = LoadKernel("named", ReadCubin("named_80.cubin"));
  BufferMemory memory(1);
  const struct {
    std::uint64_t out = kBuffer;
    std::uint32_t barrier = 5;
    std::uint32_t threads = 64;
  } parameters;

  const Outcome outcome = interpret::Run(
      program, {.block = {64, 1, 1}, .parameters = std::as_bytes(std::span(&parameters, 1))},
      memory, {});

  EXPECT_EQ(outcome.stop, Stop::kNone);
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(memory.At<std::uint32_t>(lane), 3 * lane) << lane;
  }
}

TEST(RunTest, AWarpPassesABarrierAgainOnlyWhenOthersHaveComeToIt) {
  const Program program = LoadKernel("twice", ReadCubin("named_80.cubin"));
  BufferMemory memory(1);
  const std::uint64_t out = kBuffer;

  const Outcome outcome = interpret::Run(
      program, {.block = {64, 1, 1}, .parameters = std::as_bytes(std::span(&out, 1))}, memory, {});

  EXPECT_EQ(outcome.stop, Stop::kNone);
  EXPECT_EQ(memory.At<std::uint32_t>(0), 7u);
}

TEST(RunTest, ThirtyTwoBytesTravelAtOnce) {
  const Program program = LoadKernel("turn", ReadCubin("wide_100.cubin"));
  BufferMemory memory(1);
  for (int i = 0; i < 8; ++i) memory.At<float>(8 + i) = static_cast<float>(i + 1);
  const std::uint64_t parameters[] = {kBuffer, kBuffer + 256};

  const Outcome outcome =
      interpret::Run(program, {.parameters = std::as_bytes(std::span(parameters))}, memory, {});

  EXPECT_EQ(outcome.stop, Stop::kNone);
  for (int i = 0; i < 7; ++i) EXPECT_EQ(memory.At<float>(80 + i), static_cast<float>(8 - i)) << i;
  EXPECT_EQ(memory.At<float>(87), 3.0F);  // The least of (the most of 1, 2 and 3), 4 and 5.
  EXPECT_EQ(memory.page(0).written[5], 0xffffffffu);
}

TEST(RunTest, AWarpPutsItsMatricesIntoSharedMemory) {
  const Program program = LoadKernel("keep", ReadCubin("matrix_store.cubin"));
  BufferMemory memory(1);
  const std::uint64_t out = kBuffer;

  const Outcome outcome = interpret::Run(
      program,
      {.grid = {1, 1, 1}, .block = {32, 1, 1}, .parameters = std::as_bytes(std::span(&out, 1))},
      memory, {});

  EXPECT_EQ(outcome.stop, Stop::kNone);
  for (int i = 0; i < 256; ++i) EXPECT_EQ(memory.At<std::uint16_t>(i), i) << i;
  for (int i = 0; i < 128; ++i) {
    const int row = i / 8 % 8;
    const int column = i % 8;
    EXPECT_EQ(memory.At<std::uint16_t>(256 + i), i / 64 * 64 + 8 * column + row) << i;
  }
  // The last sixteen lanes had put this behind them.
  EXPECT_EQ(memory.At<std::uint32_t>(128 + 64), 16u);
}

TEST_P(RunOnTest, TellsWhichParametersWereRead) {
  const Program program = LoadKernel("tile", SampleCubin(GetParam()));
  BufferMemory memory(1);
  std::array<std::uint64_t, 7> parameters{};
  parameters[2] = parameters[6] = kBuffer;
  std::vector<std::uint8_t> read;
  const Launch launch{.grid = {1, 1, 1},
                      .block = {32, 1, 1},
                      .parameters = std::as_bytes(std::span(parameters)),
                      .words_read = &read};

  EXPECT_EQ(interpret::Run(program, launch, memory, {}).stop, Stop::kNone);

  // 40 bytes with a pointer in the middle, a byte, a pointer.
  const std::vector<std::uint8_t> expected = {0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 0, 1, 1};
  ASSERT_GE(read.size(), expected.size());
  EXPECT_EQ(std::vector<std::uint8_t>(read.begin(), read.begin() + 14), expected);
}

TEST(RunTest, RunsOnlyTheBlocksThatWereChosen) {
  const Program program = LoadKernel("scale");
  BufferMemory memory(1);
  for (int i = 0; i < 1024; ++i) memory.At<float>(i) = 1;
  const ScaleParameters parameters;
  Launch launch = ScaleLaunch(parameters);
  const std::uint64_t blocks[] = {1, 7};
  launch.blocks = blocks;

  EXPECT_EQ(interpret::Run(program, launch, memory, {}).stop, Stop::kNone);
  for (int i = 0; i < 1000; ++i) {
    const bool chosen = i / 128 == 1 || i / 128 == 7;
    EXPECT_EQ(memory.At<float>(i), chosen ? 3.0F : 1.0F) << i;
  }
}

TEST(RunTest, AWorkspaceCarriesNothingFromLaunchToLaunch) {
  const Program program = LoadKernel("scale");
  Workspace workspace;
  for (int round = 0; round < 2; ++round) {
    BufferMemory memory(1);
    for (int i = 0; i < 1024; ++i) memory.At<float>(i) = 1;
    const ScaleParameters parameters;
    const Outcome outcome = interpret::Run(program, ScaleLaunch(parameters), memory, {}, workspace);
    EXPECT_EQ(outcome.stop, Stop::kNone);
    EXPECT_EQ(memory.At<float>(999), 3.0F);
    EXPECT_EQ(memory.At<float>(1000), 1.0F);
  }
}

TEST(RunTest, RefusesUnknownInstructionsBeforeAnyRuns) {
  std::vector<sass::Word> words = {{0x000000000000794d, 0x000fea0003800000}, {0x9f0, 0}};
  Program program;

  const auto done = Translate(std::as_bytes(std::span(words)), program);

  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, base::ErrorCode::kUnsupported);
}

// Any code ends, and touches nothing that it was not given.
TEST(RunTest, ALaunchThatNoGpuDoesIsNotTried) {
  const Program scale = LoadKernel("scale");
  const ScaleParameters parameters;
  const Launch sane = ScaleLaunch(parameters);
  std::array<Launch, 4> absurd;
  absurd.fill(sane);
  absurd[0].block = {0x80000001, 2, 1};  // Its volume is two in 32 bits.
  absurd[1].grid = {~0u, ~0u, ~0u};
  absurd[2].dynamic_shared_bytes = ~0u;
  absurd[3].grid.y = 0;
  for (const Launch& launch : absurd) {
    BufferMemory memory(1);
    const Outcome outcome = interpret::Run(scale, launch, memory, {.warp_steps = 2000});
    EXPECT_EQ(outcome.stop, Stop::kLimit);
    EXPECT_EQ(outcome.lane_steps, 0u);
  }
}

TEST_P(RunOnTest, SurvivesCodeThatMakesNoSense) {
  base::Random random(5);
  const auto bytes = SampleCubin(GetParam());
  const Program scale = LoadKernel("scale", bytes);
  const auto sections = cubin::ParseProgram(bytes);
  const auto text = sections->sections[*sections->FindSection(".text.scale")].content;
  std::size_t ran = 0;
  for (int round = 0; round < 3000; ++round) {
    std::vector<sass::Word> words(text.size() / sizeof(sass::Word));
    std::memcpy(words.data(), text.data(), words.size() * sizeof(sass::Word));
    for (int flips = 0; flips < 4; ++flips) {
      sass::Word& word = words[random.Below(std::min<std::size_t>(words.size(), 24))];
      const std::uint64_t bit = random.Below(105);
      (bit < 64 ? word.low : word.high) ^= std::uint64_t{1} << (bit % 64);
    }
    Program program;
    program.dialect = scale.dialect;
    program.parameter_base = scale.parameter_base;
    if (!Translate(std::as_bytes(std::span(words)), program)) continue;
    BufferMemory memory(1);
    const ScaleParameters parameters;
    (void)interpret::Run(program, ScaleLaunch(parameters), memory, {.warp_steps = 2000});
    ++ran;
  }
  EXPECT_GT(ran, 100u);
}

}  // namespace
}  // namespace eidolon::interpret
