#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "services/base/random.h"
#include "services/machine_code/interpret/run.h"
#include "services/machine_code/interpret/samples_test.h"

namespace eidolon::interpret {
namespace {

constexpr std::size_t kPages = 8;

void Forget(BufferMemory& memory, std::size_t byte) {
  memory.page(byte / kPageBytes).known[byte % kPageBytes / 64] &= ~(std::uint64_t{1} << byte % 64);
}
bool Knows(BufferMemory& memory, std::size_t byte) {
  return (memory.page(byte / kPageBytes).known[byte % kPageBytes / 64] >> byte % 64 & 1) != 0;
}

class UnknownRunTest : public testing::TestWithParam<cubin::Capability> {};
INSTANTIATE_TEST_SUITE_P(Devices, UnknownRunTest, testing::ValuesIn(kSampleDevices),
                         [](const auto& test) {
                           return "Of" + std::to_string(test.param.number());
                         });

TEST_P(UnknownRunTest, WhatDoesNotDependOnAnUnknownByteIsKnown) {
  const Program program = interpret::LoadKernel("scale", SampleCubin(GetParam()));
  BufferMemory memory(1);
  for (int i = 0; i < 1024; ++i) memory.At<float>(i) = static_cast<float>(i);
  Forget(memory, 4 * 17 + 2);
  Forget(memory, 4 * 999);
  const ScaleParameters parameters;
  Launch launch = ScaleLaunch(parameters);
  launch.tracks_unknown = true;

  EXPECT_EQ(interpret::Run(program, launch, memory, {}).stop, Stop::kNone);

  for (std::size_t i = 0; i < 4096; ++i) {
    EXPECT_EQ(Knows(memory, i), i / 4 != 17 && i / 4 != 999) << i;
  }
  EXPECT_EQ(memory.At<float>(16), 48);
  EXPECT_EQ(memory.At<float>(998), 2994);
  // The unknown ones are written all the same.
  EXPECT_EQ(memory.page(0).written[1] >> 4 & 15, 15u);
}

TEST(UnknownRunTest, ABranchThatNobodyKnowsEndsTheLaunch) {
  const Program program = interpret::LoadKernel("rounds", ReadCubin("stores.cubin"));
  BufferMemory memory(2);
  const std::array<std::uint64_t, 2> parameters = {kBuffer, kBuffer + kPageBytes};
  Launch launch{
      .grid = {1, 1, 1}, .block = {32, 1, 1}, .parameters = std::as_bytes(std::span(parameters))};
  launch.tracks_unknown = true;

  EXPECT_EQ(interpret::Run(program, launch, memory, {}).stop, Stop::kNone);
  for (std::size_t i = 0; i < 4; ++i) Forget(memory, i);
  EXPECT_EQ(interpret::Run(program, launch, memory, {}).stop, Stop::kUnknownWay);
}

TEST(UnknownRunTest, AStoreToAnAddressThatNobodyKnowsEndsTheLaunch) {
  const Program program = interpret::LoadKernel("scatter", ReadCubin("stores.cubin"));
  BufferMemory memory(2);
  const std::array<std::uint64_t, 2> parameters = {kBuffer, kBuffer + kPageBytes};
  Launch launch{
      .grid = {1, 1, 1}, .block = {32, 1, 1}, .parameters = std::as_bytes(std::span(parameters))};
  launch.tracks_unknown = true;

  EXPECT_EQ(interpret::Run(program, launch, memory, {}).stop, Stop::kNone);
  for (std::size_t i = 0; i < 8; ++i) Forget(memory, kPageBytes + i);
  EXPECT_EQ(interpret::Run(program, launch, memory, {}).stop, Stop::kUnknownWay);
}

TEST(UnknownRunTest, AnExitThatNobodyKnowsEndsTheLaunch) {
  const Program program = interpret::LoadKernel("mark", ReadCubin("stores.cubin"));
  BufferMemory memory(3);
  const std::array<std::uint64_t, 3> parameters = {kBuffer, kBuffer + kPageBytes,
                                                   kBuffer + 2 * kPageBytes};
  for (std::size_t i = 8; i < 12; ++i) Forget(memory, i);
  Launch launch{
      .grid = {1, 1, 1}, .block = {32, 1, 1}, .parameters = std::as_bytes(std::span(parameters))};
  launch.tracks_unknown = true;

  EXPECT_EQ(interpret::Run(program, launch, memory, {}).stop, Stop::kUnknownWay);
}

// Memory of which some bytes are unknown, and the same with other bytes there.
class TwinMemories {
 public:
  explicit TwinMemories(base::Random& random) : some_(kPages), other_(kPages) {
    // Some launches find nearly all of it unknown, some a byte.
    const std::uint64_t rarity = std::array<std::uint64_t, 4>{2, 8, 100, 2000}[random.Below(4)];
    for (std::size_t i = 0; i < kPages * kPageBytes; i += sizeof(std::uint64_t)) {
      // Small numbers, of which some bytes are replaced.
      const std::uint64_t replaced = random.Next() & random.Next() & 0x0101'0101'0101'0101;
      const std::uint64_t mask = replaced * 0xff;
      const std::uint64_t value = (random.Next() & mask) | (0x0000'0001'0000'0001 & ~mask);
      some_.At<std::uint64_t>(i / sizeof(value)) = other_.At<std::uint64_t>(i / sizeof(value)) =
          value;
    }
    for (std::size_t i = random.Below(rarity); i < kPages * kPageBytes;
         i += 1 + random.Below(2 * rarity - 1)) {
      Forget(some_, i);
      other_.At<std::uint8_t>(i) = static_cast<std::uint8_t>(random.Next());
    }
  }

  BufferMemory& some() { return some_; }
  BufferMemory& other() { return other_; }

 private:
  BufferMemory some_;
  BufferMemory other_;
};

// Every kernel of the samples: whatever stands in place of the unknown bytes, those that a launch
// calls known are what a launch that knows all computes.
TEST(UnknownRunTest, KnownBytesAreTheSameWhateverTheUnknownOnesAre) {
  base::Random random(3);
  std::size_t whole = 0;
  std::size_t mixed = 0;
  const std::filesystem::path samples =
      std::string(EIDOLON_SOURCE_DIR) + "/services/machine_code/cubin/testdata";
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(samples)) {
    if (entry.path().extension() == ".cubin") names.insert(entry.path().filename());
  }
  for (const std::string& file : names) {
    const std::vector<std::byte> bytes = ReadCubin(file);
    const auto code = cubin::ParseCubin(bytes);
    if (!code || !sass::DialectOf(code->target.architecture)) continue;
    for (const cubin::Function& function : code->functions) {
      Program program;
      if (!ReadKernel(std::string(function.name), bytes, program)) continue;
      for (int i = 0; i < 8; ++i) {
        TwinMemories twins(random);
        // Each is an address, and in its lower half a small number.
        std::array<std::uint64_t, 16> parameters;
        for (std::uint64_t& parameter : parameters) parameter = kBuffer + 512 * random.Below(12);
        Launch launch{.grid = {2, 1, 1},
                      .block = {64, 1, 1},
                      .parameters = std::as_bytes(std::span(parameters))};
        const Limits limits{.warp_steps = 20'000};
        const Outcome real = interpret::Run(program, launch, twins.other(), limits);
        launch.tracks_unknown = true;
        const Outcome tracked = interpret::Run(program, launch, twins.some(), limits);

        // A load from an address that is unknown may lead the real launch out of memory.
        if (tracked.stop != Stop::kNone || real.stop != Stop::kNone) continue;
        ++whole;
        bool some_written = false;
        for (std::size_t at = 0; at < kPages * kPageBytes; ++at) {
          if (!Knows(twins.some(), at)) continue;
          if (twins.some().At<std::uint8_t>(at) != twins.other().At<std::uint8_t>(at)) {
            FAIL() << file << " " << function.name << " at " << at;
          }
          some_written |= (twins.some().page(at / kPageBytes).written[at % kPageBytes / 64] != 0);
        }
        mixed += some_written ? 1 : 0;
      }
    }
  }
  EXPECT_GT(whole, 200u);
  EXPECT_GT(mixed, 100u);
}

}  // namespace
}  // namespace eidolon::interpret
