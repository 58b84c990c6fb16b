#include "services/controller/job/document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace eidolon::controller::job {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

TEST(DocumentTest, ReadsSeveralYamlDocumentsAndLeavesEmptyOnesOut) {
  const auto documents = ParseDocuments("a: 1\n---\n---\nb: [x, 'y']\n");

  ASSERT_TRUE(documents) << documents.error().message;
  EXPECT_EQ(*documents, (std::vector<json>{{{"a", 1}}, {{"b", {"x", "y"}}}}));
}

TEST(DocumentTest, TypesPlainScalarsAndKeepsQuotedOnesAsText) {
  const auto documents =
      ParseYaml("{i: 12, f: 1.5, t: true, n: ~, q: '12', s: 16Gi, d: \"580.82\", v: 580.82}");

  ASSERT_TRUE(documents);
  const json expected = {{"i", 12},   {"f", 1.5},    {"t", true},     {"n", nullptr},
                         {"q", "12"}, {"s", "16Gi"}, {"d", "580.82"}, {"v", 580.82}};
  EXPECT_EQ(documents->front(), expected);
}

TEST(DocumentTest, ANumberHasOneSign) {
  const auto documents = ParseYaml("{a: +5, b: +.5, c: +-5, d: ++5, e: +-0.5, f: -+5}");

  ASSERT_TRUE(documents);
  EXPECT_EQ(documents->front(),
            json({{"a", 5}, {"b", 0.5}, {"c", "+-5"}, {"d", "++5"}, {"e", "+-0.5"}, {"f", "-+5"}}));
}

TEST(DocumentTest, SaysWhereTheYamlIsWrong) {
  const auto documents = ParseDocuments("a: 1\nb: [1, 2\nc: 3\n");

  ASSERT_FALSE(documents);
  EXPECT_THAT(documents.error().message, HasSubstr("line 3"));
}

TEST(DocumentTest, RefusesAKeyThatOccursTwice) {
  EXPECT_THAT(ParseDocuments("a: 1\na: 2\n").error().message, HasSubstr("'a' occurs twice"));
  EXPECT_THAT(ParseDocuments(R"({"b": {"a": 1, "a": 2}})").error().message,
              HasSubstr("'a' occurs twice"));
}

TEST(DocumentTest, RefusesAliasesThatMultiply) {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 8; ++i) {
    const std::string last = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + last;
    for (int n = 1; n < 10; ++n) bomb += ", " + last;
    bomb += "]\n";
  }

  const auto documents = ParseDocuments(bomb);

  ASSERT_FALSE(documents);
  EXPECT_THAT(documents.error().message, HasSubstr("after resolving aliases"));
}

// Few values, and gigabytes of them.
TEST(DocumentTest, RefusesAliasesThatMultiplyALongText) {
  std::string text = "a: &a " + std::string(200'000, 'x') + "\nb:\n";
  for (int i = 0; i < 1000; ++i) text += "- *a\n";

  EXPECT_THAT(ParseDocuments(text).error().message, HasSubstr("bytes of text after resolving"));
}

TEST(DocumentTest, ResolvesAliasesAsValuesAndAsKeys) {
  const auto documents = ParseYaml("a: &x [1, &y b]\n*y : *x\n");

  ASSERT_TRUE(documents) << documents.error().message;
  EXPECT_EQ(documents->front(), json::parse(R"({"a": [1, "b"], "b": [1, "b"]})"));
  EXPECT_THAT(ParseYaml("a: &x [1]\n*x : 1\n").error().message, HasSubstr("a key must be text"));
  EXPECT_THAT(ParseYaml("[1]: 1\n").error().message, HasSubstr("line 1: a key must be text"));
}

TEST(DocumentTest, RefusesMoreValuesThanAnyJobHasAndSaysSo) {
  std::string list = "[0";
  for (int i = 0; i < 110'000; ++i) list += ",0";

  for (const std::string& text : {"a: " + list + "]", "{\"a\": " + list + "]}"}) {
    EXPECT_THAT(ParseDocuments(text).error().message, HasSubstr("more than 50000 values"));
  }
  const std::string quoted = "\"" + std::string(300'000, 'x') + "\"";
  for (const std::string& text : {"a: " + quoted, "{\"a\": " + quoted + "}"}) {
    EXPECT_THAT(ParseDocuments(text).error().message, HasSubstr("put it into a file"));
  }
}

// yaml-cpp finds such a document again and again and never ends.
TEST(DocumentTest, RefusesATextInWhichNoDocumentBegins) {
  EXPECT_THAT(ParseDocuments(",").error().message, HasSubstr("line 1, column 1"));
  EXPECT_THAT(ParseYaml("a: 1\n--- ]\n").error().message, HasSubstr("line 2"));
}

TEST(DocumentTest, RefusesDeepNesting) {
  EXPECT_FALSE(ParseDocuments(std::string(100'000, '[')));
  EXPECT_FALSE(ParseDocuments("{\"a\":" + std::string(100, '[') + std::string(100, ']') + "}"));
}

TEST(DocumentTest, RefusesHugeAndEmptyTexts) {
  EXPECT_THAT(ParseDocuments(std::string(kDocumentBytesMax + 1, ' ')).error().message,
              HasSubstr("no document"));
  EXPECT_THAT(ParseYaml(std::string(kDocumentBytesMax + 1, ' ')).error().message,
              HasSubstr("at most"));
  EXPECT_FALSE(ParseDocuments(" \n# only a comment\n"));
}

TEST(DocumentTest, YamlOutputReadsBackAsTheSameTree) {
  const json tree = {{"version", "580.82"},
                     {"yes", "true"},
                     {"nothing", ""},
                     {"list", json::array()},
                     {"nested", {{"lines", "one\ntwo"}, {"numbers", {1, 2.5, -3}}}},
                     {"on", true},
                     {"none", nullptr},
                     {"odd: text", "- a: b # c"}};

  const auto read = ParseYaml(ToYaml(tree));

  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->front(), tree) << ToYaml(tree);
}

}  // namespace
}  // namespace eidolon::controller::job
