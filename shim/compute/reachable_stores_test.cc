#include "shim/compute/reachable_stores.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "services/interpret/stores.h"
#include "shim/compute/machine_code.h"

namespace eidolon::shim::compute {
namespace {

constexpr std::uint64_t kIn = 0x6b0100000000;
constexpr std::uint64_t kCounter = kIn + (std::uint64_t{1} << 30);
constexpr std::uint64_t kOut = kCounter + (std::uint64_t{1} << 30);
constexpr std::uint64_t kBufferBytes = 1 << 20;

constexpr Arena kArena{.begin = kIn,
                       .holds = [](std::uint64_t a) { return a - kIn < (std::uint64_t{1} << 32); },
                       .find_buffer = [](std::uint64_t a) -> std::optional<Arena::Range> {
                         for (const std::uint64_t begin : {kIn, kCounter, kOut}) {
                           if (a - begin < kBufferBytes)
                             return Arena::Range(begin, begin + kBufferBytes);
                         }
                         return std::nullopt;
                       },
                       .version = [] { return std::uint64_t{1}; }};

// Kernels of services/cubin/testdata/ways.ptx, by the compiled file.
class ReachableStoresTest : public testing::TestWithParam<const char*> {
 protected:
  MachineCode Read(const std::string& name) {
    std::ifstream file(std::string(EIDOLON_SOURCE_DIR) + "/services/cubin/testdata/" + GetParam(),
                       std::ios::binary);
    const std::string text(std::istreambuf_iterator<char>(file), {});
    auto code = ReadMachineCode(std::as_bytes(std::span(text)), name, store_);
    EXPECT_TRUE(code) << code.error().message;
    EXPECT_NE(code->program, nullptr) << code->refusal;
    return *std::move(code);
  }

  struct Reduce {
    std::uint64_t in = kIn;
    std::uint64_t counter = kCounter;
    std::uint64_t out = kOut;
    std::uint32_t together = 0;
    std::uint32_t unused = 0;
  };
  // What a launch of reduce() with so many blocks changes; `words`: what of its parameters counted.
  Footprint LearnReduce(const Reduce& parameters, std::uint32_t blocks, bool whole,
                        std::vector<std::uint8_t>* words = nullptr) {
    const MachineCode code = Read("reduce");
    const auto bytes = std::as_bytes(std::span(&parameters, 1));
    const interpret::Launch launch{
        .grid = {blocks, 1, 1}, .block = {128, 1, 1}, .parameters = bytes};
    const LaunchPointers pointers(bytes, kArena);
    const Stores stores = interpret::FindStores(*code.program, pointers.Places());
    return LearnFootprint({.program = *code.program,
                           .launch = launch,
                           .pointers = pointers,
                           .stores = stores,
                           .variables = {},
                           .whole = whole,
                           .words_read = words},
                          store_);
  }
  void ApplyTo(const Footprint& footprint, const Reduce& parameters) {
    Apply(footprint, LaunchPointers(std::as_bytes(std::span(&parameters, 1)), kArena), kArena,
          store_);
  }

  value::Store store_;
};
INSTANTIATE_TEST_SUITE_P(Devices, ReachableStoresTest,
                         testing::Values("ways_80.cubin", "ways_90.cubin", "ways_100.cubin"));

TEST_P(ReachableStoresTest, CodeForBlocksThatWorkTogetherBlursNoOtherLaunch) {
  const Reduce parameters;
  std::vector<std::uint8_t> words;
  const Footprint footprint = LearnReduce(parameters, 10'000, false, &words);
  store_.Fill(kCounter, 7, 1, 64);
  store_.Fill(kOut, 7, 1, 40'064);
  ApplyTo(footprint, parameters);

  EXPECT_TRUE(footprint.buffers.empty());
  EXPECT_TRUE(store_.IsKnown(kCounter, 64));
  EXPECT_FALSE(store_.HasKnown(kOut, kOut + 40'000));
  EXPECT_TRUE(store_.IsKnown(kOut + 40'000, 64));
  // Another launch may be one of the other kind.
  ASSERT_GT(words.size(), 6u);
  EXPECT_EQ(words[6], 1);
}

TEST_P(ReachableStoresTest, BlocksThatWorkTogetherMayStoreAnywhereInTheirBuffers) {
  const Reduce parameters{.together = 1};
  for (const bool whole : {false, true}) {
    const Footprint footprint = LearnReduce(parameters, whole ? 100 : 10'000, whole);
    store_.Fill(kIn, 7, 1, 64);
    store_.Fill(kOut + 200'000, 7, 1, 64);
    ApplyTo(footprint, parameters);

    EXPECT_TRUE(store_.IsKnown(kIn, 64));
    EXPECT_FALSE(store_.HasKnown(kOut, kOut + kBufferBytes)) << whole;
  }
}

TEST_P(ReachableStoresTest, TheLastBlockOfARowStoresWhereItsRowDoes) {
  const std::vector<std::uint64_t> parameters = {kCounter, kOut};
  const auto bytes = std::as_bytes(std::span(parameters));
  const MachineCode code = Read("last_of_row");
  const LaunchPointers pointers(bytes, kArena);
  const Stores stores = interpret::FindStores(*code.program, pointers.Places());
  const Footprint footprint =
      LearnFootprint({.program = *code.program,
                      .launch = {.grid = {1000, 7, 1}, .block = {1024, 1, 1}, .parameters = bytes},
                      .pointers = pointers,
                      .stores = stores,
                      .variables = {},
                      .whole = false},
                     store_);
  store_.Fill(kOut, 7, 1, 8192);
  Apply(footprint, pointers, kArena, store_);

  EXPECT_FALSE(store_.HasKnown(kOut, kOut + 4000));
  EXPECT_TRUE(store_.IsKnown(kOut + 4000, 4192));
}

TEST_P(ReachableStoresTest, ABranchThatAnotherRoundMayTakeIsNotDecided) {
  // Whether a round stores, all threads tell alike; how many rounds there are, memory tells.
  const MachineCode code = Read("later_rounds");
  EXPECT_TRUE(interpret::FindSteadyBranches(*code.program).empty());
  EXPECT_FALSE(interpret::FindSteadyBranches(*Read("reduce").program).empty());
}

}  // namespace
}  // namespace eidolon::shim::compute
