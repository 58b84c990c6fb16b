#include "services/agent/outcome/plain_text.h"

#include <gtest/gtest.h>

namespace eidolon::agent::outcome {
namespace {

TEST(PlainTextTest, Utf8StaysAsItIs) {
  EXPECT_EQ(PlainText("loss 1.5 \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"),
            "loss 1.5 \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80");
}

TEST(PlainTextTest, EachByteThatIsNotUtf8IsWrittenAsANumber) {
  EXPECT_EQ(PlainText("a\xff"
                      "b\x80\xc0"),
            "a\\xffb\\x80\\xc0");
}

TEST(PlainTextTest, ACharacterThatIsCutOffIsReplaced) {
  EXPECT_EQ(PlainText("\xe2\x82"), "\\xe2\\x82");
}

TEST(PlainTextTest, FormsThatUtf8ForbidsAreReplaced) {
  EXPECT_EQ(PlainText("\xe0\x80\x80"), "\\xe0\\x80\\x80");
  EXPECT_EQ(PlainText("\xed\xa0\x80"), "\\xed\\xa0\\x80");
  EXPECT_EQ(PlainText("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
}

}  // namespace
}  // namespace eidolon::agent::outcome
