#include "services/controller/shown/printable.h"

#include <gtest/gtest.h>

namespace eidolon::controller::shown {
namespace {

TEST(PrintableTest, ShowsWhatATerminalWouldObey) {
  const struct {
    const char* what;
    std::string text, shown;
  } rows[] = {
      {"words", "step 1\tloss 0.5\n", "step 1\tloss 0.5\n"},
      {"clear the screen", "\x1b[2J", "\\x1b[2J"},
      {"set the title", "\x1b]0;root\x07", "\\x1b]0;root\\x07"},
      {"carriage return", "50 %\rdone",
       "50 %\\x0d"
       "done"},
      {"backspace and delete", "a\bb\x7f",
       "a\\x08"
       "b\\x7f"},
      {"NUL", std::string("a\0b", 3),
       "a\\x00"
       "b"},
      {"C1 control as UTF-8",
       "\xc2\x9b"
       "31m",
       "\\x9b"
       "31m"},
      {"C1 control as a byte",
       "\x9b"
       "31m",
       "\\x9b"
       "31m"},
      {"letters of the world", "Größe 大きい 🚀", "Größe 大きい 🚀"},
      {"turned text",
       "a\xe2\x80\xae"
       "b",
       "a\\u202e"
       "b"},
      {"overlong slash", "\xc0\xaf", "\\xc0\\xaf"},
      {"overlong in three bytes", "\xe0\x80\x9b", "\\xe0\\x80\\x9b"},
      {"surrogate", "\xed\xa0\x80", "\\xed\\xa0\\x80"},
      {"broken off", "a\xe5\xa4", "a\\xe5\\xa4"},
  };
  for (const auto& row : rows) EXPECT_EQ(ToPrintable(row.text), row.shown) << row.what;
}

TEST(PrintableTest, ACharacterMayComeInParts) {
  Printable printable;

  EXPECT_EQ(printable.Add("a\xe5"), "a");
  EXPECT_EQ(printable.Add("\xa4"), "");
  EXPECT_EQ(printable.Add("\xa7 b"), "大 b");
  EXPECT_EQ(printable.Finish(), "");
}

TEST(PrintableTest, ShowsEveryTextWithoutControls) {
  std::string all;
  for (int first = 0; first < 256; ++first) {
    for (int second = 0; second < 256; ++second) {
      all += {static_cast<char>(first), static_cast<char>(second)};
    }
  }

  const std::string shown = ToPrintable(all);

  for (const char c : shown) {
    const auto byte = static_cast<unsigned char>(c);
    EXPECT_TRUE(byte >= 0x20 || byte == '\n' || byte == '\t') << static_cast<int>(byte);
    EXPECT_NE(byte, 0x7f);
  }
}

TEST(PrintableTest, AMessageQuotesOutputBehindBars) {
  EXPECT_EQ(ToPrintableMessage("exit status 1\nall is well\x1b[2J"),
            "exit status 1\\x0aall is well\\x1b[2J");
  EXPECT_EQ(ToPrintableMessage("exit status 1: no\n; last lines of its error output:\nTraceback\n"
                               "\tother  Complete\n\nValueError"),
            "exit status 1: no\\x0a; last lines of its error output:\n    | Traceback\n"
            "    | \\x09other  Complete\n    | \n    | ValueError");
}

}  // namespace
}  // namespace eidolon::controller::shown
