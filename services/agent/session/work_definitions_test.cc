#include "services/agent/session/work_definitions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/agent/session/parts_fixture.h"

namespace eidolon::agent::session {
namespace {

using ::testing::HasSubstr;

class WorkDefinitionsTest : public PartsFixture {
 protected:
  base::Result<void> DefineNext() {
    const std::uint64_t at = position_;
    const auto record = reader_.Read(&position_);
    return works_.Define(**record, at);
  }
  ring::Reader reader_{segment_.base(), 1};
  WorkDefinitions works_{&host_};
  std::uint64_t position_ = 0;
};

TEST_F(WorkDefinitionsTest, EqualDefinitionsShareAnEntry) {
  writer_.DefineKernel(1, "one");
  writer_.DefineKernel(2, "one");
  writer_.DefineKernel(3, "three");
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(DefineNext().has_value());

  EXPECT_EQ(*works_.Find(1), *works_.Find(2));
  EXPECT_NE(*works_.Find(1), *works_.Find(3));
  EXPECT_EQ(works_.Find(4), nullptr);
}

TEST_F(WorkDefinitionsTest, ASecondDefinitionOfANumberIsDamage) {
  writer_.DefineKernel(1, "one");
  writer_.DefineKernel(1, "two");
  ASSERT_TRUE(DefineNext().has_value());

  EXPECT_THAT(DefineNext().error().message, HasSubstr("work 1 exists already"));
}

TEST_F(WorkDefinitionsTest, WhatTheScoutHasSeenMayBeReadAgain) {
  writer_.DefineKernel(1, "one");
  writer_.Launch(0, 1);
  writer_.DefineKernel(2, "two");

  works_.Scout(&reader_, 0);

  ASSERT_NE(works_.Find(2), nullptr);
  EXPECT_TRUE(DefineNext().has_value());
  EXPECT_EQ(host_.costs().TakeQuestions(10).size(), 2u);
}

}  // namespace
}  // namespace eidolon::agent::session
