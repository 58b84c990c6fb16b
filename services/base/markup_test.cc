#include "services/base/markup.h"

#include <gtest/gtest.h>

namespace eidolon::base {
namespace {

TEST(MarkupTest, EntitiesStandForMarksAndControlCharactersAreLeftOut) {
  EXPECT_EQ(EscapeMarkup("<a b='\"'>&\x1b[2J\xc3\xa9"),
            "&lt;a b=&#39;&quot;&#39;&gt;&amp;[2J\xc3\xa9");
}

}  // namespace
}  // namespace eidolon::base
