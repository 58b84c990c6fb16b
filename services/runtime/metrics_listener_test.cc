#include "services/runtime/metrics_listener.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "services/base/text.h"
#include "services/testing/fake_clock.h"
#include "services/testing/raw_client.h"

namespace eidolon::runtime {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using testing::RawClient;
using ::testing::StartsWith;

class MetricsListenerTest : public ::testing::Test {
 protected:
  MetricsListenerTest() {
    auto made = MetricsListener::Start(
        "127.0.0.1:0", [this] { return page_; }, clock_);
    EXPECT_TRUE(made.has_value()) << made.error().message;
    listener_ = std::move(*made);
  }

  RawClient Connect() const {
    return RawClient::Tcp(base::StrCat("127.0.0.1:", listener_->port()));
  }
  std::string Ask(const std::string& line) const {
    const RawClient client = Connect();
    client.Send(line + "\r\nHost: here\r\nAccept-Encoding: gzip\r\n\r\n");
    return client.ReadAll();
  }

  testing::FakeClock clock_;
  std::string page_ = "eidolon_things 1\n";
  std::unique_ptr<MetricsListener> listener_;
};

TEST_F(MetricsListenerTest, AnswersWithThePageAndCloses) {
  const std::string answer = Ask("GET /metrics HTTP/1.1");

  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(answer, HasSubstr("Content-Type: text/plain; version=0.0.4"));
  EXPECT_THAT(answer, HasSubstr("Content-Length: 17\r\n"));
  EXPECT_THAT(answer, EndsWith("\r\n\r\neidolon_things 1\n"));
}

TEST_F(MetricsListenerTest, SendsAPageThatNoSocketHoldsAtOnce) {
  page_ = std::string(20'000'000, 'x');

  EXPECT_GT(Ask("GET /metrics?name[]=all HTTP/1.1").size(), page_.size());
}

TEST_F(MetricsListenerTest, SaysWhatIsWrongWithOtherRequests) {
  EXPECT_THAT(Ask("GET / HTTP/1.1"), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(Ask("GET /metrics/../etc HTTP/1.1"), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(Ask("POST /metrics HTTP/1.1"), StartsWith("HTTP/1.1 405 "));
  EXPECT_THAT(Ask("PRI * HTTP/2.0"), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(Ask(""), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(Ask("GET"), StartsWith("HTTP/1.1 400 "));
}

TEST_F(MetricsListenerTest, ReadsAHeadThatComesInPieces) {
  const RawClient client = Connect();
  for (const char each : std::string("GET /metrics HTTP/1.1\r\n\r\n")) {
    ASSERT_TRUE(client.Send(std::string(1, each)));
  }

  EXPECT_THAT(client.ReadAll(), HasSubstr("eidolon_things 1\n"));
}

TEST_F(MetricsListenerTest, RefusesAHeadWithoutEnd) {
  const RawClient client = Connect();
  client.Send(std::string(MetricsListener::kHeadBytesMax + 1, 'x'));

  EXPECT_THAT(client.ReadUntil("too long.\n"), StartsWith("HTTP/1.1 431 "));
}

TEST_F(MetricsListenerTest, SilentClientsKeepNobodyOut) {
  std::vector<RawClient> silent;
  for (std::size_t i = 0; i < 4 * MetricsListener::kConnectionsMax; ++i) {
    silent.push_back(Connect());
  }

  EXPECT_THAT(Ask("GET /metrics HTTP/1.1"), HasSubstr("eidolon_things 1\n"));
}

TEST_F(MetricsListenerTest, EndsAConnectionThatHasNotAskedInTime) {
  const RawClient silent = Connect();
  Ask("GET /metrics HTTP/1.1");  // The listener has accepted whoever came before.

  clock_.AdvanceNs(MetricsListener::kDeadlineNs);

  EXPECT_EQ(silent.ReadAll(), "");
}

TEST_F(MetricsListenerTest, NamesAnAddressThatIsNone) {
  for (const std::string address : {"9464", "nowhere.invalid:9464", "127.0.0.1:port"}) {
    const auto made = MetricsListener::Start(
        address, [] { return ""; }, clock_);
    ASSERT_FALSE(made.has_value()) << address;
    EXPECT_THAT(made.error().message, HasSubstr(address));
  }
}

}  // namespace
}  // namespace eidolon::runtime
