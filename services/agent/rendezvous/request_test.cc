#include "services/agent/rendezvous/request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace eidolon::agent::rendezvous {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Begin(Operation operation) { return {static_cast<char>(operation)}; }

std::string Refusal(const std::string& bytes) {
  const auto read = TakeRequest(bytes);
  return read.has_value() ? "" : read.error().message;
}

TEST(RequestTest, ReadsOneAfterTheOther) {
  std::string bytes = Begin(Operation::kSet);
  AppendText(&bytes, "/key");
  AppendText(&bytes, "value");
  const std::size_t first = bytes.size();
  bytes += Begin(Operation::kAdd);
  AppendText(&bytes, "/n");
  AppendNumber(&bytes, -4);

  const auto set = TakeRequest(bytes);
  ASSERT_TRUE(set.has_value() && set->has_value());
  EXPECT_EQ((*set)->bytes, first);
  EXPECT_THAT((*set)->request.keys, ElementsAre("/key"));
  EXPECT_THAT((*set)->request.values, ElementsAre("value"));
  const auto add = TakeRequest(std::string_view(bytes).substr(first));
  ASSERT_TRUE(add.has_value() && add->has_value());
  EXPECT_EQ((*add)->request.operation, Operation::kAdd);
  EXPECT_EQ((*add)->request.number, -4);
}

TEST(RequestTest, WaitsForTheRestOfARequest) {
  std::string bytes = Begin(Operation::kWait);
  AppendNumber(&bytes, 2);
  AppendText(&bytes, "/a");
  AppendText(&bytes, "/b");

  for (std::size_t length = 0; length < bytes.size(); ++length) {
    const auto part = TakeRequest(std::string_view(bytes).substr(0, length));
    ASSERT_TRUE(part.has_value()) << length;
    EXPECT_FALSE(part->has_value()) << length;
  }
  const auto whole = TakeRequest(bytes);
  ASSERT_TRUE(whole.has_value() && whole->has_value());
  EXPECT_THAT((*whole)->request.keys, ElementsAre("/a", "/b"));
}

TEST(RequestTest, RefusesWhatNoClientSends) {
  EXPECT_THAT(Refusal("\x7f"), HasSubstr("operation 127 is unknown"));
  EXPECT_THAT(Refusal(std::string(1, '\0') + "HTTP"), HasSubstr("does not begin as a client"));
  std::string large = Begin(Operation::kGet);
  AppendNumber(&large, std::int64_t{1} << 40);
  EXPECT_THAT(Refusal(large), HasSubstr("a text of 1099511627776 bytes"));
  std::string many = Begin(Operation::kCheck);
  AppendNumber(&many, std::int64_t{1} << 30);
  EXPECT_THAT(Refusal(many), HasSubstr("1073741824 keys"));
}

}  // namespace
}  // namespace eidolon::agent::rendezvous
