#include "shim/host_time/short_places.h"

#include <gtest/gtest.h>

#include "shim/host_time/call_history.h"

namespace eidolon::shim::host_time {
namespace {

TEST(ShortPlacesTest, APlaceIsShortOnceItWasNoted) {
  ShortPlaces places;
  CallHistory history;
  history.Push(3, 0);
  EXPECT_FALSE(places.Has(history.CoarsePlaceBefore(4)));
  places.Note(history.CoarsePlaceBefore(4));
  EXPECT_TRUE(places.Has(history.CoarsePlaceBefore(4)));
  EXPECT_FALSE(places.Has(history.CoarsePlaceBefore(5)));
}

TEST(ShortPlacesTest, FewOfThousandsOfPlacesAreTakenForOthers) {
  ShortPlaces places;
  CallHistory history;
  for (std::uint64_t call = 1; call <= 8000; ++call) {
    places.Note(history.CoarsePlaceBefore(call));
    history.Push(call, 0);
  }
  int taken = 0;
  for (std::uint64_t call = 100'000; call < 101'000; ++call) {
    taken += places.Has(history.CoarsePlaceBefore(call)) ? 1 : 0;
    history.Push(call, 0);
  }
  EXPECT_LT(taken, 60);  // 8000 of 262,144 bits: 31 expected.
}

}  // namespace
}  // namespace eidolon::shim::host_time
