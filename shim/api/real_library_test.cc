#include "shim/api/real_library.h"

#include <gtest/gtest.h>

#include <cmath>

namespace eidolon::shim::api {
namespace {

TEST(RealLibraryTest, IsTheOneThatALoadedObjectNeeds) {
  EXPECT_TRUE(IsNeeded("libc.so.6"));
  EXPECT_FALSE(IsNeeded("libc.so"));
  EXPECT_FALSE(IsNeeded("libnvrtc.so.12"));
}

TEST(RealLibraryTest, TakesTheNewerNameWhereNothingNeedsCuda12) {
  RealLibrary newer("libc.so.6", "libabsent.so.12");
  RealLibrary older("libabsent.so.13", "libc.so.6");

  EXPECT_NE(newer.Find("strtod"), nullptr);
  EXPECT_EQ(older.Find("strtod"), nullptr);
}

TEST(RealLibraryTest, MissesAFunctionRatherThanFails) {
  RealLibrary none("libabsent.so.13", "libabsent.so.12");

  EXPECT_EQ(none.Find("strtod"), nullptr);
}

}  // namespace
}  // namespace eidolon::shim::api
