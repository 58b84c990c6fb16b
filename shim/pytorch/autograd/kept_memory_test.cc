#include "shim/pytorch/autograd/kept_memory.h"

#include <gtest/gtest.h>

namespace eidolon::shim::autograd {
namespace {

void Give(KeptMemory& memory, std::uint64_t address) {
  memory.NoteBackward();
  memory.GiveBack(address, true);
}

TEST(KeptMemoryTest, CountsWhatABackwardPassGivesBack) {
  KeptMemory memory;
  memory.Take(1, 1000);  // A parameter.
  memory.Take(2, 10);
  memory.Take(3, 5);
  memory.GiveBack(3, false);  // A temporary tensor of the forward pass.
  memory.Take(4, 20);

  Give(memory, 4);
  memory.GiveBack(77, true);  // Of the backward pass itself.
  EXPECT_FALSE(memory.News()) << "backward still runs";
  Give(memory, 2);
  memory.Take(5, 1);

  EXPECT_EQ(memory.News(), 30u);
  EXPECT_FALSE(memory.News()) << "told before";
  EXPECT_EQ(memory.BytesOf(1), 1000u);
  EXPECT_FALSE(memory.BytesOf(2));
}

TEST(KeptMemoryTest, EqualIterationsAreToldOnce) {
  KeptMemory memory;
  int told = 0;
  for (int iteration = 0; iteration < 1000; ++iteration) {
    memory.Take(2, 10);
    memory.Take(3, 20);
    if (memory.News()) ++told;
    Give(memory, 3);
    Give(memory, 2);
  }
  EXPECT_EQ(told, 1);
}

// Forward of the first two parts of a batch, then one pass backward and one forward, in turns.
TEST(KeptMemoryTest, PartsOfABatchThatOverlapAddUp) {
  KeptMemory memory;
  memory.Take(1, 100);
  memory.Take(2, 100);
  for (std::uint64_t part = 3; part < 20; ++part) {
    Give(memory, part - 2);
    memory.Take(part, 100);
  }
  Give(memory, 18);
  Give(memory, 19);
  memory.Take(50, 1);

  EXPECT_EQ(memory.News(), 200u);
}

TEST(KeptMemoryTest, ABackwardThatGivesNothingBackIsNotOne) {
  KeptMemory memory;
  memory.Take(1, 100);
  memory.NoteBackward();
  memory.Take(2, 100);
  memory.GiveBack(1, false);
  memory.GiveBack(2, false);
  EXPECT_FALSE(memory.News());
}

TEST(KeptMemoryTest, WhatStaysForVeryLongCountsForTheLastPasses) {
  KeptMemory memory;
  memory.Take(1, 1 << 20);
  for (int i = 0; i < 2000; ++i) {
    memory.Take(2, 10);
    Give(memory, 2);
  }
  Give(memory, 1);
  memory.Take(3, 1);

  EXPECT_EQ(memory.News(), (1u << 20) + 10);
}

}  // namespace
}  // namespace eidolon::shim::autograd
