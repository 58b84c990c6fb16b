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

}  // namespace
}  // namespace eidolon::base
