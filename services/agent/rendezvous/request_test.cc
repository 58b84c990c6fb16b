#include "services/agent/rendezvous/request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/base/clock.h"

namespace eidolon::agent::rendezvous {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string Begin(Operation operation) { return {static_cast<char>(operation)}; }

std::string Refusal(const std::string& bytes) {
  RequestReader reader(kRequestBytesMax);
  reader.Append(bytes);
  const auto read = reader.Next();
  return read.has_value() ? "" : read.error().message;
}

TEST(RequestTest, ReadsOneAfterTheOther) {
  RequestReader reader(kRequestBytesMax);
  std::string bytes = Begin(Operation::kSet);
  AppendText(&bytes, "/key");
  AppendText(&bytes, "value");
  bytes += Begin(Operation::kListKeys);
  bytes += Begin(Operation::kBarrier);
  AppendText(&bytes, "/n");
  AppendNumber(&bytes, 4);
  reader.Append(bytes);

  const auto set = reader.Next();
  ASSERT_TRUE(set.has_value() && set->has_value());
  EXPECT_THAT((*set)->keys, ElementsAre("/key"));
  EXPECT_THAT((*set)->values, ElementsAre("value"));
  const auto list = reader.Next();
  ASSERT_TRUE(list.has_value() && list->has_value());
  EXPECT_EQ((*list)->operation, Operation::kListKeys);
  EXPECT_THAT((*list)->keys, IsEmpty());
  const auto barrier = reader.Next();
  ASSERT_TRUE(barrier.has_value() && barrier->has_value());
  EXPECT_EQ((*barrier)->operation, Operation::kBarrier);
  EXPECT_EQ((*barrier)->number, 4);
  EXPECT_EQ(reader.held_bytes(), 0u);
}

// The numbers on the wire, as c10d::detail::QueryType counts them.
TEST(RequestTest, OperationsHaveTheNumbersOfPyTorch) {
  EXPECT_EQ(static_cast<int>(Operation::kPing), 13);
  EXPECT_EQ(static_cast<int>(Operation::kQueueLength), 0x10);
  EXPECT_EQ(static_cast<int>(Operation::kListKeys), 0x11);
  EXPECT_EQ(static_cast<int>(Operation::kBarrier), 0x12);
}

TEST(RequestTest, WaitsForTheRestOfARequest) {
  std::string bytes = Begin(Operation::kMultiSet);
  AppendNumber(&bytes, 2);
  for (const char* text : {"/a", "1", "/b", "2"}) AppendText(&bytes, text);
  RequestReader reader(kRequestBytesMax);

  for (std::size_t i = 0; i + 1 < bytes.size(); ++i) {
    reader.Append(bytes.substr(i, 1));
    const auto part = reader.Next();
    ASSERT_TRUE(part.has_value()) << i;
    EXPECT_FALSE(part->has_value()) << i;
  }
  reader.Append(bytes.substr(bytes.size() - 1));
  const auto whole = reader.Next();
  ASSERT_TRUE(whole.has_value() && whole->has_value());
  EXPECT_THAT((*whole)->keys, ElementsAre("/a", "/b"));
  EXPECT_THAT((*whole)->values, ElementsAre("1", "2"));
}

// Parsed again from its beginning with each piece, this took minutes.
TEST(RequestTest, ALargeRequestInManyPiecesIsReadOnce) {
  constexpr int kKeys = 200'000;
  std::string bytes = Begin(Operation::kMultiSet);
  AppendNumber(&bytes, kKeys);
  for (int i = 0; i < kKeys; ++i) {
    AppendText(&bytes, std::to_string(i));
    AppendText(&bytes, "value");
  }
  RequestReader reader(kRequestBytesMax);
  const std::int64_t started_ns = base::ThreadCpuNs();

  std::size_t requests = 0;
  for (std::size_t at = 0; at < bytes.size(); at += 256) {
    reader.Append(std::string_view(bytes).substr(at, 256));
    const auto read = reader.Next();
    ASSERT_TRUE(read.has_value());
    if (!read->has_value()) continue;
    ++requests;
    EXPECT_EQ((*read)->values.size(), static_cast<std::size_t>(kKeys));
  }
  EXPECT_EQ(requests, 1u);
  EXPECT_LT(base::ThreadCpuNs() - started_ns, 5'000'000'000);
}

TEST(RequestTest, RefusesWhatNoClientSends) {
  EXPECT_THAT(Refusal("\x7f"), HasSubstr("operation 127 is unknown"));
  EXPECT_THAT(Refusal("\x13"), HasSubstr("operation 19 is unknown"));
  EXPECT_THAT(Refusal(std::string(1, '\0') + "HTTP"), HasSubstr("does not begin as a client"));
  std::string large = Begin(Operation::kGet);
  AppendNumber(&large, std::int64_t{1} << 40);
  EXPECT_THAT(Refusal(large), HasSubstr("a text of 1099511627776 bytes"));
  std::string many = Begin(Operation::kCheck);
  AppendNumber(&many, std::int64_t{1} << 30);
  EXPECT_THAT(Refusal(many), HasSubstr("1073741824 keys in one, where at most 1048576"));
}

TEST(RequestTest, TheSizeOfARequestHasALimit) {
  RequestReader reader(1000);
  std::string bytes = Begin(Operation::kMultiSet);
  AppendNumber(&bytes, 3);
  for (const char* key : {"/a", "/b"}) {
    AppendText(&bytes, key);
    AppendText(&bytes, std::string(400, 'v'));
  }
  reader.Append(bytes);
  ASSERT_TRUE(reader.Next().has_value());
  bytes.clear();
  AppendText(&bytes, "/c");
  AppendNumber(&bytes, 400);  // The value itself need not come.
  reader.Append(bytes);

  const auto read = reader.Next();
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(read.error().code, base::ErrorCode::kResourceExhausted);
  EXPECT_THAT(read.error().message, HasSubstr("larger than the 1000 bytes"));
}

}  // namespace
}  // namespace eidolon::agent::rendezvous
