#include "services/base/hex.h"

#include <gtest/gtest.h>

namespace eidolon::base {
namespace {

TEST(HexTest, WritesTwoDigitsForEachByte) {
  EXPECT_EQ(Hex(""), "");
  EXPECT_EQ(Hex(std::string_view("\x00\x0f\xf0\xff"
                                 "a",
                                 5)),
            "000ff0ff61");
}

TEST(HexTest, ReadsTheDigestsThatItWrites) {
  const Digest digest = {0x0123456789abcdef, 0xfedcba9876543210};
  EXPECT_EQ(Hex(digest), "0123456789abcdeffedcba9876543210");
  EXPECT_EQ(ParseDigest(Hex(digest)), digest);
  EXPECT_EQ(ParseDigest("0123"), std::nullopt);
  EXPECT_EQ(ParseDigest("0123456789ABCDEFfedcba9876543210"), std::nullopt);
}

}  // namespace
}  // namespace eidolon::base
