#include "services/controller/job/values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace eidolon::controller::job {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct ValuesRead {
  ValuesSpec spec;
  Problems problems;
};

ValuesRead ReadText(const char* text) {
  const json document = json::parse(text);
  ValuesRead read;
  Fields fields(document, "/spec/values", &read.problems);
  read.spec = ReadValues(&fields);
  return read;
}

TEST(ValuesTest, NothingIsDeclaredByDefault) {
  const ValuesRead read = ReadText("{}");

  EXPECT_THAT(read.problems, IsEmpty());
  EXPECT_EQ(read.spec.unknown_reads, UnknownReads::kPlausible);
  EXPECT_TRUE(read.spec.compute);
  EXPECT_THAT(read.spec.declared, IsEmpty());
}

TEST(ValuesTest, DeclarationsAreReadInOrder) {
  const ValuesRead read = ReadText(R"({"unknownReads": "one", "declared": [
      {"kernel": "*NormTwoOps*", "value": 0.5, "type": "bfloat16", "pointer": 1},
      {"line": "train.py:40", "value": -3}]})");

  ASSERT_THAT(read.problems, IsEmpty());
  EXPECT_EQ(read.spec.unknown_reads, UnknownReads::kOne);
  ASSERT_EQ(read.spec.declared.size(), 2u);
  EXPECT_EQ(read.spec.declared[0].type, "bfloat16");
  EXPECT_EQ(read.spec.declared[0].value, 0.5);
  EXPECT_EQ(read.spec.declared[0].pointer, 1u);
  EXPECT_EQ(read.spec.declared[1].type, "float32");
  EXPECT_FALSE(read.spec.declared[1].pointer);
  EXPECT_THAT(TitlesOf(read.spec),
              ElementsAre("values.declared[0] (kernel *NormTwoOps*, pointer 1)",
                          "values.declared[1] (line train.py:40)"));
}

TEST(ValuesTest, ARoutingIsOfTorchsTopKUnlessItNamesAKernel) {
  const ValuesRead read = ReadText(R"({"expertRouting":
      {"experts": 64, "tokens": 4096, "topK": 2, "distribution": "zipf", "seed": 3}})");

  ASSERT_THAT(read.problems, IsEmpty());
  ASSERT_EQ(read.spec.declared.size(), 1u);
  const DeclaredValue& router = read.spec.declared[0];
  EXPECT_EQ(router.kernel, "gatherTopK");
  EXPECT_EQ(router.pointer, 1u);
  EXPECT_EQ(router.type, "int64");
  ASSERT_TRUE(router.routing);
  EXPECT_EQ(router.routing->experts, 64u);
  EXPECT_EQ(router.routing->zipf_exponent, 1.0);
  EXPECT_EQ(router.routing->seed, 3u);
  EXPECT_THAT(TitlesOf(read.spec),
              ElementsAre("values.expertRouting (kernel gatherTopK, pointer 1)"));
}

struct WrongValues {
  const char* values;
  const char* pointer;
  const char* problem;
};

TEST(ValuesTest, WhatIsWrongIsNamedAtItsPlace) {
  const WrongValues all[] = {
      {R"({"declared": [{"kernel": "norm"}]})", "/spec/values/declared/0/value", "is required"},
      {R"({"declared": [{"value": 1}]})", "/spec/values/declared/0/kernel", "or line is required"},
      {R"({"declared": [{"value": 1, "line": "train.py"}]})", "/spec/values/declared/0/line",
       "such as router.py:120"},
      {R"({"declared": [{"value": 1, "kernel": "a\tb", "line": "a.py:1"}]})",
       "/spec/values/declared/0/kernel", "tabs"},
      {R"({"declared": [{"value": 1, "kernel": "a", "type": "float3"}]})",
       "/spec/values/declared/0/type", "did you mean 'float32'"},
      {R"({"declared": [{"value": 1, "kernel": "a", "pointer": 15}]})",
       "/spec/values/declared/0/pointer", "from 0 to 14"},
      {R"({"declared": [{"value": 1, "kernel": "a", "valu": 2}]})", "/spec/values/declared/0/valu",
       "unknown field"},
      {R"({"expertRouting": {"experts": 8, "tokens": 4}})", "/spec/values/expertRouting/topK",
       "is required"},
      {R"({"expertRouting": {"experts": 2, "tokens": 4, "topK": 3}})",
       "/spec/values/expertRouting/topK", "more than there are experts"},
      {R"({"expertRouting": {"experts": 8, "tokens": 4194304, "topK": 2}})",
       "/spec/values/expertRouting/tokens", "at most 4194304"},
      {R"({"compute": false, "expertRouting": {"experts": 8, "tokens": 4, "topK": 2}})",
       "/spec/values/expertRouting/gives", "leave out compute: false"},
      {R"({"expertRouting": {"experts": 8, "tokens": 4, "topK": 2, "gives": "counts"}})",
       "/spec/values/expertRouting/kernel", "is required with gives: counts"},
      {R"({"expertRouting": {"experts": 8, "tokens": 4, "topK": 2,
          "exponent": 2}})",
       "/spec/values/expertRouting/exponent", "zipf only"},
      {R"({"expertRouting": {"experts": 8, "tokens": 4, "topK": 2,
          "file": "a.csv", "distribution": "zipf"}})",
       "/spec/values/expertRouting/file", "together with distribution"}};
  for (const WrongValues& wrong : all) {
    const ValuesRead read = ReadText(wrong.values);
    ASSERT_EQ(read.problems.size(), 1u) << wrong.values;
    EXPECT_EQ(read.problems[0].pointer, wrong.pointer);
    EXPECT_THAT(read.problems[0].detail, HasSubstr(wrong.problem)) << wrong.values;
  }
}

}  // namespace
}  // namespace eidolon::controller::job
