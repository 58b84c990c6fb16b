// Atomics on eight bytes, wherever they lie.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <tuple>
#include <utility>

#include "services/machine_code/interpret/run.h"
#include "services/machine_code/interpret/samples_test.h"

namespace eidolon::interpret {
namespace {

constexpr std::size_t kCells = 10;
constexpr std::size_t kThreads = 32;
constexpr std::uint64_t kFound = kBuffer + 1024;

using Cells = std::array<std::uint64_t, kCells>;

// Parameters of wide_atomics.ptx.
struct WideParameters {
  std::uint64_t cells = kBuffer;
  std::uint64_t found = kFound;
  std::uint32_t near = 0;
};

constexpr Cells kFirst = {0xfffffff0,
                          1000,
                          3,
                          77,
                          ~std::uint64_t{0},
                          1,
                          0x123456789abcdef0,
                          static_cast<std::uint64_t>(-1000),
                          (std::uint64_t{1} << 40) + 5,
                          std::bit_cast<std::uint64_t>(0.5)};

// Applies each operation of the kernel, in the order of its cells, after thread `thread`.
void Change(std::uint64_t thread, Cells& cells) {
  const std::uint64_t value = (std::uint64_t{1} << 36) + 5 - thread * 0x1ffffffff;
  const std::uint64_t growing = 5 + thread * 0x200000001;
  const std::uint64_t expected = (std::uint64_t{1} << 40) + 5 + thread;
  cells[0] += value;
  cells[1] = static_cast<std::uint64_t>(
      std::min(static_cast<std::int64_t>(cells[1]), static_cast<std::int64_t>(value)));
  cells[2] = std::max(cells[2], growing);
  cells[3] = value;
  cells[4] &= value;
  cells[5] |= value;
  cells[6] ^= value;
  cells[7] = static_cast<std::uint64_t>(
      std::max(static_cast<std::int64_t>(cells[7]), static_cast<std::int64_t>(growing)));
  if (cells[8] == expected) cells[8] = expected + 1;
  cells[9] =
      std::bit_cast<std::uint64_t>(std::bit_cast<double>(cells[9]) + static_cast<double>(thread));
}

// A kernel, whether its cells lie in shared memory, and a device.
using Way = std::tuple<std::pair<const char*, bool>, cubin::Capability>;
std::string NameOfWay(const testing::TestParamInfo<Way>& info) {
  const auto& [way, device] = info.param;
  return std::string(way.first) + (way.second ? "InShared" : "InGlobal") +
         std::to_string(device.number());
}

class WideAtomicsTest : public testing::TestWithParam<Way> {};
INSTANTIATE_TEST_SUITE_P(Devices, WideAtomicsTest,
                         testing::Combine(testing::Values(std::pair("global", false),
                                                          std::pair("shared", true)),
                                          testing::ValuesIn(kSampleDevices)),
                         NameOfWay);
// For 10.x the compiler takes loads that are refused (IsDescribedFor100 in
// services/machine_code/sass/form.cc).
INSTANTIATE_TEST_SUITE_P(
    Anywhere, WideAtomicsTest,
    testing::Combine(testing::Values(std::pair("anywhere", false), std::pair("anywhere", true)),
                     testing::Values(cubin::Capability{9, 0}, cubin::Capability{8, 0})),
    NameOfWay);

TEST_P(WideAtomicsTest, EveryThreadFindsWhatTheOnesBeforeItLeft) {
  const auto& [way, device] = GetParam();
  const std::string file = "wide_atomics_" + std::to_string(device.number()) + ".cubin";
  const Program program = LoadKernel(way.first, ReadCubin(file));
  BufferMemory memory(2);
  for (std::size_t i = 0; i < kCells; ++i) memory.At<std::uint64_t>(i) = kFirst[i];
  const WideParameters parameters{.near = way.second ? 1u : 0u};

  const Outcome outcome = interpret::Run(
      program, {.block = {kThreads, 1, 1}, .parameters = std::as_bytes(std::span(&parameters, 1))},
      memory, {});

  ASSERT_EQ(outcome.stop, Stop::kNone) << std::hex << outcome.address;
  Cells cells = kFirst;
  for (std::size_t thread = 0; thread < kThreads; ++thread) {
    for (std::size_t i = 0; i < kCells; ++i) {
      const std::size_t at = (kFound - kBuffer) / sizeof(std::uint64_t) + thread * kCells + i;
      EXPECT_EQ(memory.At<std::uint64_t>(at), cells[i]) << thread << " " << i;
    }
    Change(thread, cells);
  }
  for (std::size_t i = 0; i < kCells; ++i) EXPECT_EQ(memory.At<std::uint64_t>(i), cells[i]) << i;
}

}  // namespace
}  // namespace eidolon::interpret
