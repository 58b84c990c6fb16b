#include "services/controller/job/utf8.h"

#include <gtest/gtest.h>

namespace eidolon::controller::job {
namespace {

TEST(Utf8Test, AcceptsTextOfEveryLength) {
  for (const char* text : {"", "job", "\xc2\x80", "\xe0\xa0\x80", "\xed\x9f\xbf",
                           "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf", "a\xc3\xa9z"}) {
    EXPECT_TRUE(IsUtf8(text)) << text;
  }
}

TEST(Utf8Test, RefusesWhatIsNoText) {
  for (const char* text : {"\xff", "\x80", "\xc3", "\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80",
                           "\xe2\x82", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "a\xc3z"}) {
    EXPECT_FALSE(IsUtf8(text)) << text;
  }
}

}  // namespace
}  // namespace eidolon::controller::job
