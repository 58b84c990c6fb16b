#include "services/agent/outcome/plain_text.h"

#include <gtest/gtest.h>

namespace eidolon::agent::outcome {
namespace {

TEST(PlainTextTest, Utf8StaysAsItIs) {
  EXPECT_EQ(PlainText("loss 1.5 \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"),
            "loss 1.5 \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80");
}

TEST(PlainTextTest, EachByteThatIsNotUtf8BecomesAQuestionMark) {
  EXPECT_EQ(PlainText("a\xff"
                      "b\x80\xc0"),
            "a?b??");
}

TEST(PlainTextTest, ACharacterThatIsCutOffIsReplaced) { EXPECT_EQ(PlainText("\xe2\x82"), "??"); }

}  // namespace
}  // namespace eidolon::agent::outcome
