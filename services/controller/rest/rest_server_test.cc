#include "services/controller/rest/rest_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <future>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "services/controller/page/asset.h"
#include "services/controller/rest/fake_api_test.h"
#include "services/controller/rest/handlers.h"

namespace eidolon::controller::rest {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

constexpr char kServedJobs[] = "/api/v1/namespaces/default/simulationjobs";
constexpr char kServedJob[] = R"({"metadata": {"name": "a"}, "spec": {}})";

class RestServerTest : public ::testing::Test {
 protected:
  RestServerTest()
      : server_(std::move(*RestServer::Start(
            {.address = "127.0.0.1:0", .body_bytes_max = 4096, .streams_max = 2}, &api_))),
        client_("http://" + server_->address()) {
    client_.set_read_timeout(20);
  }

  httplib::Result Post(const std::string& body, const char* type = "application/json",
                       const httplib::Headers& headers = {}) {
    return client_.Post(kServedJobs, headers, body, type);
  }

  FakeApi api_;
  std::unique_ptr<RestServer> server_;
  httplib::Client client_;
};

TEST_F(RestServerTest, CreatesGetsListsAndDeletesJobs) {
  const auto created = Post(kServedJob);
  EXPECT_EQ(created->status, 201);
  EXPECT_EQ(created->get_header_value("Location"), std::string(kServedJobs) + "/a");

  const auto got = client_.Get(created->get_header_value("Location"));
  EXPECT_EQ(json::parse(got->body)["metadata"]["name"], "a");
  EXPECT_EQ(json::parse(client_.Get(kServedJobs)->body)["items"].size(), 1u);

  EXPECT_EQ(client_.Delete(std::string(kServedJobs) + "/a")->status, 200);
  EXPECT_EQ(client_.Get(std::string(kServedJobs) + "/a")->status, 404);
}

TEST_F(RestServerTest, CreatesGetsListsFollowsAndDeletesSweeps) {
  const std::string all = "/api/v1/namespaces/default/simulationsweeps";
  const auto created = client_.Post(all, kServedJob, "application/json");
  EXPECT_EQ(created->status, 201);
  EXPECT_EQ(created->get_header_value("Location"), all + "/a");
  EXPECT_EQ(created->get_header_value("ETag"), "\"1\"");

  EXPECT_EQ(json::parse(client_.Get(all + "/a")->body)["metadata"]["name"], "a");
  for (const std::string& path : {all, std::string("/api/v1/simulationsweeps")}) {
    const json list = json::parse(client_.Get(path)->body);
    EXPECT_EQ(list["kind"], "SimulationSweepList");
    EXPECT_EQ(list["items"].size(), 1u);
  }
  EXPECT_THAT(client_.Get(all + "/a/events")->body, HasSubstr("event: status"));
  EXPECT_THAT(client_.Get(all + "/a/events")->body, HasSubstr("\"reason\":\"over\""));
  EXPECT_EQ(client_.Post(all, "{", "application/json")->status, 400);

  const char* patch = R"({"spec": {"suspend": true}})";
  const auto patched = client_.Patch(all + "/a", patch, "application/merge-patch+json");
  EXPECT_EQ(patched->status, 200);
  EXPECT_EQ(json::parse(patched->body)["spec"]["suspend"], true);
  EXPECT_EQ(client_.Patch(all + "/a", "{", "application/merge-patch+json")->status, 400);
  EXPECT_EQ(client_.Patch(all + "/a", patch, "text/plain")->status, 415);
  EXPECT_EQ(client_.Patch(all + "/b", patch, "application/merge-patch+json")->status, 404);

  EXPECT_EQ(client_.Delete(all + "/a")->status, 202);
  for (const char* part : {"/a", "/a/events"}) EXPECT_EQ(client_.Get(all + part)->status, 404);
}

TEST_F(RestServerTest, TakesYaml) {
  EXPECT_EQ(Post("metadata: {name: a}\nspec: {}\n", "application/yaml")->status, 201);
}

TEST_F(RestServerTest, NamesEveryWrongField) {
  const auto answer = Post("{}");

  EXPECT_EQ(answer->status, 422);
  EXPECT_EQ(answer->get_header_value("Content-Type"), "application/problem+json");
  const json problem = json::parse(answer->body);
  EXPECT_EQ(problem["title"], "Unprocessable Content");
  EXPECT_EQ(problem["instance"], kServedJobs);
  EXPECT_EQ(problem["errors"], json::parse(R"([{"pointer": "/metadata", "detail": "is required"},
                                              {"pointer": "/spec", "detail": "is required"}])"));
}

TEST_F(RestServerTest, EveryFailureIsAProblemDocument) {
  Post(kServedJob);
  const struct {
    const char* what;
    httplib::Result answer;
    int status;
    const char* detail;
  } rows[] = {
      {"syntax", Post("{"), 400, "not valid JSON"},
      {"twice", Post(kServedJob), 409, "exists already"},
      {"type", Post(kServedJob, "text/plain"), 415, "Content-Type must be"},
      {"two documents", Post("a: 1\n---\nb: 2\n", "application/yaml"), 400, "holds 2"},
      {"large", Post(std::string(5000, ' ')), 413, "larger than 4096 bytes"},
      {"unknown path", client_.Get("/api/v2"), 404, "nothing is served at /api/v2"},
      {"wrong method", client_.Put(kServedJobs, kServedJob, "application/json"), 405,
       "but GET, POST"},
      {"missing", client_.Get(std::string(kServedJobs) + "/b"), 404, "no job 'b'"},
      {"limit", client_.Get(std::string(kServedJobs) + "?limit=0"), 400, "limit must be"},
      {"unknown parameter", client_.Get(std::string(kServedJobs) + "?limt=2"), 400,
       "unknown query parameter 'limt', did you mean 'limit'?"},
      {"no parameter", client_.Get(std::string(kServedJobs) + "/a/events?watch=1"), 400,
       "unknown query parameter 'watch': there are none here"},
      {"offset", client_.Get(std::string(kServedJobs) + "/a/logs?offset=x"), 400, "offset must be"},
      {"path bytes", client_.Get("/%ff"), 400, "the path is not UTF-8 text"},
      {"body bytes", Post("{\"\xff\": 1}"), 400, "the document is not UTF-8 text"},
      {"YAML bytes", Post("a: \xff\n", "application/yaml"), 400, "not UTF-8 text"},
      {"type bytes", Post(kServedJob, "a\xff"), 415, "Content-Type must be"},
  };
  for (const auto& row : rows) {
    ASSERT_TRUE(row.answer) << row.what;
    EXPECT_EQ(row.answer->status, row.status) << row.what;
    const json problem = json::parse(row.answer->body);
    EXPECT_EQ(problem["status"], row.status) << row.what;
    EXPECT_THAT(problem["detail"].get<std::string>(), HasSubstr(row.detail)) << row.what;
  }
}

TEST_F(RestServerTest, RepeatsAnIdempotentRequest) {
  EXPECT_EQ(Post(kServedJob, "application/json", {{"Idempotency-Key", "k"}})->status, 201);

  const auto second = Post(kServedJob, "application/json", {{"Idempotency-Key", "k"}});

  EXPECT_EQ(second->status, 201);
  EXPECT_EQ(second->get_header_value("Idempotent-Replayed"), "true");
}

TEST_F(RestServerTest, KnowsWhatHasNotChanged) {
  Post(kServedJob);
  const std::string path = std::string(kServedJobs) + "/a";
  const std::string tag = client_.Get(path)->get_header_value("ETag");

  EXPECT_EQ(client_.Get(path, {{"If-None-Match", tag}})->status, 304);
  api_.SetPhase("a", "Running", false);
  EXPECT_EQ(client_.Get(path, {{"If-None-Match", tag}})->status, 200);
  EXPECT_EQ(client_.Delete(path, {{"If-Match", tag}})->status, 412);
}

TEST_F(RestServerTest, ListsPageByPage) {
  for (const char* name : {"a", "b", "c"}) {
    Post(json({{"metadata", {{"name", name}}}}).dump());
  }

  const json first = json::parse(client_.Get(std::string(kServedJobs) + "?limit=2")->body);
  EXPECT_EQ(first["items"].size(), 2u);
  const std::string next = first["metadata"]["continue"];
  const json second =
      json::parse(client_.Get(std::string(kServedJobs) + "?limit=2&continue=" + next)->body);

  EXPECT_EQ(second["items"].size(), 1u);
  EXPECT_EQ(second["items"][0]["metadata"]["name"], "c");
  EXPECT_FALSE(second["metadata"].contains("continue"));
}

TEST_F(RestServerTest, ResumesASuspendedJobAndChangesNothingElse) {
  Post(kServedJob);
  const std::string path = std::string(kServedJobs) + "/a";

  const auto patched =
      client_.Patch(path, R"({"spec": {"suspend": false}})", "application/merge-patch+json");
  EXPECT_EQ(json::parse(patched->body)["spec"]["suspend"], false);
  EXPECT_EQ(client_.Patch(path, R"({"spec": {"servers": 2}})", "application/json")->status, 422);
}

TEST_F(RestServerTest, GivesTheLogWithPrefixAndTimes) {
  Post(kServedJob);
  api_.AddLine("one");
  api_.AddLine("two");

  const std::string path = std::string(kServedJobs) + "/a/logs";
  EXPECT_EQ(client_.Get(path)->body, "one\ntwo\n");
  EXPECT_EQ(client_.Get(path + "?prefix=true&timestamps=1&offset=1")->body,
            "    1.500000 [s1] two\n");
}

TEST_F(RestServerTest, SaysWhyTwoJobsDiffer) {
  for (const char* name : {"a", "b"}) {
    Post(json({{"metadata", {{"name", name}}}}).dump());
    const double host = *name == 'a' ? 0 : 0.5;
    api_.SetPrediction(name,
                       {{"iterationSeconds", {{"mean", 1 + host}, {"low", 1}, {"high", 2}}},
                        {"breakdown", {{"compute", 1 / (1 + host)}, {"host", host / (1 + host)}}}});
  }
  const std::string path = std::string(kServedJobs) + "/a/comparison/default/";

  const auto answer = client_.Get(path + "b");

  ASSERT_EQ(answer->status, 200);
  const json why = json::parse(answer->body).at("why");
  ASSERT_EQ(why["causes"].size(), 1u);
  EXPECT_EQ(why["causes"][0]["cause"], "host");
  EXPECT_THAT(why["causes"][0]["sentence"].get<std::string>(), HasSubstr("500.0 ms more"));
  EXPECT_EQ(client_.Get(path + "c")->status, 404);
  EXPECT_EQ(client_.Get(path + "%3Cb%3E")->status, 422);
}

TEST_F(RestServerTest, GivesTheTimelineByteByByteOnceThereIsOne) {
  const std::string path = std::string(kServedJobs) + "/a/timeline";
  EXPECT_EQ(client_.Get(path)->status, 404);
  const std::string file = ::testing::TempDir() + "rest_server_test.pftrace";
  std::string bytes;
  for (int i = 0; i < 200'000; ++i) bytes.push_back(static_cast<char>(i * 7));
  std::ofstream(file, std::ios::binary) << bytes;
  api_.SetTimeline(file);

  const auto answer = client_.Get(path);
  std::remove(file.c_str());

  ASSERT_EQ(answer->status, 200);
  EXPECT_EQ(answer->get_header_value("Content-Type"), "application/octet-stream");
  EXPECT_THAT(answer->get_header_value("Content-Disposition"), HasSubstr("a.pftrace"));
  EXPECT_TRUE(answer->body == bytes);
}

TEST_F(RestServerTest, ACopyOfATimelineIsGoneOnceItIsGiven) {
  const std::string file = ::testing::TempDir() + "rest_server_test.copy";
  std::ofstream(file, std::ios::binary) << "copied";
  std::promise<void> gone;
  api_.SetTimeline(file, std::shared_ptr<const void>(nullptr, [&](const void*) {
                     std::remove(file.c_str());
                     gone.set_value();
                   }));

  const auto answer = client_.Get(std::string(kServedJobs) + "/a/timeline");

  ASSERT_EQ(answer->status, 200);
  EXPECT_EQ(answer->body, "copied");
  ASSERT_EQ(gone.get_future().wait_for(std::chrono::seconds(20)), std::future_status::ready);
  EXPECT_FALSE(std::ifstream(file).is_open());
}

// The space of a copy is in use until all of it has been read, so it must be counted until then.
TEST(HandlersTest, ACopyLivesAsLongAsTheAnswerThatReadsIt) {
  const std::string file = ::testing::TempDir() + "rest_server_test.held";
  std::ofstream(file, std::ios::binary) << "copied";
  FakeApi api;
  bool is_gone = false;
  api.SetTimeline(file, std::shared_ptr<const void>(nullptr, [&](const void*) { is_gone = true; }));
  const Handlers handlers(&api, /*authorizer=*/nullptr, 1);
  const auto route = std::ranges::find_if(
      handlers.routes(), [](const Route& each) { return each.path.ends_with("/timeline"); });
  ASSERT_NE(route, handlers.routes().end());
  auto response = std::make_unique<httplib::Response>();

  route->handler(httplib::Request(), {"default", "a"}, response.get());

  EXPECT_TRUE(response->content_provider_);
  EXPECT_FALSE(is_gone);
  response = nullptr;
  EXPECT_TRUE(is_gone);
  std::remove(file.c_str());
}

TEST_F(RestServerTest, FollowsTheLogToItsEnd) {
  Post(kServedJob);
  api_.AddLine("one");
  std::string text;

  const auto answer = client_.Get(std::string(kServedJobs) + "/a/logs?follow=true",
                                  [&](const char* data, size_t size) {
                                    text.append(data, size);
                                    if (text == "one\n") api_.AddLine("two");
                                    if (text.ends_with("two\n")) api_.EndLog();
                                    return true;
                                  });

  EXPECT_TRUE(answer);
  EXPECT_EQ(text, "one\ntwo\n");
}

TEST_F(RestServerTest, SendsAnEventForEveryChangeAndOneAtTheEnd) {
  Post(kServedJob);
  std::string text;

  const auto answer =
      client_.Get(std::string(kServedJobs) + "/a/events", [&](const char* data, size_t size) {
        text.append(data, size);
        const bool first = text.find("Running") == std::string::npos;
        if (text.ends_with("\n\n") && text.find("event: end") == std::string::npos) {
          api_.SetPhase("a", first ? "Running" : "Complete", !first);
        }
        return true;
      });

  EXPECT_TRUE(answer);
  EXPECT_THAT(text, HasSubstr("id: 2\nevent: status\ndata: {"));
  EXPECT_THAT(text, HasSubstr("\"phase\":\"Complete\""));
  EXPECT_THAT(text, ::testing::EndsWith("event: end\ndata: {\"reason\":\"over\"}\n\n"));
}

TEST_F(RestServerTest, SendsEventsWhoseTextIsNotUtf8) {
  Post(kServedJob);
  api_.SetPhase("a", "broken \xff", true);

  const auto answer = client_.Get(std::string(kServedJobs) + "/a/events");

  ASSERT_TRUE(answer);
  EXPECT_THAT(answer->body, HasSubstr("\"phase\":\"broken \xEF\xBF\xBD\""));
  EXPECT_THAT(answer->body, ::testing::EndsWith("event: end\ndata: {\"reason\":\"over\"}\n\n"));
}

TEST_F(RestServerTest, RefusesMoreStreamsThanAllowed) {
  Post(kServedJob);
  const std::string path = std::string(kServedJobs) + "/a/events";
  std::atomic<int> open = 0;
  std::vector<std::thread> streams;
  for (int i = 0; i < 2; ++i) {
    streams.emplace_back([&] {
      bool counted = false;
      httplib::Client client("http://" + server_->address());
      client.Get(path, [&](const char*, size_t) {
        if (!std::exchange(counted, true)) ++open;
        return true;
      });
    });
  }
  while (open < 2) std::this_thread::yield();

  const auto third = client_.Get(path);

  EXPECT_EQ(third->status, 503);
  EXPECT_EQ(third->get_header_value("Retry-After"), "1");
  api_.SetPhase("a", "Complete", true);
  for (std::thread& stream : streams) stream.join();
}

TEST_F(RestServerTest, StoppingEndsStreams) {
  Post(kServedJob);
  std::promise<std::string> first_event;
  std::future<void> stream = std::async(std::launch::async, [&] {
    httplib::Client client("http://" + server_->address());
    bool first = true;
    client.Get(std::string(kServedJobs) + "/a/events", [&](const char* text, std::size_t size) {
      if (std::exchange(first, false)) first_event.set_value({text, size});
      return true;
    });
  });
  std::future<std::string> event = first_event.get_future();
  ASSERT_EQ(event.wait_for(std::chrono::seconds(20)), std::future_status::ready);
  EXPECT_THAT(event.get(), HasSubstr("data: "));
  EXPECT_EQ(stream.wait_for(std::chrono::seconds(0)), std::future_status::timeout)
      << "the job is not over, so its stream has no end of its own";

  server_->Stop();

  EXPECT_EQ(stream.wait_for(std::chrono::seconds(20)), std::future_status::ready);
}

TEST_F(RestServerTest, OneStreamTellsOfAllJobs) {
  Post(kServedJob);
  std::vector<json> events;
  std::string text;
  httplib::Client client("http://" + server_->address());
  client.set_read_timeout(20);

  client.Get("/api/v1/watch/simulationjobs", [&](const char* data, std::size_t size) {
    text.append(data, size);
    for (std::size_t end = 0; (end = text.find("\n\n")) != std::string::npos;) {
      const std::size_t at = text.find("data: ");
      if (at < end) events.push_back(json::parse(text.substr(at + 6, end - at - 6)));
      text.erase(0, end + 2);
    }
    if (events.size() == 1) api_.SetPhase("a", "Running", false);
    if (events.size() == 2) (void)api_.DeleteJob({"default", "a"}, Writer{});
    return events.size() < 3;
  });

  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0]["changed"][0]["metadata"]["name"], "a");
  EXPECT_EQ(events[1]["changed"][0]["status"]["phase"], "Running");
  EXPECT_EQ(events[2], json({{"changed", json::array()}, {"gone", {"default/a"}}}));
}

TEST_F(RestServerTest, TellsOfSweepsAsTheyComeChangeAndGo) {
  const std::string all = "/api/v1/namespaces/default/simulationsweeps";
  client_.Post(all, kServedJob, "application/json");
  httplib::Client client("http://" + server_->address());
  client.set_read_timeout(20);
  std::string text;
  const auto has = [&](const char* part) { return text.find(part) != std::string::npos; };

  client.Get("/api/v1/watch/namespaces/default/simulationsweeps",
             [&](const char* data, std::size_t size) {
               const bool first = text.empty();
               text.append(data, size);
               if (first) (void)api_.sweeps().PatchSweep({"default", "a"}, {{"spec", {{"x", 1}}}});
               if (has("\"x\":1")) (void)api_.sweeps().DeleteSweep({"default", "a"});
               return !has("\"gone\":[\"default/a\"]");
             });

  EXPECT_THAT(text, HasSubstr("event: sweeps\ndata: {\"changed\":[{\"metadata\""));
  EXPECT_THAT(text, HasSubstr("\"x\":1"));
  EXPECT_THAT(text, HasSubstr("\"gone\":[\"default/a\"]"));
}

TEST_F(RestServerTest, TheFilesOfThePageAreKeptByBrowsers) {
  const auto file = client_.Get("/page/app.js");
  EXPECT_EQ(file->status, 200);
  EXPECT_EQ(file->get_header_value("Content-Type"), "text/javascript; charset=utf-8");

  const auto again =
      client_.Get("/page/app.js", {{"If-None-Match", file->get_header_value("ETag")}});

  EXPECT_EQ(again->status, 304);
  EXPECT_EQ(client_.Get("/page/nothing.js")->status, 404);
}

TEST_F(RestServerTest, WhatThePageNamesIsNotAskedForAgain) {
  const std::string index = client_.Get("/")->body;
  const std::string name = std::string("/") + page::kBundleName;
  const std::size_t end = index.find(name) + name.size();
  const std::size_t begin = index.rfind('"', end - 1) + 1;

  const auto named = client_.Get(index.substr(begin, end - begin));
  const auto old = client_.Get("/page/0123456789abcdef" + name);

  ASSERT_EQ(named->status, 200) << index;
  EXPECT_EQ(named->get_header_value("Cache-Control"), "public, max-age=31536000, immutable");
  EXPECT_EQ(old->body, named->body) << "a page of before an upgrade goes on";
  EXPECT_EQ(old->get_header_value("Cache-Control"), "no-cache");
  EXPECT_EQ(client_.Get("/")->get_header_value("Cache-Control"), "no-cache");
}

TEST_F(RestServerTest, ServesHealthMetricsDescriptionAndPage) {
  EXPECT_EQ(client_.Get("/livez")->body, "ok\n");
  EXPECT_EQ(client_.Get("/readyz")->status, 200);
  EXPECT_THAT(client_.Get("/metrics")->body, HasSubstr("# HELP"));
  EXPECT_EQ(json::parse(client_.Get("/openapi.json")->body)["openapi"], "3.1.0");
  EXPECT_THAT(client_.Get("/")->body, HasSubstr("<title>Eidolon</title>"));

  api_.SetReady(false);
  EXPECT_EQ(client_.Get("/readyz")->status, 503);
  EXPECT_EQ(client_.Get("/livez")->status, 200);
}

TEST_F(RestServerTest, AWebPageOfAnotherNameIsNotAnswered) {
  EXPECT_EQ(client_.Get("/livez", {{"Host", "evil.example:80"}})->status, 403);
  EXPECT_EQ(client_.Get("/livez", {{"Host", "localhost:8080"}})->status, 200);
}

TEST_F(RestServerTest, SaysThatAnAddressIsTaken) {
  const auto second = RestServer::Start({.address = server_->address()}, &api_);

  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message, HasSubstr("the address is in use"));
  EXPECT_THAT(RestServer::Start({.address = "8080"}, &api_).error().message,
              HasSubstr("write host:port"));
}

TEST_F(RestServerTest, CountsAnswers) {
  client_.Get("/livez");
  client_.Get("/nothing");
  server_->Stop();

  // Each connection has a thread of its own, which counts after it has answered.
  EXPECT_THAT(api_.requests(), ::testing::UnorderedElementsAre("GET 200", "GET 404"));
}

}  // namespace
}  // namespace eidolon::controller::rest
