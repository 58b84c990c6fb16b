// Tests access: tokens, Unix sockets, pages of the web, names in paths.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <set>

#include "services/controller/rest/fake_api_test.h"
#include "services/controller/rest/rest_server.h"
#include "services/controller/rest/token_authorizer.h"
#include "services/testing/fake_clock.h"
#include "services/testing/temporary_directory.h"

namespace eidolon::controller::rest {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

constexpr char kJobs[] = "/api/v1/namespaces/default/simulationjobs";
constexpr char kJob[] = R"({"metadata": {"name": "a"}, "spec": {}})";

// One request over a Unix socket, and its status line.
std::string AskUnix(const std::string& path, const std::string& request) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::copy(path.begin(), path.end(), address.sun_path);
  const int client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  EXPECT_EQ(connect(client, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(write(client, request.data(), request.size()), static_cast<ssize_t>(request.size()));
  std::string answer;
  char buffer[4096];
  ssize_t count = 0;
  while ((count = read(client, buffer, sizeof buffer)) > 0) {
    answer.append(buffer, static_cast<std::size_t>(count));
  }
  close(client);
  return answer.substr(0, answer.find('\r'));
}

class RestAccessTest : public ::testing::Test {
 protected:
  explicit RestAccessTest(bool open_metrics = false)
      : authorizer_("secret", "/data/token", clock_),
        server_(std::move(*RestServer::Start({.address = "127.0.0.1:0",
                                              .unix_socket = folder_ / "eidolon.sock",
                                              .open_metrics = open_metrics},
                                             &api_, &authorizer_))),
        client_("http://" + server_->address()) {
    client_.set_read_timeout(20);
  }

  httplib::Headers With(const std::string& name, const std::string& value) const {
    return {{"Authorization", "Bearer secret"}, {name, value}};
  }

  testing::TemporaryDirectory folder_;
  FakeApi api_;
  testing::FakeClock clock_;
  TokenAuthorizer authorizer_;
  std::unique_ptr<RestServer> server_;
  httplib::Client client_;
};

TEST_F(RestAccessTest, WithoutTheTokenNothingIsReadOrStarted) {
  const httplib::Headers wrong[] = {{},
                                    {{"Authorization", "Bearer "}},
                                    {{"Authorization", "Bearer secre"}},
                                    {{"Authorization", "Bearer secret2"}},
                                    {{"Authorization", "Basic secret"}}};
  for (const auto& headers : wrong) {
    for (const std::string path :
         {"/metrics", "/api/v1/simulationjobs", kJobs,
          "/api/v1/namespaces/default/simulationjobs/a",
          "/api/v1/namespaces/default/simulationjobs/a/logs",
          "/api/v1/namespaces/default/simulationjobs/a/events", "/api/v1/watch/simulationjobs",
          "/api/v1/watch/namespaces/default/simulationjobs", "/api/v1/simulatedclusters",
          "/api/v1/namespaces/default/simulatedclusters"}) {
      EXPECT_EQ(client_.Get(path, headers)->status, 401) << path;
    }
    EXPECT_EQ(client_.Post(kJobs, headers, kJob, "application/json")->status, 401);
    EXPECT_EQ(client_.Delete(std::string(kJobs) + "/a", headers)->status, 401);
  }
  const auto answer = client_.Get(kJobs);
  EXPECT_EQ(answer->get_header_value("WWW-Authenticate"), "Bearer");
  EXPECT_THAT(answer->body, HasSubstr("/data/token"));
  EXPECT_EQ(answer->body.find("secret"), std::string::npos);
}

// A route that is added is closed unless it is named here.
TEST_F(RestAccessTest, EveryRouteAsksForTheTokenButHealthPageAndDescription) {
  const std::set<std::string> open = {"/",      "/page/app.js", "/page/0/app.js", "/openapi.json",
                                      "/livez", "/readyz"};
  for (const std::string& route : server_->ListRoutes()) {
    const std::size_t space = route.find(' ');
    httplib::Request request;
    request.method = route.substr(0, space);
    request.path = route.substr(space + 1);
    for (const std::string_view part : {"{namespace}", "{name}", "{otherNamespace}", "{other}"}) {
      const std::size_t at = request.path.find(part);
      if (at != std::string::npos) request.path.replace(at, part.size(), "a");
    }
    if (request.path == "/page/{file}") request.path = "/page/app.js";
    if (request.path == "/page/{version}/{file}") request.path = "/page/0/app.js";
    const bool body = request.method == "POST" || request.method == "PATCH";
    if (body) request.body = kJob;
    if (body) request.set_header("Content-Type", "application/json");

    const auto answer = client_.send(request);

    ASSERT_TRUE(answer) << route;
    EXPECT_EQ(answer->status, open.contains(request.path) ? 200 : 401) << route;
  }
}

TEST_F(RestAccessTest, TheTokenLetsItsOwnerIn) {
  EXPECT_EQ(client_.Get(kJobs, {{"Authorization", "Bearer secret"}})->status, 200);
  EXPECT_EQ(client_.Get(kJobs, {{"Authorization", "bearer secret"}})->status, 200);
  EXPECT_EQ(
      client_.Post(kJobs, {{"Authorization", "Bearer secret"}}, kJob, "application/json")->status,
      201);
}

TEST_F(RestAccessTest, HealthPageAndDescriptionAreOpen) {
  for (const char* path : {"/livez", "/readyz", "/", "/openapi.json"}) {
    EXPECT_EQ(client_.Get(path)->status, 200) << path;
  }
}

class OpenMetricsTest : public RestAccessTest {
 protected:
  OpenMetricsTest() : RestAccessTest(true) {}
};

TEST_F(OpenMetricsTest, MetricsAreOpenByChoice) {
  EXPECT_EQ(client_.Get("/metrics")->status, 200);
  EXPECT_EQ(client_.Get(kJobs)->status, 401);
}

TEST_F(RestAccessTest, TheOwnersProcessesNeedNoTokenOnTheUnixSocket) {
  const std::string path = folder_ / "eidolon.sock";
  struct stat status = {};
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);

  const std::string request =
      std::string("GET ") + kJobs + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
  EXPECT_EQ(AskUnix(path, request), "HTTP/1.1 200 OK");
}

TEST_F(RestAccessTest, AnotherUserWhoReachesTheSocketNeedsTheToken) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can act as another user";
  constexpr uid_t kNobody = 65534;
  const std::string path = folder_ / "eidolon.sock";
  chmod(folder_.path().c_str(), 0755);
  chmod(path.c_str(), 0666);
  const pid_t child = fork();
  if (child == 0) {
    if (setgid(kNobody) != 0 || setuid(kNobody) != 0) _exit(2);
    const std::string request =
        std::string("GET ") + kJobs + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    _exit(AskUnix(path, request) == "HTTP/1.1 401 Unauthorized" ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);

  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(RestAccessTest, WhereNoSocketFitsTheTokenOpensTheAddress) {
  const std::string path = folder_ / std::string(120, 'x');

  const auto server =
      RestServer::Start({.address = "127.0.0.1:0", .unix_socket = path}, &api_, &authorizer_);

  ASSERT_TRUE(server) << server.error().message;
  httplib::Client client("http://" + (*server)->address());
  EXPECT_EQ(client.Get(kJobs)->status, 401);
  EXPECT_EQ(client.Get(kJobs, {{"Authorization", "Bearer secret"}})->status, 200);
}

TEST_F(RestAccessTest, NothingElseRunsInThePageAndNoOtherPageShowsIt) {
  const auto page = client_.Get("/");
  const std::string policy = page->get_header_value("Content-Security-Policy");

  EXPECT_THAT(policy, HasSubstr("default-src 'none'"));
  EXPECT_THAT(policy, HasSubstr("frame-ancestors 'none'"));
  EXPECT_THAT(policy, ::testing::Not(HasSubstr("unsafe")));
  EXPECT_EQ(client_.Get("/page/app.js")->get_header_value("Content-Security-Policy"), policy);
  EXPECT_FALSE(page->has_header("Set-Cookie"));
  for (const char* path : {"/", kJobs, "/livez", "/nothing"}) {
    const auto answer = client_.Get(path, With("A", "b"));
    EXPECT_EQ(answer->get_header_value("X-Content-Type-Options"), "nosniff") << path;
    EXPECT_EQ(answer->get_header_value("Cross-Origin-Resource-Policy"), "same-origin") << path;
    EXPECT_EQ(answer->get_header_value("Referrer-Policy"), "no-referrer") << path;
  }
}

TEST_F(RestAccessTest, NeitherAQueryNorACookieCarriesTheToken) {
  EXPECT_EQ(client_.Get(std::string(kJobs) + "?token=secret")->status, 401);
  EXPECT_EQ(client_.Get(kJobs, {{"Cookie", "token=secret"}})->status, 401);
}

TEST_F(RestAccessTest, ACodeOpensThePageOnceForASessionThatExpires) {
  const auto post = [this](const char* path, const httplib::Headers& headers, const json& body) {
    return client_.Post(path, headers, body.dump(), "application/json");
  };
  const httplib::Headers own = {{"Authorization", "Bearer secret"}};
  const auto login = post("/api/v1/logins", own, json::object());
  ASSERT_EQ(login->status, 201) << login->body;
  EXPECT_EQ(login->get_header_value("Cache-Control"), "no-store");
  const json code = {{"code", json::parse(login->body)["code"]}};

  const auto session = post("/api/v1/sessions", {}, code);

  ASSERT_EQ(session->status, 201) << session->body;
  EXPECT_EQ(session->get_header_value("Cache-Control"), "no-store");
  EXPECT_FALSE(session->has_header("Set-Cookie"));
  const std::string token = json::parse(session->body)["token"];
  const httplib::Headers as_session = {{"Authorization", "Bearer " + token}};
  EXPECT_EQ(client_.Get(kJobs, as_session)->status, 200);
  EXPECT_EQ(post(kJobs, as_session, json::parse(kJob))->status, 201);
  EXPECT_EQ(post("/api/v1/sessions", {}, code)->status, 401) << "a second time";
  EXPECT_EQ(
      client_.Get(kJobs, {{"Authorization", "Bearer " + code["code"].get<std::string>()}})->status,
      401);
  clock_.AdvanceSeconds(kSessionSeconds);
  EXPECT_EQ(client_.Get(kJobs, as_session)->status, 401);
}

TEST_F(RestAccessTest, ASessionMakesNeitherCodesNorSessions) {
  const auto ask = [this](const char* path, const std::string& token) {
    return client_.Post(path, {{"Authorization", "Bearer " + token}}, "{}", "application/json");
  };
  const auto session = ask("/api/v1/sessions", "secret");
  ASSERT_EQ(session->status, 201) << session->body;
  const std::string token = json::parse(session->body)["token"];

  for (const char* path : {"/api/v1/logins", "/api/v1/sessions"}) {
    EXPECT_EQ(ask(path, token)->status, 401) << path;
    EXPECT_EQ(ask(path, "")->status, 401) << path;
    EXPECT_THAT(ask(path, token)->body, ::testing::Not(HasSubstr("too old"))) << path;
    const auto foreign =
        client_.Post(path, With("Origin", "http://evil.example"), "{}", "application/json");
    EXPECT_EQ(foreign->status, 403) << path;
  }
}

TEST_F(RestAccessTest, WithoutTokensThereAreNoSessions) {
  const auto server = RestServer::Start({.address = "127.0.0.1:0"}, &api_, nullptr);
  httplib::Client client("http://" + (*server)->address());

  EXPECT_EQ(client.Post("/api/v1/logins", "{}", "application/json")->status, 404);
  EXPECT_EQ(client.Post("/api/v1/sessions", "{}", "application/json")->status, 404);
}

TEST_F(RestAccessTest, NoHeaderPretendsToComeFromTheSocket) {
  for (const char* name : {"REMOTE_ADDR", "X-Forwarded-For", "X-Real-IP", "Forwarded"}) {
    const auto answer = client_.Get(kJobs, {{name, "unix:" + std::to_string(geteuid())}});
    EXPECT_EQ(answer->status, 401) << name;
  }
}

TEST_F(RestAccessTest, OnlyNamesOfThisMachineAreAnswered) {
  for (const char* host :
       {"127.evil.example", "127.0.0.1.evil.example:80", "evil.example", "127."}) {
    EXPECT_EQ(client_.Get(kJobs, With("Host", host))->status, 403) << host;
  }
  for (const char* host : {"LOCALHOST:1", "localhost", "[::1]:80", "127.0.0.1"}) {
    EXPECT_EQ(client_.Get(kJobs, With("Host", host))->status, 200) << host;
  }
}

TEST_F(RestAccessTest, PagesOfOtherOriginsAreSentAway) {
  for (const char* origin : {"http://evil.example", "null", "http://127.0.0.1:1", "file://"}) {
    EXPECT_EQ(client_.Get(kJobs, With("Origin", origin))->status, 403) << origin;
    EXPECT_EQ(client_.Post(kJobs, With("Origin", origin), kJob, "application/json")->status, 403);
  }
  EXPECT_EQ(client_.Get(kJobs, With("Origin", "http://" + server_->address()))->status, 200);
}

TEST_F(RestAccessTest, NamesInPathsFollowTheRulesOfDocuments) {
  const std::string wrong[] = {"%2e%2e", "a%00b", "a%0ab", std::string(300, 'x'),
                               "A",      "-a",    "a-",    "a_b"};
  for (const std::string& name : wrong) {
    for (const std::string kind : {"simulationjobs", "simulatedclusters"}) {
      const std::string path = "/api/v1/namespaces/" + name + "/" + kind;
      EXPECT_EQ(client_.Get(path, With("A", "b"))->status, 422) << path;
      const auto answer = client_.Post(path, With("A", "b"), kJob, "application/json");
      EXPECT_EQ(answer->status, 422) << path;
      EXPECT_THAT(answer->body, HasSubstr("at most 63 lower-case letters"));
    }
    EXPECT_EQ(client_.Get(std::string(kJobs) + "/" + name, With("A", "b"))->status, 422) << name;
  }
  EXPECT_EQ(client_.Get("/api/v1/namespaces/2team/simulationjobs", With("A", "b"))->status, 200);
}

TEST_F(RestAccessTest, MediaTypesHaveNoCase) {
  const auto answer = client_.Post(kJobs, With("A", "b"), kJob, "Application/JSON; Charset=UTF-8");
  EXPECT_EQ(answer->status, 201) << answer->body;
}

// Lets everybody read one namespace.
class NamespaceAuthorizer final : public Authorizer {
 public:
  std::optional<Denial> Check(const std::string&, const AccessRequest& request) override {
    if (request.name_space == "team") return std::nullopt;
    return Denial{.message = "not of " + request.name_space + ": " + request.name};
  }
};

TEST(ComparisonAccessTest, BothJobsMustBeThoseOfTheReader) {
  FakeApi api;
  NamespaceAuthorizer authorizer;
  const auto server = std::move(*RestServer::Start({.address = "127.0.0.1:0"}, &api, &authorizer));
  httplib::Client client("http://" + server->address());
  const std::string jobs = "/simulationjobs/a/comparison/";

  for (const std::string& path : {"team" + jobs + "other/b", "other" + jobs + "team/b"}) {
    const auto answer = client.Get("/api/v1/namespaces/" + path);
    EXPECT_EQ(answer->status, 403) << path;
    EXPECT_THAT(answer->body, HasSubstr("not of other")) << path;
  }
  EXPECT_EQ(client.Get("/api/v1/namespaces/team" + jobs + "team/b")->status, 404);
}

// Roles that may list jobs need not be allowed to follow them.
TEST(AccessRequestTest, StreamsAskForTheVerbWatch) {
  const std::string all = "/namespaces/{namespace}/simulationjobs";
  const std::pair<std::string, std::string> rows[] = {
      {"/api/v1" + all, "list"},
      {"/api/v1/watch" + all, "watch"},
      {"/api/v1/watch/simulationjobs", "watch"},
      {"/api/v1" + all + "/{name}/events", "watch"}};
  for (const auto& [path, verb] : rows) {
    const auto request = AccessRequestOf("GET", path, "team", "");
    ASSERT_TRUE(request) << path;
    EXPECT_EQ(request->verb, verb) << path;
    EXPECT_EQ(request->resource, "simulationjobs") << path;
  }
}

}  // namespace
}  // namespace eidolon::controller::rest
