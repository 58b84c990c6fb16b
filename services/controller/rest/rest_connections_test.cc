// What clients may not do to the HTTP face: over connections that a library would not open.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "services/base/clock.h"
#include "services/base/text.h"
#include "services/controller/rest/fake_api_test.h"
#include "services/controller/rest/rest_server.h"
#include "services/testing/raw_client.h"

namespace eidolon::controller::rest {
namespace {

using base::StrCat;
using nlohmann::json;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using testing::RawClient;
using ::testing::StartsWith;

constexpr char kCrowdedJobs[] = "/api/v1/namespaces/default/simulationjobs";

class RestConnectionsTest : public ::testing::Test {
 protected:
  RestConnectionsTest()
      : server_(
            std::move(*RestServer::Start({.address = "127.0.0.1:0", .streams_max = 3}, &api_))) {}

  RawClient Connect(const std::string& from = "") const {
    return RawClient::Tcp(server_->address(), from);
  }
  std::string Ask(const std::string& request, const std::string& from = "") const {
    const RawClient client = Connect(from);
    client.Send(request);
    return client.ReadAll();
  }
  std::string Livez() const {
    return Ask("GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  }
  static std::string Post(const std::string& headers, const std::string& body) {
    return StrCat("POST ", kCrowdedJobs, " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n",
                  "Content-Type: application/yaml\r\n", headers, "\r\n", body);
  }

  FakeApi api_;
  std::unique_ptr<RestServer> server_;
};

TEST_F(RestConnectionsTest, FiveHundredHalfOpenConnectionsDoNotStopHealthChecks) {
  rlimit files = {};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = std::min<rlim_t>(files.rlim_max, 4096);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &files), 0);
  std::vector<RawClient> crowd;
  for (int i = 0; i < 500; ++i) {
    crowd.push_back(Connect());
    if (i % 2 == 0) crowd.back().Send("GET /livez HTTP/1.1\r\nHost: localhost\r\nX: ");
  }
  const base::SystemClock clock;

  const std::int64_t begin = clock.MonotonicNs();
  EXPECT_THAT(Livez(), EndsWith("ok\n"));
  // It was 10 s and more for every 32 connections before.
  EXPECT_LT(clock.MonotonicNs() - begin, 5'000'000'000);
  EXPECT_GE(api_.refusals()["client_connections"], 300);
}

TEST_F(RestConnectionsTest, RefusesRequestsOfTwoMeaningsWithAProblem) {
  for (const char* headers :
       {"Content-Length: 2\r\nContent-Length: 20\r\n", "Content-Length: 2, 20\r\n",
        "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n"}) {
    const std::string answer = Ask(Post(headers, "a: 1"));

    EXPECT_THAT(answer, StartsWith("HTTP/1.1 400 Bad Request\r\n")) << headers;
    EXPECT_THAT(answer, HasSubstr("Content-Type: application/problem+json"));
    const json problem = json::parse(answer.substr(answer.find("\r\n\r\n") + 4));
    EXPECT_EQ(problem["status"], 400);
    EXPECT_NE(problem["detail"], "");
  }
  EXPECT_EQ(api_.refusals()["malformed"], 3);
}

// A thousand bytes of gzip are a million.
TEST_F(RestConnectionsTest, DoesNotBlowUpABodyThatIsCompressed) {
  // "metadata: {name: a}" by gzip.
  const std::string packed(
      "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\xcb\x4d\x2d\x49\x4c\x49\x2c\x49\xb4\x52"
      "\xa8\xce\x4b\xcc\x4d\xb5\x52\x48\xac\x05\x00\xb8\xb2\xde\x1a\x13\x00\x00\x00",
      39);

  const std::string answer = Ask(
      Post(StrCat("Content-Encoding: gzip\r\nContent-Length: ", packed.size(), "\r\n"), packed));

  EXPECT_THAT(answer, StartsWith("HTTP/1.1 415 Unsupported Media Type"));
}

TEST_F(RestConnectionsTest, OneClientCannotTakeAllStreams) {
  const std::string job = "metadata: {name: a}";
  ASSERT_THAT(Ask(Post(StrCat("Content-Length: ", job.size(), "\r\n"), job)),
              StartsWith("HTTP/1.1 201"));
  const std::string events =
      StrCat("GET ", kCrowdedJobs, "/a/events HTTP/1.1\r\nHost: localhost\r\n\r\n");
  std::vector<RawClient> followers;
  const auto follow = [&](const std::string& from) {
    followers.push_back(Connect(from));
    followers.back().Send(events);
    return followers.back().ReadSome().substr(0, 12);
  };

  EXPECT_EQ(follow(""), "HTTP/1.1 200");
  EXPECT_EQ(follow(""), "HTTP/1.1 200");
  EXPECT_EQ(follow(""), "HTTP/1.1 429");
  EXPECT_EQ(follow("127.0.0.2"), "HTTP/1.1 200");
  EXPECT_EQ(follow("127.0.0.3"), "HTTP/1.1 503");
}

TEST_F(RestConnectionsTest, TellsHowManyConnectionsAreOpen) {
  {
    const RawClient one = Connect();
    const RawClient two = Connect();
    EXPECT_EQ(api_.AwaitConnections(2), 2u);
  }
  EXPECT_EQ(api_.AwaitConnections(0), 0u);
}

}  // namespace
}  // namespace eidolon::controller::rest
