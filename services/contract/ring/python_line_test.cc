#include "services/contract/ring/python_line.h"

#include <gtest/gtest.h>

#include <string>

namespace eidolon::ring {
namespace {

TEST(PythonLineTest, ALineIsShownAsItIs) {
  EXPECT_EQ(ShownPythonLine("/home/me/train.py:40 in <module>"),
            "/home/me/train.py:40 in <module>");
}

TEST(PythonLineTest, WhateverWasWrittenIsShownAsPrintableTextOfBoundedLength) {
  EXPECT_EQ(ShownPythonLine("a\xff\n\x01"
                            "b"),
            "a???b");
  EXPECT_EQ(ShownPythonLine(std::string(1000, 'x')).size(), kPythonLineBytesMax);
}

}  // namespace
}  // namespace eidolon::ring
