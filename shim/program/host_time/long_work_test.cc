#include "shim/program/host_time/long_work.h"

#include <gtest/gtest.h>

#include "shim/program/host_time/call_history.h"

namespace eidolon::shim::host_time {
namespace {

std::uint64_t APlace(std::uint64_t call) { return CallHistory().CoarsePlaceBefore(call); }

TEST(LongWorkTest, WorkThatIsLongEveryOtherTimeIsNotRare) {
  LongWork work;
  for (int i = 0; i < 1000; ++i) {
    work.NoteShort(APlace(1));
    EXPECT_FALSE(work.NoteLong(APlace(1)));
  }
}

TEST(LongWorkTest, WorkThatIsLongOnceInAWhileIsRare) {
  LongWork work;
  for (int i = 0; i < 10; ++i) {
    for (int times = 0; times < 40; ++times) work.NoteShort(APlace(1));
    EXPECT_TRUE(work.NoteLong(APlace(1)));
  }
}

TEST(LongWorkTest, LongWorkAtANewPlaceIsNotRare) {
  LongWork work;
  work.NoteShort(APlace(1));
  EXPECT_FALSE(work.NoteLong(APlace(1)));
  EXPECT_FALSE(work.NoteLong(APlace(2)));
}

TEST(LongWorkTest, AProgramThatBeginsToComputeIsFoundOut) {
  LongWork work;
  for (int i = 0; i < 10'000; ++i) work.NoteShort(APlace(1));
  int taken_for_interruptions = 0;
  while (work.NoteLong(APlace(1))) ++taken_for_interruptions;
  EXPECT_LT(taken_for_interruptions, 16);
}

}  // namespace
}  // namespace eidolon::shim::host_time
