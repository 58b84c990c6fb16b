#include "services/agent/timeline/memory_parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace eidolon::agent::timeline {
namespace {

using ::eidolon::ring::TensorRole;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Operation 10 * n begins step n.
class MemoryPartsTest : public ::testing::Test {
 protected:
  void Take(std::uint64_t address, std::int64_t bytes) { Note(address, bytes, false); }
  void GiveBack(std::uint64_t address, bool is_activation = false) {
    Note(address, -1, is_activation);
  }
  void Note(std::uint64_t address, std::int64_t bytes, bool is_activation) {
    ::eidolon::ring::MemoryBlockRecord record{};
    record.address = address;
    record.bytes = bytes;
    record.is_activation = is_activation ? 1 : 0;
    parts_.NoteBlock(record, {.at = base::SimTime{100}, .sequence = sequence_, .order = order_++},
                     room_);
  }
  void Use(TensorRole role, std::uint64_t address, std::uint64_t bytes) {
    parts_.NoteTensor(0, {.address = address, .bytes = bytes, .role = role, .reserved = 0},
                      sequence_, room_);
  }
  // Returns the part of each change up to `end`.
  std::vector<MemoryPart> Added(std::uint64_t first, std::uint64_t end) {
    std::vector<MemoryPart> added;
    for (const auto& change : parts_.Changes(first, end)) added.push_back(change.added);
    return added;
  }

  MemoryParts parts_;
  MemoryRoom room_{.most = 1000};
  std::uint64_t sequence_ = 0;
  std::uint64_t order_ = 0;
};

TEST_F(MemoryPartsTest, BlocksAreWhatTheyTurnOutToBe) {
  Take(0x1000, 512);  // A parameter of 400 bytes.
  Take(0x2000, 1024);
  Take(0x3000, 2048);  // A temporary tensor.
  GiveBack(0x3000);
  Take(0x4000, 512);
  GiveBack(0x2000, true);
  sequence_ = 5;
  Use(TensorRole::kParameter, 0x1000, 400);
  Use(TensorRole::kGradient, 0x4000, 400);
  Use(TensorRole::kParameter, 0x1000, 400);
  GiveBack(0x4000);

  EXPECT_THAT(Added(0, 10),
              ElementsAre(MemoryPart{.parameters = 400}, MemoryPart{.activations = 1024},
                          MemoryPart{.gradients = 400}, MemoryPart{.activations = -1024},
                          MemoryPart{.gradients = -400}));
  EXPECT_TRUE(parts_.has_blocks());
}

TEST_F(MemoryPartsTest, ABlockMayHoldSeveralTensors) {
  Take(0x1000, 1024);
  Use(TensorRole::kParameter, 0x1000, 100);
  Use(TensorRole::kOptimizerState, 0x1200, 512);
  Use(TensorRole::kGradient, 0x1100, 100);
  Use(TensorRole::kGradient, 0x1300, 512);  // Reaches beyond the block.
  Use(TensorRole::kParameter, 0x9000, 512);

  EXPECT_THAT(Added(0, 10),
              ElementsAre(MemoryPart{.parameters = 100, .gradients = 100, .optimizer_state = 512}));
}

TEST_F(MemoryPartsTest, AnOptimizerThatUpdatesLessThanItReadsIsNone) {
  Take(0x1000, 512);
  Take(0x2000, 512);
  GiveBack(0x2000, true);
  Use(TensorRole::kGradient, 0x1000, 400);

  EXPECT_THAT(Added(0, 10),
              ElementsAre(MemoryPart{.activations = 512}, MemoryPart{.activations = -512}));
  // It was in another iteration.
  EXPECT_EQ(Added(5, 10).size(), 3u);
}

TEST_F(MemoryPartsTest, WhatEndedBeforeTheWindowIsForgottenAndWhatComesBehindIsNotShown) {
  Take(0x1000, 512);
  GiveBack(0x1000, true);
  sequence_ = 5;
  Take(0x2000, 256);
  sequence_ = 10;
  parts_.DropBefore(5);
  sequence_ = 15;
  GiveBack(0x2000, true);
  Take(0x3000, 256);
  GiveBack(0x3000, true);

  EXPECT_THAT(Added(5, 10), ElementsAre(MemoryPart{.activations = 256}));
}

TEST_F(MemoryPartsTest, MemoryIsBounded) {
  room_ = {.most = 8, .forgets_oldest = true};
  for (std::uint64_t i = 1; i <= 100; ++i) {
    Take(i << 12, static_cast<std::int64_t>(i));
    GiveBack(i << 12, true);
  }
  auto added = Added(0, 10);
  EXPECT_LE(added.size(), 16u);
  EXPECT_EQ(added.back().activations, -100);

  room_.forgets_oldest = false;
  for (std::uint64_t i = 1; i <= 100; ++i) {
    Take(i << 12, 7);
    GiveBack(i << 12, true);
  }
  EXPECT_LE(Added(0, 10).size(), 16u);
}

TEST_F(MemoryPartsTest, GivingBackWhatWasNeverTakenIsNothing) {
  GiveBack(0x1000, true);
  EXPECT_THAT(Added(0, 10), IsEmpty());
}

}  // namespace
}  // namespace eidolon::agent::timeline
