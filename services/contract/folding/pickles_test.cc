#include "services/contract/folding/pickles.h"

#include <gtest/gtest.h>

#include <string>

namespace eidolon::folding {
namespace {

using std::string_literals::operator""s;

// Python 3.11: pickle.dumps({"rank": r, "name": f"part {r} of 4", "offset": 256 * r, "same": (1.5,
// None, True)}) for r of 0 and 3; and for 2, without its frame.
const std::string kOfRank0 =
    "\x80\x04\x95\x42\x00\x00\x00\x00\x00\x00\x00\x7d\x94\x28\x8c\x04\x72\x61\x6e\x6b"
    "\x94\x4b\x00\x8c\x04\x6e\x61\x6d\x65\x94\x8c\x0b\x70\x61\x72\x74\x20\x30\x20\x6f"
    "\x66\x20\x34\x94\x8c\x06\x6f\x66\x66\x73\x65\x74\x94\x4b\x00\x8c\x04\x73\x61\x6d"
    "\x65\x94\x47\x3f\xf8\x00\x00\x00\x00\x00\x00\x4e\x88\x87\x94\x75\x2e"
    ""s;
const std::string kOfRank3 =
    "\x80\x04\x95\x43\x00\x00\x00\x00\x00\x00\x00\x7d\x94\x28\x8c\x04\x72\x61\x6e\x6b"
    "\x94\x4b\x03\x8c\x04\x6e\x61\x6d\x65\x94\x8c\x0b\x70\x61\x72\x74\x20\x33\x20\x6f"
    "\x66\x20\x34\x94\x8c\x06\x6f\x66\x66\x73\x65\x74\x94\x4d\x00\x03\x8c\x04\x73\x61"
    "\x6d\x65\x94\x47\x3f\xf8\x00\x00\x00\x00\x00\x00\x4e\x88\x87\x94\x75\x2e"
    ""s;
const std::string kOfRank2 =
    "\x80\x04\x7d\x94\x28\x8c\x04\x72\x61\x6e\x6b\x94\x4b\x02\x8c\x04\x6e\x61\x6d\x65"
    "\x94\x8c\x0b\x70\x61\x72\x74\x20\x32\x20\x6f\x66\x20\x34\x94\x8c\x06\x6f\x66\x66"
    "\x73\x65\x74\x94\x4d\x00\x02\x8c\x04\x73\x61\x6d\x65\x94\x47\x3f\xf8\x00\x00\x00"
    "\x00\x00\x00\x4e\x88\x87\x94\x75\x2e"
    ""s;

TEST(PicklesTest, IntegersAndNumbersInTextsGoOn) {
  EXPECT_EQ(GoOnInPickle({0, kOfRank0}, {3, kOfRank3}, 2), kOfRank2);
}

TEST(PicklesTest, WhatStandsBehindAPickleDoesNotCount) {
  EXPECT_EQ(GoOnInPickle({0, kOfRank0 + "abc"}, {3, kOfRank3 + "defgh"}, 2), kOfRank2);
}

// pickle.dumps(...) of 0, 7; 2.0, 5.0; "a", "b"; [], 3.
TEST(PicklesTest, WhatFollowsNoRuleIsNotMadeUp) {
  const std::string zero = "\x80\x04K\x00."s, seven = "\x80\x04K\x07."s;
  EXPECT_EQ(GoOnInPickle({0, zero}, {3, seven}, 2), std::nullopt) << "no whole steps";
  const std::string two = "\x80\x04\x95\x0a\0\0\0\0\0\0\0G@\0\0\0\0\0\0\0."s,
                    five = "\x80\x04\x95\x0a\0\0\0\0\0\0\0G@\x14\0\0\0\0\0\0."s;
  EXPECT_EQ(GoOnInPickle({0, two}, {3, five}, 2), std::nullopt);
  const std::string a = "\x80\x04\x8c\x01"
                        "a\x94."s,
                    b = "\x80\x04\x8c\x01"
                        "b\x94."s;
  EXPECT_EQ(GoOnInPickle({0, a}, {3, b}, 2), std::nullopt);
  EXPECT_EQ(GoOnInPickle({0, "\x80\x04]\x94."s}, {3, seven}, 2), std::nullopt);
}

TEST(PicklesTest, BytesThatAreNoPickleAreNotRead) {
  EXPECT_EQ(GoOnInPickle({0, ""}, {3, ""}, 2), std::nullopt);
  EXPECT_EQ(GoOnInPickle({0, "text."}, {3, "text."}, 2), std::nullopt);
  for (std::size_t bytes = 0; bytes < kOfRank0.size(); ++bytes) {
    EXPECT_EQ(GoOnInPickle({0, kOfRank0.substr(0, bytes)}, {3, kOfRank3}, 2), std::nullopt);
  }
}

TEST(PicklesTest, IntegersTakeTheWidthThatTheyNeed) {
  const std::string small = "\x80\x04K\xff."s, large = "\x80\x04\x8a\x05\xff\0\0\0\x04."s;
  // 255 and 255 + 2^34.
  EXPECT_EQ(GoOnInPickle({0, small}, {1, large}, 2), "\x80\x04\x8a\x05\xff\0\0\0\x08."s);
  EXPECT_EQ(GoOnInPickle({1, small}, {0, "\x80\x04M\xff\x01."s}, 2), "\x80\x04J\xff\xff\xff\xff."s);
}

// pickle.dumps(r * step) without its frame.
TEST(PicklesTest, IntegersBeyond32BitsAreAsShortAsPythonWritesThem) {
  const std::string zero = "\x80\x04K\x00."s;
  // 2^30 and 2^31, whose sign needs a fifth byte; -2^30 and -2^31, -3 * 2^30.
  EXPECT_EQ(GoOnInPickle({0, zero}, {1, "\x80\x04J\0\0\0\x40."s}, 2),
            "\x80\x04\x8a\x05\0\0\0\x80\0."s);
  EXPECT_EQ(GoOnInPickle({0, zero}, {1, "\x80\x04J\0\0\0\xc0."s}, 2), "\x80\x04J\0\0\0\x80."s);
  EXPECT_EQ(GoOnInPickle({0, zero}, {1, "\x80\x04J\0\0\0\xc0."s}, 3),
            "\x80\x04\x8a\x05\0\0\0\x40\xff."s);
  // -2^38 and -2^39, which five bytes still hold; 2^62.
  EXPECT_EQ(GoOnInPickle({0, zero}, {1, "\x80\x04\x8a\x05\0\0\0\0\xc0."s}, 2),
            "\x80\x04\x8a\x05\0\0\0\0\x80."s);
  EXPECT_EQ(GoOnInPickle({0, zero}, {1, "\x80\x04\x8a\x08\0\0\0\0\0\0\0\x20."s}, 2),
            "\x80\x04\x8a\x08\0\0\0\0\0\0\0\x40."s);
}

}  // namespace
}  // namespace eidolon::folding
