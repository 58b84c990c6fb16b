// A stand-in for the interpreter: frames are numbers of code objects, whose evaluation a test
// gives.
#include "shim/core/frame_count.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

namespace eidolon::shim::core {
namespace {

struct Function {
  bool left_out = false;
  std::uint8_t number = 0;  // For an observer.
  std::function<void()> body;
  void* note = nullptr;
  int asked = 0;
};

EvaluateFrame current = nullptr;

void* EvaluateAsInterpreter(void* /*thread*/, void* frame, int /*throws*/) {
  static_cast<Function*>(frame)->body();
  return frame;
}

void Call(Function& code, int throws = 0) {
  EXPECT_EQ(current(nullptr, &code, throws), static_cast<void*>(&code));
}

Evaluation FakeInterpreter() {
  return {.current = [](void*) { return current; },
          .replace = [](void*, EvaluateFrame evaluate) { current = evaluate; },
          .own = EvaluateAsInterpreter,
          .interpreter = []() -> void* { return nullptr; },
          .code_of = [](void* frame) { return frame; },
          .get_note =
              [](void* code, std::int64_t, void** note) {
                *note = static_cast<Function*>(code)->note;
                return 0;
              },
          .set_note =
              [](void* code, std::int64_t, void* note) {
                static_cast<Function*>(code)->note = note;
                return 0;
              },
          .note = 0,
          .is_left_out =
              [](void* code) {
                ++static_cast<Function*>(code)->asked;
                return static_cast<Function*>(code)->left_out;
              },
          .choose = [](void* code) { return static_cast<Function*>(code)->number; }};
}

class FrameCountTest : public ::testing::Test {
 protected:
  void SetUp() override {
    current = EvaluateAsInterpreter;
    CountFramesOf(FakeInterpreter());
    TakeFrames();
  }
};

TEST_F(FrameCountTest, EachCallOfAFunctionCountsOnceWithWhatItCalls) {
  Function inner{.body = [] {}};
  Function outer{.body = [&] {
    Call(inner);
    Call(inner);
  }};
  Call(outer);
  EXPECT_EQ(TakeFrames(), 3u);
  EXPECT_EQ(TakeFrames(), 0u);
}

TEST_F(FrameCountTest, WhatWaitsDoesNotCountNorWhatItCalls) {
  Function inner{.body = [] {}};
  Function wait{.left_out = true, .body = [&] { Call(inner); }};
  Function outer{.body = [&] {
    Call(inner);
    Call(wait);
    Call(inner);
  }};
  Call(outer);
  EXPECT_EQ(TakeFrames(), 3u);
}

TEST_F(FrameCountTest, CountsTakenWithinAWaitAreNotTakenAgain) {
  Function inner{.body = [] {}};
  std::uint64_t within = 0;
  Function wait{.left_out = true, .body = [&] {
                  Call(inner);
                  within = TakeFrames();
                  Call(inner);
                }};
  Call(inner);
  Call(wait);
  Call(inner);
  EXPECT_EQ(within, 2u);
  EXPECT_EQ(TakeFrames(), 1u);
}

TEST_F(FrameCountTest, AFunctionIsAskedAboutOnce) {
  Function wait{.left_out = true, .body = [] {}};
  Call(wait, 1);  // An exception is on its way: the interpreter cannot be asked.
  EXPECT_EQ(wait.asked, 0);
  EXPECT_EQ(TakeFrames(), 1u);
  for (int i = 0; i < 5; ++i) Call(wait);
  EXPECT_EQ(wait.asked, 1);
  EXPECT_EQ(TakeFrames(), 0u);
}

TEST_F(FrameCountTest, EachThreadHasItsOwn) {
  Function function{.body = [] {}};
  Call(function);
  std::thread([&] {
    EXPECT_EQ(TakeFrames(), 0u);
    Call(function);
    Call(function);
    EXPECT_EQ(TakeFrames(), 2u);
  }).join();
  EXPECT_EQ(TakeFrames(), 1u);
}

// An observer notes the numbers of functions that begin, and their negatives when they end.
std::vector<int> seen;
std::function<void()> when_begun;

constexpr FrameObserver kObserver = {
    .choose = nullptr,  // The stand-in chooses.
    .begin =
        [](std::uint8_t function) {
          seen.push_back(function);
          if (when_begun) when_begun();
        },
    .end = [](std::uint8_t function,
              void* result) { seen.push_back(result == nullptr ? 0 : -function); }};

class FrameObserverTest : public FrameCountTest {
 protected:
  void SetUp() override {
    FrameCountTest::SetUp();
    seen.clear();
    when_begun = nullptr;
  }
  void TearDown() override { ObserveFrames(nullptr); }
};

TEST_F(FrameObserverTest, SeesChosenFunctionsBeginAndEndAndTheyCount) {
  ObserveFrames(&kObserver);
  Function other{.body = [] {}};
  Function inner{.number = 2, .body = [&] { Call(other); }};
  Function outer{.number = 7, .body = [&] { Call(inner); }};
  Call(outer);
  EXPECT_EQ(seen, (std::vector{7, 2, -2, -7}));
  EXPECT_EQ(TakeFrames(), 3u);
}

TEST_F(FrameObserverTest, WhatAnObserverRunsDoesNotCount) {
  ObserveFrames(&kObserver);
  Function asked{.body = [] {}};
  when_begun = [&] { Call(asked); };
  Function observed{.number = 1, .body = [] {}};
  Call(observed);
  EXPECT_EQ(TakeFrames(), 1u);
}

TEST_F(FrameObserverTest, SeesFunctionsThatRanBeforeAnyoneObserved) {
  Function observed{.number = 1, .body = [] {}};
  Call(observed);
  EXPECT_TRUE(seen.empty());
  ObserveFrames(&kObserver);
  Call(observed);
  Call(observed);
  EXPECT_EQ(seen, (std::vector{1, -1, 1, -1}));
  EXPECT_EQ(observed.asked, 2);
}

TEST_F(FrameCountTest, WhoStandsBeforeTheFramesAlreadyIsLeftThere) {
  const EvaluateFrame other = [](void*, void* frame, int) { return frame; };
  current = other;
  CountFramesOf(FakeInterpreter());
  EXPECT_EQ(current, other);
}

TEST(LeftOutTest, WaitsImportsAndCompilersAreLeftOut) {
  EXPECT_TRUE(IsLeftOut("/usr/lib/python3.11/queue.py", "get"));
  EXPECT_TRUE(IsLeftOut("/usr/lib/python3.11/multiprocessing/connection.py", "wait"));
  EXPECT_TRUE(IsLeftOut("<frozen importlib._bootstrap>", "_find_and_load"));
  EXPECT_TRUE(IsLeftOut("/e/site-packages/torch/_dynamo/convert_frame.py", "__call__"));
  EXPECT_TRUE(IsLeftOut("/e/site-packages/torch/utils/data/dataloader.py", "_get_data"));
  EXPECT_FALSE(IsLeftOut("/e/site-packages/torch/utils/data/dataloader.py", "_next_data"));
  EXPECT_FALSE(IsLeftOut("/e/site-packages/triton/runtime/jit.py", "run"));
  EXPECT_FALSE(IsLeftOut("/home/me/my_queue.py", "get"));
  EXPECT_FALSE(IsLeftOut("", ""));
}

}  // namespace
}  // namespace eidolon::shim::core
