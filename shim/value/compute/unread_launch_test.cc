#include "shim/value/compute/unread_launch.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "services/machine_code/interpret/stores.h"
#include "shim/value/compute/machine_code.h"
#include "source_tree.h"

namespace eidolon::shim::compute {
namespace {

constexpr std::uint64_t kUnreadOut = 0x6b0100000000;
constexpr std::uint64_t kUnreadBytes = 1 << 20;
constexpr std::uint64_t kUnreadIn = kUnreadOut + kUnreadBytes;
constexpr std::uint32_t kUnreadBlocks = 256;
constexpr std::uint64_t kUnreadThreads = 128 * kUnreadBlocks;

bool is_out_mapped = true;

constexpr Arena kUnreadArena{
    .begin = kUnreadOut,
    .holds =
        [](std::uint64_t a) {
          return a - kUnreadOut < kUnreadBytes ? is_out_mapped : a - kUnreadIn < kUnreadBytes;
        },
    .find_buffer = [](std::uint64_t a) -> std::optional<Arena::Range> {
      const std::uint64_t begin = a / kUnreadBytes * kUnreadBytes;
      return Arena::Range(begin, begin + kUnreadBytes);
    },
    .version = [] { return std::uint64_t{1}; }};

// Kernels of services/machine_code/cubin/testdata/seeded.ptx and ways.ptx.
class UnreadLaunchTest : public testing::TestWithParam<const char*> {
 protected:
  UnreadLaunchTest() { is_out_mapped = true; }

  struct Parameters {
    std::uint64_t out = kUnreadOut;
    std::uint64_t in = 0;  // Or a number.
    std::uint32_t number = 0;
    std::uint32_t unused = 0;
  };
  // Launches 128 threads in each of so many blocks.
  bool PutOffLaunch(const std::string& file, const std::string& kernel,
                    const Parameters& parameters, std::uint32_t blocks = kUnreadBlocks,
                    std::uint64_t most_steps = 1'000'000) {
    MachineCode& code = codes_[kernel];
    if (code.program == nullptr) code = Read(file + "_" + GetParam() + ".cubin", kernel);
    const auto bytes = std::as_bytes(std::span(&parameters, 1));
    const LaunchPointers pointers(bytes, kUnreadArena);
    const Stores stores = interpret::FindStores(*code.program, pointers.Places());
    return PutOff({.program = *code.program,
                   .launch = {.grid = {blocks, 1, 1}, .block = {128, 1, 1}, .parameters = bytes},
                   .pointers = pointers,
                   .stores = stores,
                   .variables = {}},
                  kernel, kUnreadArena, {.warp_steps = most_steps}, kernels_[kernel], store_);
  }
  std::uint32_t ReadNumber(std::uint64_t index) {
    std::uint32_t number = 0;
    EXPECT_EQ(store_.Read(kUnreadOut + 4 * index, &number, 4), 0u) << index;
    return number;
  }

  value::Store store_;

 private:
  MachineCode Read(const std::string& file, const std::string& kernel) {
    std::ifstream stream(
        std::string(EIDOLON_SOURCE_DIR) + "/services/machine_code/cubin/testdata/" + file,
        std::ios::binary);
    const std::string text(std::istreambuf_iterator<char>(stream), {});
    auto code = ReadMachineCode(std::as_bytes(std::span(text)), kernel, store_);
    EXPECT_TRUE(code) << code.error().message;
    return *std::move(code);
  }

  std::map<std::string, MachineCode> codes_;
  std::map<std::string, KernelExperience> kernels_;
};
INSTANTIATE_TEST_SUITE_P(Devices, UnreadLaunchTest, testing::Values("80", "90"));

TEST_P(UnreadLaunchTest, WhatReadsNoMemoryIsRunWhenSomebodyReads) {
  ASSERT_TRUE(PutOffLaunch("seeded", "seeded", {.in = 5}));
  EXPECT_EQ(store_.kept_bytes(), 0u);

  EXPECT_EQ(ReadNumber(0), 5u);
  EXPECT_EQ(ReadNumber(kUnreadThreads - 1), kUnreadThreads + 4);
  EXPECT_FALSE(store_.IsKnown(kUnreadOut + 4 * kUnreadThreads, 1));
}

TEST_P(UnreadLaunchTest, LoopsOverAllElementsAreRunWhenSomebodyReads) {
  // Threads go on at the distance of the grid: 40,000 numbers by 32,768 threads.
  ASSERT_TRUE(PutOffLaunch("ways", "stride", {.in = 40'000}));

  EXPECT_EQ(ReadNumber(39'999), 39'999u);
  EXPECT_FALSE(store_.IsKnown(kUnreadOut + 4 * 40'000, 1));
}

TEST_P(UnreadLaunchTest, WhatWritesOverKnownBytesIsNotPutOff) {
  // A kernel that reads them would not ask who wrote there since.
  store_.Fill(kUnreadOut + 4 * kUnreadThreads, 7, 4, 4);
  EXPECT_TRUE(PutOffLaunch("seeded", "seeded", {.in = 5}));
  EXPECT_EQ(ReadNumber(kUnreadThreads), 7u);

  EXPECT_FALSE(PutOffLaunch("ways", "stride", {.in = 40'000}));
  EXPECT_FALSE(PutOffLaunch("seeded", "seeded", {.in = 5}));
}

TEST_P(UnreadLaunchTest, WhatReadsMemoryInThisLaunchIsNotPutOff) {
  EXPECT_FALSE(PutOffLaunch("seeded", "seeded", {.in = kUnreadIn, .number = 1}));
}

TEST_P(UnreadLaunchTest, WhatMayReadMemoryInAnotherBlockIsNotPutOff) {
  EXPECT_FALSE(PutOffLaunch("seeded", "late", {.in = kUnreadIn, .number = 100}));
  // Nor where no block of this launch would.
  EXPECT_FALSE(PutOffLaunch("seeded", "late", {.in = kUnreadIn, .number = 1000}));
}

TEST_P(UnreadLaunchTest, WhatMayWriteWhereMemoryLeadsIsNotPutOff) {
  EXPECT_FALSE(PutOffLaunch("ways", "listed", {.in = 0}));
}

TEST_P(UnreadLaunchTest, SmallLaunchesAndThoseBeyondTheLimitsAreNotPutOff) {
  EXPECT_FALSE(PutOffLaunch("seeded", "seeded", {}, 32));
  EXPECT_FALSE(PutOffLaunch("seeded", "seeded", {}, kUnreadBlocks, 4 * kUnreadBlocks));
}

TEST_P(UnreadLaunchTest, WhatIsWrittenMeanwhileStays) {
  ASSERT_TRUE(PutOffLaunch("seeded", "seeded", {.in = 5}));
  store_.Fill(kUnreadOut + 400, 7, 4, 400);

  EXPECT_EQ(ReadNumber(100), 7u);
  EXPECT_EQ(store_.kept_bytes(), value::Store::kPageBytes);  // Nobody has read a byte of it.
  EXPECT_EQ(ReadNumber(99), 104u);
  EXPECT_EQ(ReadNumber(100), 7u);
  EXPECT_EQ(ReadNumber(200), 205u);
}

TEST_P(UnreadLaunchTest, MemoryThatIsGoneIsUnknown) {
  ASSERT_TRUE(PutOffLaunch("seeded", "seeded", {.in = 5}));
  is_out_mapped = false;

  EXPECT_FALSE(store_.IsKnown(kUnreadOut, 4));
}

}  // namespace
}  // namespace eidolon::shim::compute
