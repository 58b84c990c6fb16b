#include "shim/value/compute/reachable_stores.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "services/machine_code/interpret/stores.h"
#include "shim/value/compute/footprint.h"
#include "shim/value/compute/machine_code.h"
#include "source_tree.h"

namespace eidolon::shim::compute {
namespace {

constexpr std::uint64_t kStoreIn = 0x6b0100000000;
constexpr std::uint64_t kCounter = kStoreIn + (std::uint64_t{1} << 30);
constexpr std::uint64_t kStoreOut = kCounter + (std::uint64_t{1} << 30);
constexpr std::uint64_t kStoreBytes = 1 << 20;

constexpr Arena kStoreArena{
    .begin = kStoreIn,
    .holds = [](std::uint64_t a) { return a - kStoreIn < (std::uint64_t{1} << 32); },
    .find_buffer = [](std::uint64_t a) -> std::optional<Arena::Range> {
      for (const std::uint64_t begin : {kStoreIn, kCounter, kStoreOut}) {
        if (a - begin < kStoreBytes) return Arena::Range(begin, begin + kStoreBytes);
      }
      return std::nullopt;
    },
    .version = [] { return std::uint64_t{1}; }};

// Kernels of services/machine_code/cubin/testdata/ways.ptx, by the compiled file.
class ReachableStoresTest : public testing::TestWithParam<const char*> {
 protected:
  MachineCode Read(const std::string& name) {
    std::ifstream file(
        std::string(EIDOLON_SOURCE_DIR) + "/services/machine_code/cubin/testdata/" + GetParam(),
        std::ios::binary);
    const std::string text(std::istreambuf_iterator<char>(file), {});
    auto code = ReadMachineCode(std::as_bytes(std::span(text)), name, store_);
    EXPECT_TRUE(code) << code.error().message;
    EXPECT_NE(code->program, nullptr) << code->refusal;
    return *std::move(code);
  }

  struct Reduce {
    std::uint64_t in = kStoreIn;
    std::uint64_t counter = kCounter;
    std::uint64_t out = kStoreOut;
    std::uint32_t together = 0;
    std::uint32_t unused = 0;
  };
  struct Cast {
    std::uint64_t in = kStoreIn;
    std::uint64_t out = kStoreOut;
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    std::uint32_t count = 250'000;
    std::uint32_t unused = 0;
  };
  // Learns the changes of a launch of a kernel; `words` receives the parameters that counted.
  template <typename Parameters>
  Footprint Learn(const std::string& kernel, const Parameters& parameters,
                  const interpret::Dims& grid, bool whole = false,
                  std::vector<std::uint8_t>* words = nullptr) {
    const MachineCode code = Read(kernel);
    const auto bytes = std::as_bytes(std::span(&parameters, 1));
    const LaunchPointers pointers(bytes, kStoreArena);
    const Stores stores = interpret::FindStores(*code.program, pointers.Places());
    return LearnFootprint({.program = *code.program,
                           .launch = {.grid = grid, .block = {128, 1, 1}, .parameters = bytes},
                           .pointers = pointers,
                           .stores = stores,
                           .variables = {},
                           .whole = whole,
                           .words_read = words},
                          store_);
  }
  // Learns the footprint of reduce() with so many blocks.
  Footprint LearnReduce(const Reduce& parameters, std::uint32_t blocks, bool whole,
                        std::vector<std::uint8_t>* words = nullptr) {
    return Learn("reduce", parameters, {blocks, 1, 1}, whole, words);
  }
  template <typename Parameters>
  void ApplyTo(const Footprint& footprint, const Parameters& parameters) {
    Apply(footprint, LaunchPointers(std::as_bytes(std::span(&parameters, 1)), kStoreArena),
          kStoreArena, store_);
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
  store_.Fill(kStoreOut, 7, 1, 40'064);
  ApplyTo(footprint, parameters);

  EXPECT_TRUE(footprint.buffers.empty());
  EXPECT_TRUE(store_.IsKnown(kCounter, 64));
  EXPECT_FALSE(store_.HasKnown(kStoreOut, kStoreOut + 40'000));
  EXPECT_TRUE(store_.IsKnown(kStoreOut + 40'000, 64));
  // Another launch may be one of the other kind.
  ASSERT_GT(words.size(), 6u);
  EXPECT_EQ(words[6], 1);
}

TEST_P(ReachableStoresTest, BlocksThatWorkTogetherMayStoreAnywhereInTheirBuffers) {
  const Reduce parameters{.together = 1};
  for (const bool whole : {false, true}) {
    const Footprint footprint = LearnReduce(parameters, whole ? 100 : 10'000, whole);
    store_.Fill(kStoreIn, 7, 1, 64);
    store_.Fill(kStoreOut + 200'000, 7, 1, 64);
    ApplyTo(footprint, parameters);

    EXPECT_TRUE(store_.IsKnown(kStoreIn, 64));
    EXPECT_FALSE(store_.HasKnown(kStoreOut, kStoreOut + kStoreBytes)) << whole;
  }
}

TEST_P(ReachableStoresTest, TheLastBlockOfARowStoresWhereItsRowDoes) {
  const std::vector<std::uint64_t> parameters = {kCounter, kStoreOut};
  const auto bytes = std::as_bytes(std::span(parameters));
  const MachineCode code = Read("last_of_row");
  const LaunchPointers pointers(bytes, kStoreArena);
  const Stores stores = interpret::FindStores(*code.program, pointers.Places());
  const Footprint footprint =
      LearnFootprint({.program = *code.program,
                      .launch = {.grid = {1000, 7, 1}, .block = {1024, 1, 1}, .parameters = bytes},
                      .pointers = pointers,
                      .stores = stores,
                      .variables = {},
                      .whole = false},
                     store_);
  store_.Fill(kStoreOut, 7, 1, 8192);
  Apply(footprint, pointers, kStoreArena, store_);

  EXPECT_FALSE(store_.HasKnown(kStoreOut, kStoreOut + 4000));
  EXPECT_TRUE(store_.IsKnown(kStoreOut + 4000, 4192));
}

struct Far {
  std::uint64_t counter = kCounter;
  std::uint64_t out = kStoreOut;
  std::uint64_t far = kStoreIn;
  std::uint32_t limit = 0;
  std::uint32_t unused = 0;
};

TEST_P(ReachableStoresTest, WhatThreadsOfTheLastBlockDoNotDoBlursNothing) {
  // Of 1,280 threads; what the others do is the last block's, by a counter.
  for (const auto& [limit, known] : {std::pair(1280u, true), std::pair(600u, false)}) {
    const Far parameters{.limit = limit};
    store_.Fill(kStoreIn, 7, 1, 8192);
    ApplyTo(Learn("far_of_last", parameters, {10, 1, 1}, true), parameters);

    EXPECT_EQ(store_.IsKnown(kStoreIn, 8192), known) << limit;
  }
}

TEST_P(ReachableStoresTest, WhatOtherValuesLetOtherThreadsDoBlursTheBuffer) {
  // Made-up values let some thread come to where it is decided, but none from the limit on.
  const Far parameters{.limit = 600};
  store_.Fill(kStoreIn, 7, 1, 8192);
  ApplyTo(Learn("far_of_equal", parameters, {10, 1, 1}, true), parameters);

  EXPECT_FALSE(store_.HasKnown(kStoreIn, kStoreIn + 8192));
}

TEST_P(ReachableStoresTest, ABranchThatAnotherRoundMayTakeIsNotDecided) {
  // Whether a round stores, all threads tell alike; how many rounds there are, memory tells.
  const MachineCode code = Read("later_rounds");
  EXPECT_TRUE(interpret::FindSteadyBranches(*code.program).empty());
  EXPECT_FALSE(interpret::FindSteadyBranches(*Read("reduce").program).empty());
}

TEST_P(ReachableStoresTest, TypesThatParametersNameDecideWhichWayAJumpTableLeads) {
  struct Row {
    std::uint32_t from, to;
    std::uint64_t bytes;  // That a number takes in the result.
  };
  for (const Row& row : {Row{0, 4, 4}, Row{6, 4, 4}, Row{6, 2, 2}, Row{3, 1, 1}}) {
    const Cast parameters{.from = row.from, .to = row.to};
    const std::uint64_t end = kStoreOut + row.bytes * parameters.count;
    std::vector<std::uint8_t> words;
    const Footprint footprint = Learn("cast", parameters, {1954, 1, 1}, false, &words);
    store_.Fill(kStoreIn, 7, 1, 64);
    store_.Fill(kStoreOut + 1024, 7, 1, 64);
    store_.Fill(end - 1, 7, 1, 65);
    ApplyTo(footprint, parameters);

    EXPECT_TRUE(footprint.buffers.empty()) << row.from << " to " << row.to;
    EXPECT_TRUE(store_.IsKnown(kStoreIn, 64));
    EXPECT_FALSE(store_.HasKnown(kStoreOut, end)) << row.from << " to " << row.to;
    EXPECT_TRUE(store_.IsKnown(end, 64)) << row.from << " to " << row.to;
    // Other types may be written elsewhere.
    ASSERT_GT(words.size(), 5u);
    EXPECT_TRUE(words[4] == 1 && words[5] == 1);
  }
}

TEST_P(ReachableStoresTest, AWayOfAJumpTableWhereValuesMoveTheStoreBlursTheBuffer) {
  const Cast parameters{.to = 7};
  const Footprint footprint = Learn("cast", parameters, {1954, 1, 1});
  store_.Fill(kStoreOut + kStoreBytes - 64, 7, 1, 64);
  ApplyTo(footprint, parameters);

  EXPECT_FALSE(store_.HasKnown(kStoreOut, kStoreOut + kStoreBytes));
}

TEST_P(ReachableStoresTest, CodeThatStoresAnywhereBlursNoLaunchThatDoesNotComeThere) {
  struct Listed {
    std::uint64_t out = kStoreOut;
    std::uint32_t listed = 0;
    std::uint32_t unused = 0;
  };
  for (const std::uint32_t listed : {0u, 1u}) {
    const Listed parameters{.listed = listed};
    store_.Fill(kStoreIn, 7, 1, 64);
    ApplyTo(Learn("listed", parameters, {100, 1, 1}), parameters);

    EXPECT_EQ(store_.IsKnown(kStoreIn, 64), listed == 0);
  }
}

TEST_P(ReachableStoresTest, NumbersThatARowOfBlocksLooksUpAreNoPointers) {
  struct Join {
    std::uint64_t out = kStoreOut;
    std::uint64_t in[4] = {kStoreIn, kCounter, kStoreIn + 4096, kStoreIn + 8192};
    std::uint32_t offset[4] = {0, 60'000, 120'000, 150'000};
    std::uint32_t count[4] = {60'000, 60'000, 30'000, 50'000};
  };
  const Join parameters;
  const Footprint footprint = Learn("join", parameters, {469, 4, 1});
  store_.Fill(kStoreIn, 7, 1, 64);
  store_.Fill(kCounter, 7, 1, 64);
  store_.Fill(kStoreOut + 1024, 7, 1, 64);
  store_.Fill(kStoreOut + 800'000, 7, 1, 64);
  ApplyTo(footprint, parameters);

  EXPECT_TRUE(footprint.buffers.empty());
  EXPECT_TRUE(store_.IsKnown(kStoreIn, 64) && store_.IsKnown(kCounter, 64));
  EXPECT_FALSE(store_.HasKnown(kStoreOut, kStoreOut + 800'000));
  EXPECT_TRUE(store_.IsKnown(kStoreOut + 800'000, 64));
}

TEST_P(ReachableStoresTest, BlocksThatGoOnBehindTheGridMayEndInItsMiddle) {
  struct Stride {
    std::uint64_t out = kStoreOut;
    std::uint32_t count = 3 * 12'800 + 5'000;
    std::uint32_t unused = 0;
  };
  const Stride parameters;
  const std::uint64_t end = kStoreOut + 4 * parameters.count;
  const Footprint footprint = Learn("stride", parameters, {100, 1, 1});
  store_.Fill(end - 4, 7, 1, 68);
  ApplyTo(footprint, parameters);

  EXPECT_FALSE(store_.HasKnown(kStoreOut, end));
  EXPECT_TRUE(store_.IsKnown(end, 64));
}

TEST_P(ReachableStoresTest, EachPointerThatARowOfBlocksMayLookUpIsWrittenThrough) {
  struct Spread {
    std::uint64_t in = kStoreIn;
    std::uint64_t out[4] = {kStoreOut, kCounter, kStoreOut + 300'000, kStoreIn + 500'000};
  };
  const Spread parameters;
  for (const bool whole : {false, true}) {
    // Three of the four results.
    const Footprint footprint = Learn("spread", parameters, {100, 3, 1}, whole);
    for (const std::uint64_t at : {kStoreOut, kCounter, kStoreOut + 300'000, kStoreIn + 500'000}) {
      store_.Fill(at + 51'000, 7, 1, 64);
    }
    ApplyTo(footprint, parameters);

    EXPECT_FALSE(store_.HasKnown(kStoreOut + 51'000, kStoreOut + 51'064)) << whole;
    EXPECT_FALSE(store_.HasKnown(kCounter + 51'000, kCounter + 51'064)) << whole;
    EXPECT_FALSE(store_.HasKnown(kStoreOut + 351'000, kStoreOut + 351'064)) << whole;
    EXPECT_TRUE(store_.IsKnown(kStoreIn + 551'000, 64)) << whole;
  }
}

TEST_P(ReachableStoresTest, AResultOfWhichTooFewBlocksWereSeenIsBlurredWhole) {
  struct Spread {
    std::uint64_t in = kStoreIn;
    std::uint64_t out[40] = {};
  };
  Spread parameters;
  for (std::uint64_t i = 0; i < 40; ++i) parameters.out[i] = kStoreOut + i * 1024;
  parameters.out[20] = kCounter;  // Only the second block of this row is run.
  const Footprint footprint = Learn("spread", parameters, {2, 40, 1});
  store_.Fill(kCounter, 7, 1, 1024);
  ApplyTo(footprint, parameters);

  EXPECT_FALSE(store_.HasKnown(kCounter, kCounter + 1024));
}

}  // namespace
}  // namespace eidolon::shim::compute
