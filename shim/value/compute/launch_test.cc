#include "shim/value/compute/launch.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "services/contract/workload/pointer_tag.h"
#include "services/contract/workload/work.h"
#include "services/machine_code/cubin/program.h"
#include "services/machine_code/sass/word.h"
#include "shim/gpu/module/sample.h"
#include "shim/value/pending.h"

namespace eidolon::shim::compute {
namespace {

constexpr std::uint64_t kLaunchBuffer = 0x6b0100000000;
constexpr std::uint64_t kLaunchBufferBytes = 1 << 20;
constexpr std::uint64_t kOtherBuffer = kLaunchBuffer + (std::uint64_t{1} << 30);

constexpr Arena kLaunchArena{
    .holds = [](std::uint64_t a) { return a - kLaunchBuffer < (std::uint64_t{1} << 32); },
    .find_buffer = [](std::uint64_t a) -> std::optional<Arena::Range> {
      const std::uint64_t begin = a / kLaunchBufferBytes * kLaunchBufferBytes;
      return Arena::Range(begin, begin + kLaunchBufferBytes);
    },
    .version = [] { return std::uint64_t{1}; }};

class LaunchTest : public testing::Test {
 protected:
  LaunchTest() { value::ProcessStore().MakeStale(0, ~std::uint64_t{0}); }

  // One block of 32 threads.
  static void Launch(std::string_view kernel, const std::vector<std::uint64_t>& pointers) {
    static std::uint32_t work = 0;
    const auto bytes = std::as_bytes(std::span(pointers));
    Record({.image = gpu::StoresCubin().data(), .name = kernel},
           {.grid = {1, 1, 1}, .block = {32, 1, 1}}, ++work,
           {.block = bytes, .pointers = LaunchPointers(bytes, kLaunchArena).list}, kLaunchArena);
  }
  static void Know(std::uint64_t address, std::size_t bytes) {
    value::ProcessPending().Fill(address, 1, 1, bytes);
  }
  static bool IsKnown(std::uint64_t address, std::size_t bytes) {
    return value::ProcessPending().IsKnown(address, bytes);
  }
};

TEST_F(LaunchTest, OfAKernelThatJoinsTensorsTheThreadsOfOneCount) {
  const RecordedShape join{.grid = {264, 40, 1}, .block = {512, 1, 1}};

  EXPECT_FALSE(IsSmall(join));
  EXPECT_TRUE(IsSmall(OneRow(join)));
  EXPECT_FALSE(IsSmall(OneRow({.grid = {2640, 1, 1}, .block = {512, 1, 1}})));
}

// The code of `kernel` among the stores kernels, with an instruction that cannot be run in place of
// the first one that does nothing.
std::string WithUnrunInstruction(std::string_view kernel) {
  // FENCE.VIEW.ASYNC.S
  constexpr sass::Word kUnrun{0x00000000000073c6, 0x000e660000000000};
  std::string cubin(gpu::StoresCubin());
  const auto bytes = std::as_writable_bytes(std::span(cubin));
  const auto program = cubin::ParseProgram(bytes);
  const auto text = program->FindSection(".text." + std::string(kernel));
  const auto content = program->sections[*text].content;
  for (std::size_t at = 0; at + sass::kWordBytes <= content.size(); at += sass::kWordBytes) {
    sass::Word word;
    std::memcpy(&word, content.data() + at, sizeof(word));
    if (word.opcode() != 0x918) continue;  // NOP
    const auto place = static_cast<std::size_t>(content.data() - bytes.data()) + at;
    std::memcpy(bytes.data() + place, &kUnrun, sizeof(kUnrun));
    return cubin;
  }
  ADD_FAILURE() << "no NOP in " << kernel;
  return cubin;
}

TEST_F(LaunchTest, AKernelThatCannotBeRunChangesOnlyTheBuffersThatItStoresThrough) {
  static const auto* const image = new std::string(WithUnrunInstruction("scatter"));
  static const auto* const name = new std::string("scatter");
  const std::uint64_t written = kLaunchBuffer;
  const std::uint64_t read = kLaunchBuffer + kLaunchBufferBytes;
  const std::uint64_t other = kLaunchBuffer + 2 * kLaunchBufferBytes;
  for (const std::uint64_t buffer : {written, read, other}) Know(buffer, 256);
  const std::vector<std::uint64_t> pointers = {written, read};
  const auto bytes = std::as_bytes(std::span(pointers));

  Record({.image = image->data(), .name = *name}, {.grid = {1, 1, 1}, .block = {32, 1, 1}}, 9000,
         {.block = bytes, .pointers = LaunchPointers(bytes, kLaunchArena).list}, kLaunchArena);

  EXPECT_FALSE(IsKnown(written, 1));
  EXPECT_TRUE(IsKnown(read, 256));
  EXPECT_TRUE(IsKnown(other, 256));
}

class VariablesTest : public LaunchTest {
 protected:
  // Variables start anew with each image.
  VariablesTest()
      : image_(Kept().emplace_back(gpu::ReadSample("variables_90.cubin"))),
        name_(Kept().emplace_back("weigh")) {}

  // What is known of code is known by where it and its name lie.
  static std::deque<std::string>& Kept() {
    static auto* const kept = new std::deque<std::string>;
    return *kept;
  }
  void Weigh(const ShownVariables* shown) {
    static std::uint32_t work = 5000;
    const std::vector<std::uint64_t> pointers{kLaunchBuffer};
    const auto bytes = std::as_bytes(std::span(pointers));
    Record({.image = image_.data(), .name = name_, .shown = shown},
           {.grid = {1, 1, 1}, .block = {8, 1, 1}}, shown == nullptr ? ++work : work,
           {.block = bytes, .pointers = LaunchPointers(bytes, kLaunchArena).list}, kLaunchArena);
  }
  static std::vector<std::uint32_t> Read(std::uint64_t address, std::size_t count) {
    std::vector<std::uint32_t> words(count);
    EXPECT_TRUE(IsKnown(address, 4 * count));
    value::ProcessPending().Read(address, words.data(), 4 * count, 0, nullptr);
    return words;
  }
  const ShownVariables* Show(const ShownVariables& variables) {
    static auto* const kept = new std::deque<ShownVariables>;
    for (const ShownVariable& variable : variables) ShowVariable(image_.data(), {9, 0}, variable);
    return &kept->emplace_back(variables);
  }

  const std::string& image_;
  const std::string& name_;
  const ShownVariable weights_{"weights", kOtherBuffer, 16};
  const ShownVariable total_{"total", kOtherBuffer + 64, 4};
};

TEST_F(VariablesTest, AProgramFindsWhatKernelsLeftInAVariableAndWhatItBeganWith) {
  Weigh(nullptr);  // 0 * 1 + 1 * 2 + 2 * 3 + 3 * 4 + 4 * 1 + 5 * 2 + 6 * 3 + 7 * 4 = 80.
  Show({weights_, total_});

  EXPECT_EQ(Read(total_.address, 1), std::vector{180u});
  EXPECT_EQ(Read(weights_.address, 4), (std::vector{1u, 2u, 3u, 4u}));
}

TEST_F(VariablesTest, KernelsReadTheConstantsThatTheProgramHasSet) {
  Weigh(nullptr);
  const ShownVariables* const shown = Show({weights_, total_});
  const std::uint32_t weights[] = {10, 0, 0, 1};
  value::ProcessPending().Write(weights_.address, weights, sizeof(weights));
  Weigh(shown);

  EXPECT_EQ(Read(kLaunchBuffer, 8), (std::vector{0u, 0u, 0u, 3u, 40u, 0u, 0u, 7u}));
  EXPECT_EQ(Read(total_.address, 1), std::vector{230u});

  value::ProcessPending().Fill(weights_.address, 1, 4, sizeof(weights));
  Weigh(shown);

  EXPECT_EQ(Read(kLaunchBuffer, 8), (std::vector{0u, 1u, 2u, 3u, 4u, 5u, 6u, 7u}));
}

TEST_F(VariablesTest, ConstantsThatNobodyKnowsMakeResultsUnknown) {
  const ShownVariables* const shown = Show({weights_});
  Know(kLaunchBuffer, 32);
  value::ProcessPending().Forget(weights_.address, 4);
  Weigh(shown);

  EXPECT_FALSE(IsKnown(kLaunchBuffer, 32));
}

TEST_F(LaunchTest, WritesThroughATableThatNobodyKnowsMakeEverythingUnknown) {
  Know(kOtherBuffer, 64);  // Nothing is known near the table.
  Launch("through_table", {kLaunchBuffer});

  EXPECT_FALSE(IsKnown(kOtherBuffer, 1));
}

TEST_F(LaunchTest, WritesThroughATableThatIsKnownChangeWhatItNames) {
  std::vector<std::uint64_t> table(32);
  for (std::uint64_t i = 0; i < table.size(); ++i) table[i] = kOtherBuffer + 4 * i;
  value::ProcessPending().Write(kLaunchBuffer, table.data(), 8 * table.size());
  Know(kOtherBuffer + 4096, 64);
  Launch("through_table", {kLaunchBuffer});

  EXPECT_TRUE(IsKnown(kOtherBuffer + 4096, 64));
  EXPECT_TRUE(IsKnown(kOtherBuffer, 128));
  std::uint32_t last = 0;
  value::ProcessStore().Read(kOtherBuffer + 124, &last, 4);
  EXPECT_EQ(last, 31u);
}

TEST_F(LaunchTest, PointersThatAreBlankedInTheBlockAreThoseOfTheList) {
  static constexpr std::array<std::uint64_t, 1> kBlanked = {workload::kPointerTag};
  const std::array<std::uint64_t, 2> table = {kOtherBuffer, 0};
  value::ProcessPending().Write(kLaunchBuffer, table.data(), 8);
  const std::array<PointerWord, 1> pointers = {{{0, kLaunchBuffer}}};
  // One thread: it reads one entry.
  Record({.image = gpu::StoresCubin().data(), .name = "through_table"},
         {.grid = {1, 1, 1}, .block = {1, 1, 1}}, 1000,
         {.block = std::as_bytes(std::span(kBlanked)), .pointers = pointers, .block_stays = true},
         kLaunchArena);

  EXPECT_TRUE(IsKnown(kOtherBuffer, 4));
  EXPECT_FALSE(IsKnown(kOtherBuffer + 4, 1));
}

TEST_F(LaunchTest, NumbersThatWereTakenOutOfTheBlockAreThoseOfTheList) {
  static constexpr std::array<std::uint64_t, 1> kNothing = {0};
  const std::array<std::uint64_t, 2> table = {kOtherBuffer, 0};
  value::ProcessPending().Write(kLaunchBuffer, table.data(), 8);
  const std::array<NumberWord, 2> halves = {{{0, static_cast<std::uint32_t>(kLaunchBuffer)},
                                             {4, static_cast<std::uint32_t>(kLaunchBuffer >> 32)}}};
  Record({.image = gpu::StoresCubin().data(), .name = "through_table"},
         {.grid = {1, 1, 1}, .block = {1, 1, 1}}, 1001,
         {.block = std::as_bytes(std::span(kNothing)), .numbers = halves, .block_stays = true},
         kLaunchArena);

  EXPECT_TRUE(IsKnown(kOtherBuffer, 4));
}

TEST_F(LaunchTest, WhatAKernelOnlyReadsStaysKnown) {
  Know(kOtherBuffer, 64);
  Launch("scatter", {kLaunchBuffer, kOtherBuffer});  // Its indices end after the first eight.

  EXPECT_TRUE(IsKnown(kOtherBuffer, 64));
}

TEST_F(LaunchTest, AFlagThatUnknownValuesMayRaiseIsUnknown) {
  Know(kOtherBuffer, 4);
  Launch("mark", {kLaunchBuffer, kLaunchBuffer + 4096, kOtherBuffer});

  EXPECT_FALSE(IsKnown(kOtherBuffer, 4));
}

TEST_F(LaunchTest, AKernelWhoseCodeIsMissingMayWriteAnywhere) {
  Know(kOtherBuffer, 64);
  Launch("absent", {kLaunchBuffer});

  EXPECT_FALSE(IsKnown(kOtherBuffer, 1));
}

}  // namespace
}  // namespace eidolon::shim::compute
