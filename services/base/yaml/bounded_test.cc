#include "services/base/yaml/bounded.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace eidolon::yaml {
namespace {

using ::testing::HasSubstr;

std::string Repeat(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

TEST(BoundedTest, LetsThroughWhatKeepsWithinTheBounds) {
  EXPECT_TRUE(CheckBounds("a: [1, 2, {b: c}]\n---\n- &x y\n- *x\n", {}));
  EXPECT_TRUE(CheckBounds("a: " + Repeat("[", 63) + Repeat("]", 63), {}));
  // Whoever loads it says so better.
  EXPECT_TRUE(CheckBounds("a: [", {}));
}

TEST(BoundedTest, NamesTheBoundThePlaceAndTheWayOut) {
  const Bounds small = {.text_bytes_max = 1000,
                        .depth_max = 4,
                        .values_max = 50,
                        .scalar_bytes_max = 100,
                        .scalars_bytes_max = 400};
  const struct {
    const char* what;
    std::string text;
    const char* message;
  } rows[] = {
      {"text", std::string(1001, ' '), "1001 bytes; at most 1000"},
      {"flow depth", "a: [[[[1]]]]", "line 1: nested deeper than 4 levels"},
      {"brackets", std::string(900, '['), "at most 4 levels"},
      {"block depth", "- - - - - 1", "nested deeper than 4 levels"},
      {"values", "a: [" + Repeat("1,", 120) + "]", "more than 50 values after resolving aliases"},
      {"documents", Repeat("---\n", 120), "more than 50 values"},
      {"scalar", "\n\na: " + std::string(101, 'b'), "line 3: a text of 101 bytes; at most 100"},
      {"scalars", Repeat("- " + std::string(90, 'b') + "\n", 5), "more than 400 bytes of text"},
      {"aliases of values", "a: &a [1,1,1,1,1]\nb: [" + Repeat("*a,", 30) + "]", "50 values"},
      {"aliases of text", "- &a " + std::string(90, 'b') + "\n" + Repeat("- *a\n", 5),
       "400 bytes of text after resolving"},
      {"aliases of depth", "- &a [[1]]\n- &b [[*a]]\n", "nested deeper than 4"},
      {"anchors in anchors", "[&a [&b [&c [" + Repeat("1,", 20) + "]]]]", "50 values"},
      {"recursion", "&a [*a]", "an alias stands inside the value that it names"},
      {"no end", ",", "a value was expected"},
  };
  for (const auto& row : rows) {
    const auto checked = CheckBounds(row.text, small);
    ASSERT_FALSE(checked) << row.what;
    EXPECT_THAT(checked.error().message, HasSubstr(row.message)) << row.what;
  }
}

}  // namespace
}  // namespace eidolon::yaml
